//! Removing the bodies of superseded versions: `changes` keeps its rows, without members.
//!
//! Each statement is whole by itself and finds nothing where it is done again, so the work needs no
//! transaction over several of them, and can be stopped anywhere.

mod statements;

use std::sync::Arc;

use application::{
    CompactionLease, CompactionProgress, RepositoryError, Sequence, SupersededPage, VersionBodies,
};
use async_trait::async_trait;
use domain::ItemId;
use jiff::Timestamp;

use crate::read::reads::Reads;

/// The bodies of the versions of one database.
pub(crate) struct SqlVersionBodies {
    reads: Arc<Reads>,
}

impl SqlVersionBodies {
    pub const fn new(reads: Arc<Reads>) -> Self {
        Self { reads }
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
        let dialect = self.reads.engine.dialect();
        let statement = statements::superseded(dialect, after, before, limit);
        self.reads.read_slowly("superseded", statement, |rows| statements::page(rows, limit)).await
    }

    async fn remove(&self, changes: &[Sequence], time: Timestamp) -> Result<u64, RepositoryError> {
        let engine = self.reads.engine.as_ref();
        let statement = statements::remove(engine.dialect(), changes, time);
        engine.execute("remove_bodies", statement).await
    }

    async fn related(&self, items: &[ItemId]) -> Result<Vec<[ItemId; 2]>, RepositoryError> {
        let statement = statements::related(self.reads.engine.dialect(), items);
        self.reads.read_slowly("related", statement, statements::links).await
    }

    async fn known(&self, items: &[ItemId]) -> Result<Vec<ItemId>, RepositoryError> {
        let statement = statements::known(self.reads.engine.dialect(), items);
        self.reads.read_slowly("known", statement, statements::ids).await
    }

    async fn lease(
        &self,
        lease: &CompactionLease,
    ) -> Result<Option<CompactionProgress>, RepositoryError> {
        let engine = &self.reads.engine;
        let dialect = engine.dialect();
        if engine.execute("lease", statements::lease(dialect, lease)).await? == 0 {
            return Ok(None);
        }
        self.reads.read("progress", statements::progress(dialect), statements::found).await
    }

    async fn advance(
        &self,
        holder: &str,
        progress: &CompactionProgress,
        is_released: bool,
    ) -> Result<(), RepositoryError> {
        let engine = &self.reads.engine;
        let statement = statements::advance(engine.dialect(), holder, progress, is_released);
        engine.execute("advance", statement).await.map(drop)
    }
}
