//! The ports over an engine: reads go through the caches and queues, writes become data.

use std::sync::Arc;
use std::time::Duration;

use application::query::{MemberNames, PageQuery};
use application::{
    Answered, CollectionContent, CollectionWrite, Creator, ItemChange, ItemRepository, ListedPage,
    NewItem, Reach, Readiness, Replacement, RepositoryError, Scope, Sequence, ShownItem, Totals,
    UndeletableItems, ValueCounts, WriteMetadata,
};
use async_trait::async_trait;
use domain::{Collection, Found, ItemId, Lookup, Version, WriteOperation};

use crate::cache::cached_reads::CachedReads;
use crate::read::queued::QueuedReads;
use crate::read::reads::Reads;
use crate::search_index::indexer::Indexer;
use crate::write::command::{Change, ContentChange, Written};
use crate::write::row::RowChange;
use crate::write::writes::Writes;

/// The items of one database.
pub(crate) struct SqlItemRepository {
    pub reads: Arc<Reads>,
    pub cached: CachedReads,
    pub writes: Writes,
}

impl SqlItemRepository {
    /// Starts the workers that read, so it needs a runtime.
    pub fn new(reads: &Arc<Reads>, indexer: &Arc<Indexer>, queue_timeout: Duration) -> Self {
        let engine = &reads.engine;
        let queued = QueuedReads::start(reads, Arc::clone(indexer), queue_timeout);
        Self {
            cached: CachedReads::new(Arc::clone(engine), queued),
            writes: Writes::new(Arc::clone(engine), Arc::clone(indexer)),
            reads: Arc::clone(reads),
        }
    }
}

#[async_trait]
impl ItemRepository for SqlItemRepository {
    async fn find(&self, reach: &Reach, id: ItemId) -> Result<Option<ShownItem>, RepositoryError> {
        self.cached.item(reach.scope(), id).await
    }

    async fn creator(&self, reach: &Reach, id: ItemId) -> Result<Option<Creator>, RepositoryError> {
        self.reads.creator(reach.scope(), id).await
    }

    async fn has_undeletable(
        &self,
        parent: ItemId,
        undeletable: &[UndeletableItems],
    ) -> Result<bool, RepositoryError> {
        self.reads.has_undeletable(parent, undeletable).await
    }

    async fn find_many(
        &self,
        reach: &Reach,
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        if ids.is_empty() { Ok(Vec::new()) } else { self.reads.items(reach.scope(), ids).await }
    }

    async fn find_fields(
        &self,
        reach: &Reach,
        id: ItemId,
        fields: &MemberNames,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        self.reads.item_with_fields(reach.scope(), id, fields).await
    }

    async fn belonging_to(
        &self,
        reach: &Reach,
        parents: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        self.reads.belonging_to(reach.scope().collection, parents, limit).await
    }

    async fn look_up(&self, lookup: &Lookup) -> Result<Found, RepositoryError> {
        self.reads.look_up(lookup).await
    }

    async fn totals(
        &self,
        reach: &Reach,
        related: &[Collection],
    ) -> Result<Totals, RepositoryError> {
        self.cached.totals(reach.scope(), related).await
    }

    async fn page(
        &self,
        reach: &Reach,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>, RepositoryError> {
        self.cached.page(reach.scope(), query).await
    }

    async fn select(
        &self,
        reach: &Reach,
        query: &PageQuery,
    ) -> Result<Vec<Sequence>, RepositoryError> {
        self.cached.select(reach.scope(), query).await
    }

    async fn value_counts(
        &self,
        reach: &Reach,
        member: &str,
        limit: u64,
    ) -> Result<ValueCounts, RepositoryError> {
        self.reads.value_counts(reach.scope().collection, member, limit).await
    }

    async fn insert(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        self.writes.row(RowChange::insert(scope, item), metadata).await
    }

    async fn write_all(
        &self,
        collection: Collection,
        changes: Vec<ItemChange>,
        metadata: WriteMetadata,
    ) -> Result<(), RepositoryError> {
        let rows =
            changes.into_iter().map(|change| RowChange::of_many(collection, change)).collect();
        self.writes.write(Change::Rows(rows), metadata).await.map(drop)
    }

    async fn restore(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        self.writes.row(RowChange::restore(scope, item), metadata).await
    }

    async fn update(
        &self,
        scope: Scope,
        replacement: Replacement,
        kind: WriteOperation,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        self.writes.row(RowChange::update(scope, replacement, kind), metadata).await
    }

    async fn delete(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
        metadata: WriteMetadata,
    ) -> Result<(), RepositoryError> {
        let row = Box::new(RowChange::delete(scope, id, expected));
        self.writes.write(Change::Row(row), metadata).await.map(drop)
    }

    async fn replace_all(
        &self,
        collection: Collection,
        content: CollectionContent,
        metadata: WriteMetadata,
    ) -> Result<CollectionWrite, RepositoryError> {
        let content = ContentChange::new(collection, content);
        match self.writes.write(Change::ReplaceAll(content), metadata).await? {
            Written::Collection(write) => Ok(write),
            Written::Item(_) | Written::Nothing => Err(RepositoryError::Corrupt),
        }
    }

    async fn answered(
        &self,
        metadata: &WriteMetadata,
    ) -> Result<Option<Answered>, RepositoryError> {
        self.cached.answered(metadata).await
    }
}

#[async_trait]
impl Readiness for SqlItemRepository {
    async fn check(&self) -> Result<(), RepositoryError> {
        if !self.cached.are_alive() || !self.writes.is_alive() {
            return Err(RepositoryError::Unavailable);
        }
        self.reads.check().await
    }
}
