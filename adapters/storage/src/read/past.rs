//! The ports of the past: versions, pages of a time, and the change log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use application::ports::{
    CONTENT_BYTES, ChangeLog, History, ItemContent, ListedPage, LogPage, LoggedChange,
    PastPageQuery, PastVersion, Reach, ReachedVersion, Result, Sequence,
};
use async_trait::async_trait;
use domain::{Collection, ItemId, Version, VisibleMembers};
use jiff::Timestamp;

use crate::engine::{ReadEngine, ReadMode};
use crate::read::high_water_mark::HighWaterMark;
use crate::sql::change_log::{self, clamped};
use crate::sql::past::{self, Reached};
use crate::sql::selection;
use crate::sql::sql_text::json;
use crate::sql::statements::scope_values;

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

    async fn close_timestamp(&self, time: Timestamp) -> Result<()> {
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
        reach: &Reach,
        id: ItemId,
        version: Option<i64>,
        time: Option<i64>,
    ) -> Result<Option<PastVersion>> {
        let [item, collection, parent] = scope_values(reach.scope(), id);
        let values = [item, collection, parent, version.into(), time.into()];
        let statement = self.engine.dialect().statement(sql_file!("both/read/version"), values);
        let version = |rows: &[_]| rows.first().map(past::version).transpose();
        let found = self.engine.query("past_version", ReadMode::QUICK, statement, version).await?;
        if reach.is_whole() {
            return Ok(found);
        }
        let Some(mut found) = found else { return Ok(None) };
        // A version does not change, so that it can be judged by another statement.
        let version = found.change.version;
        let reached = self.reached_versions(reach, id, version, 1).await?;
        let Some((change, visible)) = reached.into_iter().find(|it| it.0.version == version) else {
            return Ok(None);
        };
        found.change = change;
        if let Some(visible) = visible {
            found.is_cut = !visible.is_whole();
            found.item.iter_mut().for_each(|item| visible.apply(item));
        }
        Ok(Some(found))
    }

    async fn reached_versions(
        &self,
        reach: &Reach,
        id: ItemId,
        newest: Version,
        limit: u64,
    ) -> Result<Vec<(LoggedChange, Option<VisibleMembers>)>> {
        let dialect = self.engine.dialect();
        let statement = past::versions_statement(dialect, reach, id, newest, limit);
        let versions = |rows: &[_]| past::versions(rows, reach.mask());
        self.engine.query("versions", ReadMode::QUICK, statement, versions).await
    }

    async fn reached(
        &self,
        reach: &Reach,
        changes: &[Sequence],
        versions: &[(ItemId, Version)],
    ) -> Result<Vec<Reached>> {
        let statement = past::reached_statement(self.engine.dialect(), reach, changes, versions);
        let reached = |rows: &[_]| past::reached(rows, reach.mask());
        self.engine.query("reached", ReadMode::QUICK, statement, reached).await
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
    ) -> Result<Vec<LoggedChange>> {
        let versions = self.reached_versions(reach, id, newest, limit).await?;
        Ok(versions.into_iter().map(|(change, _)| change).collect())
    }

    async fn version(
        &self,
        reach: &Reach,
        id: ItemId,
        version: Version,
    ) -> Result<Option<PastVersion>> {
        self.past_version(reach, id, Some(version.number()), None).await
    }

    async fn version_at(
        &self,
        reach: &Reach,
        id: ItemId,
        time: Timestamp,
    ) -> Result<Option<PastVersion>> {
        self.close_timestamp(time).await?;
        self.past_version(reach, id, None, Some(time.as_microsecond())).await
    }

    /// It may take long, because it looks for the version of every item.
    async fn page_at(
        &self,
        reach: &Reach,
        time: Timestamp,
        asked: &PastPageQuery,
    ) -> Result<ListedPage> {
        self.close_timestamp(time).await?;
        let statement = past::page_statement(self.engine.dialect(), reach, time, asked);
        let page = |rows: &[_]| past::page(rows, asked, reach.mask());
        self.engine.query("page_at", ReadMode::SLOW, statement, page).await
    }

    async fn contents(&self, reach: &Reach, changes: &[Sequence]) -> Result<Vec<ItemContent>> {
        let mut changes: Vec<_> = changes.iter().map(|change| change.0).collect();
        let dialect = self.engine.dialect();
        let mut visible = HashMap::new();
        if !reach.is_whole() && !changes.is_empty() {
            let asked: Vec<_> = changes.iter().copied().map(Sequence).collect();
            let reached = self.reached(reach, &asked, &[]).await?;
            visible.extend(reached.into_iter().map(|it| (it.change, it.visible)));
            changes.retain(|change| visible.contains_key(change));
        }
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let text = sql_file!(dialect, "read/contents");
        let most = clamped(CONTENT_BYTES as u64);
        let values = [json(&changes), reach.scope().collection.name().into(), most.into()];
        let statement = dialect.statement(text, values);
        let found = self.engine.query("contents", ReadMode::QUICK, statement, selection::contents);
        let mut contents = found.await?;
        for content in &mut contents {
            if let Some(Some(visible)) = visible.get(&content.change.0) {
                content.members = visible.cut(&content.members);
            }
        }
        Ok(contents)
    }

    async fn versions_in_reach(
        &self,
        reach: &Reach,
        versions: &[(ItemId, Version)],
    ) -> Result<Vec<ReachedVersion>> {
        let reached = self.reached(reach, &[], versions).await?.into_iter();
        let shows_author = |visible: &VisibleMembers| visible.shows_callers();
        let version = |Reached { item, version, visible, .. }| ReachedVersion {
            item,
            version,
            shows_author: visible.as_ref().is_none_or(shows_author),
        };
        Ok(reached.map(version).collect())
    }

    async fn latest_time(&self) -> Result<Option<Timestamp>> {
        let statement = change_log::latest_time(self.engine.dialect());
        self.engine.query("latest_time", ReadMode::QUICK, statement, change_log::time).await
    }
}

#[async_trait]
impl ChangeLog for PastReads {
    async fn changes(
        &self,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage> {
        self.high_water_mark.changes(after, collection, limit).await
    }

    async fn latest(
        &self,
        collection: Collection,
        only_deletions: bool,
        before: Sequence,
        limit: u64,
    ) -> Result<Vec<LoggedChange>> {
        let selected = (collection, only_deletions);
        let statement =
            change_log::latest_statement(self.engine.dialect(), selected, before, limit);
        self.engine.query("latest", ReadMode::QUICK, statement, change_log::changes).await
    }

    async fn last(&self) -> Result<Sequence> {
        self.high_water_mark.last().await
    }

    fn history_id(&self) -> Arc<str> {
        self.history_on(self.engine.timeline())
    }
}
