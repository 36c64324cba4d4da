//! The port of items: reads are shared and cached, writes become data.

use std::sync::Arc;

use application::ports::{
    Answered, CollectionContent, CollectionWrite, DeletableItems, ItemChange, ItemRepository,
    ListedPage, NewItem, Reach, Readiness, Replacement, RepositoryError, Result, Scope, Sequence,
    ShownItem, Totals, ValueCounts, WriteMetadata,
};
use application::query::{MemberNames, PageQuery};
use async_trait::async_trait;
use domain::{Collection, Found, ItemId, Lookup, Predicate, Version, WriteOperation};
use futures_util::future::try_join;

use crate::engine::ReadMode;
use crate::read::pages::with_reads;
use crate::read::reads::Reads;
use crate::search_index::value_counts;
use crate::sql::{change_log, lookup, row_mapping, statements};
use crate::write::command::{Change, ContentChange, Written};
use crate::write::row::RowChange;
use crate::write::writes::Writes;

pub(crate) struct SqlItemRepository {
    pub reads: Arc<Reads>,
    /// `None` if the database is only read.
    pub writes: Option<Writes>,
}

impl SqlItemRepository {
    pub fn writes(&self) -> Result<&Writes> {
        self.writes.as_ref().ok_or(RepositoryError::Unavailable)
    }
}

#[async_trait]
impl ItemRepository for SqlItemRepository {
    async fn find(&self, reach: &Reach, id: ItemId) -> Result<Option<ShownItem>> {
        let found = self.reads.item(reach.scope(), id).await?;
        if reach.is_whole() {
            return Ok(found);
        }
        Ok(self.reads.reached(reach, found.into_iter().collect()).await?.pop())
    }

    async fn in_reach(&self, reach: &Reach, ids: &[ItemId]) -> Result<Vec<ItemId>> {
        let statement = statements::ids(self.reads.engine.dialect(), reach, ids);
        let reached = |rows: &[_]| rows.iter().map(|row| row_mapping::item_id(row, "id")).collect();
        self.reads.engine.query("in_reach", ReadMode::QUICK, statement, reached).await
    }

    /// Many items may belong to the parent, so it may take long.
    async fn has_undeletable(&self, parent: ItemId, deletable: &[DeletableItems]) -> Result<bool> {
        let dialect = self.reads.engine.dialect();
        let statement = lookup::undeletable_statement(dialect, parent, deletable);
        let found = |rows: &[_]| Ok(!rows.is_empty());
        self.reads.engine.query("undeletable", ReadMode::SLOW, statement, found).await
    }

    async fn find_many(&self, reach: &Reach, ids: &[ItemId]) -> Result<Vec<ShownItem>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.reads.items(reach.scope(), ids).await?;
        self.reads.reached(reach, found).await
    }

    async fn find_fields(
        &self,
        reach: &Reach,
        ids: &[ItemId],
        fields: &MemberNames,
    ) -> Result<Vec<ShownItem>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let dialect = self.reads.engine.dialect();
        let statement = statements::find(dialect, (reach.scope(), Some(reach)), ids, Some(fields));
        let items = |rows: &[_]| {
            let shown = |row| row_mapping::shown_item(row, Some(fields), reach.mask());
            rows.iter().map(shown).collect()
        };
        self.reads.engine.query("find_fields", ReadMode::QUICK, statement, items).await
    }

    async fn belonging_to(
        &self,
        reach: &Reach,
        parents: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>> {
        let dialect = self.reads.engine.dialect();
        let statement = statements::belonging_to(dialect, reach, parents, limit);
        let items = |rows: &[_]| row_mapping::shown_items(rows, reach.mask());
        self.reads.engine.query("belonging_to", ReadMode::QUICK, statement, items).await
    }

    async fn look_up(&self, lookup: &Lookup) -> Result<Found> {
        self.reads.look_up(lookup).await
    }

    async fn totals(&self, reach: &Reach, related: &[Collection]) -> Result<Totals> {
        if reach.condition().is_none() {
            return self.reads.totals(reach.scope(), related).await;
        }
        self.reads.reached_totals(reach, &with_reads(related, reach)).await
    }

    async fn page(&self, reach: &Reach, query: &PageQuery) -> Result<Arc<ListedPage>> {
        self.reads.page(reach, query).await
    }

    async fn select(&self, reach: &Reach, query: &PageQuery) -> Result<Vec<Sequence>> {
        self.reads.select(reach, query).await
    }

    /// A collection may have many values, so it may take long.
    async fn value_counts(&self, reach: &Reach, member: &str, limit: u64) -> Result<ValueCounts> {
        let (engine, collection) = (&self.reads.engine, reach.scope().collection);
        let dialect = engine.dialect();
        let fields = value_counts::fields(collection, member);
        let is_whole = fields.iter().all(|name| reach.shows(name) == Predicate::TRUE);
        if reach.condition().is_some() || !is_whole {
            let statement = value_counts::reached_statement(dialect, reach, &fields);
            let counts = |rows: &[_]| value_counts::reached_counts(rows, collection, member, limit);
            return engine.query("reached_counts", ReadMode::SLOW, statement, counts).await;
        }
        let statement = value_counts::statement(dialect, collection, member, limit);
        engine.query("value_counts", ReadMode::SLOW, statement, value_counts::counts).await
    }

    async fn insert(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem> {
        self.writes()?.row(RowChange::insert(scope, item), metadata).await
    }

    async fn write_all(
        &self,
        collection: Collection,
        changes: Vec<ItemChange>,
        metadata: WriteMetadata,
    ) -> Result<()> {
        let rows =
            changes.into_iter().map(|change| RowChange::of_many(collection, change)).collect();
        self.writes()?.write(Change::Rows(rows), metadata).await.map(drop)
    }

    async fn restore(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem> {
        self.writes()?.row(RowChange::restore(scope, item), metadata).await
    }

    async fn update(
        &self,
        scope: Scope,
        replacement: Replacement,
        kind: WriteOperation,
        metadata: WriteMetadata,
    ) -> Result<ShownItem> {
        self.writes()?.row(RowChange::update(scope, replacement, kind), metadata).await
    }

    async fn delete(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
        metadata: WriteMetadata,
    ) -> Result<()> {
        let row = Box::new(RowChange::delete(scope, id, expected));
        self.writes()?.write(Change::Row(row), metadata).await.map(drop)
    }

    async fn replace_all(
        &self,
        collection: Collection,
        content: CollectionContent,
        metadata: WriteMetadata,
    ) -> Result<CollectionWrite> {
        let content = ContentChange::new(collection, content);
        match self.writes()?.write(Change::ReplaceAll(content), metadata).await? {
            Written::Collection(write) => Ok(write),
            Written::Item(_) | Written::Nothing => Err(RepositoryError::Corrupt),
        }
    }

    async fn answered(&self, metadata: &WriteMetadata) -> Result<Option<Answered>> {
        self.reads.answered(metadata).await
    }
}

#[async_trait]
impl Readiness for SqlItemRepository {
    async fn check(&self) -> Result<()> {
        let statement = change_log::last_statement(self.reads.engine.dialect());
        let answer = self.reads.engine.query("readiness", ReadMode::QUICK, statement, |_| Ok(()));
        try_join(answer, self.writes()?.check()).await.map(|_| ())
    }
}
