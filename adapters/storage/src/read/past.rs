//! The ports of the past: versions, pages of a time, and the change log.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use application::ports::CONTENT_BYTES;
use application::{
    ChangeLog, History, ItemContent, ListedPage, LogPage, LoggedChange, PastPageQuery, PastVersion,
    Reach, RepositoryError, Scope, Sequence,
};
use async_trait::async_trait;
use domain::{Collection, ItemId, Version};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, Value};

use crate::engine::{ReadEngine, ReadMode, query};
use crate::read::high_water_mark::HighWaterMark;
use crate::sql::change_log::{self, clamped};
use crate::sql::sql_text::json;
use crate::sql::statements::scope_values;
use crate::sql::{past, selection};

pub(crate) struct PastReads {
    engine: Arc<dyn ReadEngine>,
    high_water_mark: Arc<HighWaterMark>,
    /// In microseconds.
    closed_timestamp: AtomicI64,
}

impl PastReads {
    pub fn new(engine: Arc<dyn ReadEngine>, high_water_mark: Arc<HighWaterMark>) -> Self {
        Self { engine, high_water_mark, closed_timestamp: AtomicI64::new(0) }
    }

    /// The id in the database, the same on every timeline; `None` while it may be replaced.
    pub fn stored_history(&self) -> Option<Arc<str>> {
        let engine = &self.engine;
        engine.has_history().then(|| engine.history())
    }

    pub fn history_on(&self, timeline: u32) -> Arc<str> {
        on_timeline(&self.engine.history(), timeline)
    }

    async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError> {
        if self.closed_timestamp.load(Ordering::Relaxed) >= time.as_microsecond() {
            return Ok(());
        }
        self.engine.close_timestamp(time).await?;
        self.closed_timestamp.fetch_max(time.as_microsecond(), Ordering::Relaxed);
        Ok(())
    }

    /// Finds the version of a number, or of a time in microseconds.
    async fn past_version(
        &self,
        scope: Scope,
        id: ItemId,
        version: Option<i64>,
        time: Option<i64>,
    ) -> Result<Option<PastVersion>, RepositoryError> {
        let [item, collection, parent] = scope_values(scope, id);
        let values = [item, collection, parent, version.into(), time.into()];
        self.read("past_version", sql_file!("both/read/version"), values, |rows| {
            rows.first().map(past::version).transpose()
        })
        .await
    }

    async fn read<T, const N: usize>(
        &self,
        step: &'static str,
        text: &str,
        values: [Value; N],
        read_rows: impl FnOnce(Vec<QueryResult>) -> Result<T, DbErr> + Send,
    ) -> Result<T, RepositoryError> {
        let statement = self.engine.dialect().statement(text, values);
        query(&*self.engine, step, ReadMode::QUICK, statement, read_rows).await
    }
}

pub(crate) fn on_timeline(stored: &Arc<str>, timeline: u32) -> Arc<str> {
    match timeline {
        0 => Arc::clone(stored),
        timeline => format!("{stored}t{timeline}").into(),
    }
}

#[async_trait]
impl History for PastReads {
    async fn versions(
        &self,
        reach: &Reach,
        id: ItemId,
        newest: Version,
        limit: u64,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let [item, collection, parent] = scope_values(reach.scope(), id);
        let values = [item, collection, parent, newest.number().into(), clamped(limit).into()];
        let text = sql_file!("both/read/versions");
        self.read("versions", text, values, |rows| change_log::changes(&rows)).await
    }

    async fn version(
        &self,
        reach: &Reach,
        id: ItemId,
        version: Version,
    ) -> Result<Option<PastVersion>, RepositoryError> {
        self.past_version(reach.scope(), id, Some(version.number()), None).await
    }

    async fn version_at(
        &self,
        reach: &Reach,
        id: ItemId,
        time: Timestamp,
    ) -> Result<Option<PastVersion>, RepositoryError> {
        self.close_timestamp(time).await?;
        self.past_version(reach.scope(), id, None, Some(time.as_microsecond())).await
    }

    /// It may take long, because it looks for the version of every item.
    async fn page_at(
        &self,
        reach: &Reach,
        time: Timestamp,
        asked: &PastPageQuery,
    ) -> Result<ListedPage, RepositoryError> {
        self.close_timestamp(time).await?;
        let statement = past::page_statement(self.engine.dialect(), reach.scope(), time, asked);
        query(&*self.engine, "page_at", ReadMode::SLOW, statement, |rows| past::page(&rows, asked))
            .await
    }

    async fn contents(
        &self,
        reach: &Reach,
        changes: &[Sequence],
    ) -> Result<Vec<ItemContent>, RepositoryError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let dialect = self.engine.dialect();
        let text = sql_file!(dialect, "read/contents");
        let changes: Vec<_> = changes.iter().map(|change| change.0).collect();
        let most = clamped(CONTENT_BYTES as u64);
        let values = [json(&changes), reach.scope().collection.name().into(), most.into()];
        self.read("contents", text, values, |rows| selection::contents(&rows)).await
    }

    async fn latest_time(&self) -> Result<Option<Timestamp>, RepositoryError> {
        let statement = change_log::latest_time(self.engine.dialect());
        query(&*self.engine, "latest_time", ReadMode::QUICK, statement, |rows| {
            change_log::time(&rows)
        })
        .await
    }
}

#[async_trait]
impl ChangeLog for PastReads {
    async fn changes(
        &self,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage, RepositoryError> {
        self.high_water_mark.changes(after, collection, limit).await
    }

    async fn latest(
        &self,
        collection: Collection,
        limit: u64,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let statement = change_log::latest_statement(self.engine.dialect(), collection, limit);
        query(&*self.engine, "latest", ReadMode::QUICK, statement, |rows| {
            change_log::changes(&rows)
        })
        .await
    }

    async fn last(&self) -> Result<Sequence, RepositoryError> {
        self.high_water_mark.last().await
    }

    fn history_id(&self) -> Arc<str> {
        self.history_on(self.engine.timeline())
    }
}
