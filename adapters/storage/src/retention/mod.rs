//! Removing the bodies of superseded versions: `changes` keeps its rows, without members.
//!
//! Each statement is whole by itself and finds nothing where it is done again, so the work needs no
//! transaction over several of them, and can be stopped anywhere.

mod statements;

use application::{
    CompactionLease, CompactionProgress, RepositoryError, Sequence, SupersededPage, VersionBodies,
};
use async_trait::async_trait;
use domain::ItemId;
use jiff::Timestamp;

use crate::engine::{Database, ReadMode, query};

/// The bodies of the versions of one database.
pub(crate) struct SqlVersionBodies {
    database: Database,
}

impl SqlVersionBodies {
    pub const fn new(database: Database) -> Self {
        Self { database }
    }
}

#[async_trait]
impl VersionBodies for SqlVersionBodies {
    async fn superseded(
        &self,
        after: Sequence,
        before: Timestamp,
        limit: u64,
    ) -> Result<SupersededPage, RepositoryError> {
        let dialect = self.database.reader.dialect();
        let statement = statements::superseded(dialect, after, before, limit);
        query(&*self.database.reader, "superseded", ReadMode::SLOW, statement, |rows| {
            statements::page(&rows, limit)
        })
        .await
    }

    async fn remove(&self, changes: &[Sequence], time: Timestamp) -> Result<u64, RepositoryError> {
        let engine = self.database.writer()?;
        let statement = statements::remove(engine.dialect(), changes, time);
        engine.execute("remove_bodies", statement).await
    }

    async fn related(&self, items: &[ItemId]) -> Result<Vec<[ItemId; 2]>, RepositoryError> {
        let statement = statements::related(self.database.reader.dialect(), items);
        query(&*self.database.reader, "related", ReadMode::SLOW, statement, |rows| {
            statements::links(&rows)
        })
        .await
    }

    async fn known(&self, items: &[ItemId]) -> Result<Vec<ItemId>, RepositoryError> {
        let statement = statements::known(self.database.reader.dialect(), items);
        query(&*self.database.reader, "known", ReadMode::SLOW, statement, |rows| {
            statements::ids(&rows)
        })
        .await
    }

    async fn lease(
        &self,
        lease: &CompactionLease,
    ) -> Result<Option<CompactionProgress>, RepositoryError> {
        let engine = self.database.writer()?;
        let dialect = engine.dialect();
        if engine.execute("lease", statements::lease(dialect, lease)).await? == 0 {
            return Ok(None);
        }
        query(
            &*self.database.reader,
            "progress",
            ReadMode::QUICK,
            statements::progress(dialect),
            |rows| statements::found(&rows),
        )
        .await
    }

    async fn advance(
        &self,
        holder: &str,
        progress: &CompactionProgress,
        is_released: bool,
    ) -> Result<(), RepositoryError> {
        let engine = self.database.writer()?;
        let statement = statements::advance(engine.dialect(), holder, progress, is_released);
        engine.execute("advance", statement).await.map(drop)
    }
}
