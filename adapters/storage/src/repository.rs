//! The ports over an engine: reads become statements here, writes become data.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use application::query::{MemberNames, PageQuery, PageStart};
use application::{
    Answered, ChangeLog, CollectionContent, CollectionWrite, History, ItemRepository, ListedItem,
    ListedPage, LogPage, LoggedChange, NewItem, PastPageQuery, PastVersion, Readiness, Replacement,
    RepositoryError, Revision, Scope, Sequence, ShownItem, Totals, WriteMetadata,
};
use async_trait::async_trait;
use domain::{Collection, ItemId, Lookup, LookupKey, Version, WriteOperation};
use futures_util::future::{join_all, try_join};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, Statement};

use crate::cache::page_cache::PageCache;
use crate::cache::revision_cache::RevisionCache;
use crate::engine::Engine;
use crate::error::logged;
use crate::read::queue::{ReadQueue, Results};
use crate::search_index::indexer::Indexer;
use crate::sql::change_log;
use crate::sql::history::{self, VersionSelector};
use crate::sql::idempotency;
use crate::sql::lookup;
use crate::sql::page::{self, Found, PageRows, PageStatement};
use crate::sql::row_mapping;
use crate::sql::statements::Statements;
use crate::write::batch::RowChange;
use crate::write::command::{Answer, Change, ContentChange, Deletion, Write, Written};

/// Requests that are forgotten in one step.
const FORGOTTEN_AT_A_TIME: i64 = 1_000;

/// The most times that a page is walked when writes change what is on it between the walk and the
/// look at its items.
const WALKS: usize = 3;

/// The items of one database.
pub(crate) struct SqlItemRepository {
    reads: Arc<Reads>,
    items: ReadQueue<(Scope, ItemId), Option<ShownItem>>,
    totals: ReadQueue<(Scope, Vec<Collection>), (Totals, bool)>,
    pages: ReadQueue<(Scope, PageQuery), (Arc<ListedPage>, bool)>,
    page_cache: PageCache,
    revision_cache: RevisionCache,
    indexer: Arc<Indexer>,
    /// The time in microseconds up to which nothing is written any more.
    closed_timestamp: AtomicI64,
}

impl SqlItemRepository {
    /// Starts the workers of the read queues, so it needs a runtime. A read waits for its place in
    /// the queue as long as `queue_timeout` says.
    pub fn new(engine: Arc<dyn Engine>, queue_timeout: Duration) -> Self {
        let (statements, workers) = (Statements::new(engine.dialect()), engine.workers());
        let indexer = Arc::new(Indexer::start(Arc::clone(&engine)));
        let reads = Arc::new(Reads { engine, statements, indexer: Arc::clone(&indexer) });
        let [of_items, of_totals, of_pages] = std::array::from_fn(|_| Arc::clone(&reads));
        Self {
            reads,
            items: ReadQueue::start(workers, queue_timeout, move |keys| {
                Arc::clone(&of_items).all_items(keys)
            }),
            totals: ReadQueue::start(1, queue_timeout, move |keys| {
                Arc::clone(&of_totals).all_totals(keys)
            }),
            pages: ReadQueue::start(workers, queue_timeout, move |keys| {
                Arc::clone(&of_pages).all_pages(keys)
            }),
            page_cache: PageCache::new(),
            revision_cache: RevisionCache::new(),
            indexer,
            closed_timestamp: AtomicI64::new(0),
        }
    }

    /// Goes on with what a process before this one left to be done. The schema must be up to date.
    pub fn resume(&self) {
        self.indexer.written(1);
    }

    /// Returns when everything that was written is indexed for searches.
    pub async fn wait_until_indexed(&self) -> Result<(), RepositoryError> {
        self.indexer.wait_until_indexed().await
    }

    /// Ends what goes on beside reads and writes.
    pub async fn close(&self) {
        self.indexer.close().await;
    }

    async fn write(&self, change: Change, metadata: WriteMetadata) -> Answer {
        self.indexer.apply_back_pressure().await;
        let write = Write { change, metadata };
        let changes = write.changes();
        let answer = self.reads.engine.write(write).await;
        self.indexer.written(changes);
        answer
    }

    async fn write_row(
        &self,
        row: RowChange,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        match self.write(Change::Row(row), metadata).await? {
            Written::Item(shown) => Ok(shown),
            Written::Collection(_) | Written::Nothing => Err(RepositoryError::Corrupt),
        }
    }

    /// Forgets the requests that had expired by a time.
    pub async fn forget_requests(&self, now: Timestamp) -> Result<u64, RepositoryError> {
        let mut forgotten = 0;
        loop {
            let some = self.reads.engine.forget_requests(now, FORGOTTEN_AT_A_TIME).await?;
            forgotten += some;
            if some < FORGOTTEN_AT_A_TIME.unsigned_abs() {
                return Ok(forgotten);
            }
        }
    }

    /// Sees to it that nothing is committed any more with a time up to this one. Times grow in the
    /// order of the commits, so nothing needs to be done where a later one is visible.
    async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError> {
        if self.closed_timestamp.load(Ordering::Relaxed) >= time.as_microsecond() {
            return Ok(());
        }
        let last = self.last_change().await?;
        if last.is_none_or(|last| last.time < time) {
            self.reads.engine.close_timestamp(time).await?;
        }
        self.closed_timestamp.fetch_max(time.as_microsecond(), Ordering::Relaxed);
        Ok(())
    }

    /// An item of a store that others write to as well.
    async fn find_revalidated(
        &self,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        let Scope { collection, .. } = scope;
        if self.revision_cache.may_be_current(scope, id) {
            let whole = Scope { collection, parent: None };
            let referenced: Vec<_> = collection.referenced().collect();
            let now = self.totals(whole, &referenced).await?.revision;
            self.revision_cache.observe(collection, now);
            if let Some(shown) = self.revision_cache.find(scope, id, now) {
                return Ok(Some(shown));
            }
        }
        let revision = self.revision_cache.revision(collection);
        let found = self.items.read((scope, id)).await?;
        if let Some(shown) = &found {
            self.revision_cache.remember(collection, revision, shown);
        }
        Ok(found)
    }
}

#[async_trait]
impl ItemRepository for SqlItemRepository {
    async fn find(&self, scope: Scope, id: ItemId) -> Result<Option<ShownItem>, RepositoryError> {
        let Some(cache) = self.reads.engine.write_through_cache() else {
            return self.find_revalidated(scope, id).await;
        };
        match cache.find(scope, id) {
            Some(shown) => Ok(Some(shown)),
            None => self.items.read((scope, id)).await,
        }
    }

    async fn find_many(
        &self,
        scope: Scope,
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        if ids.is_empty() { Ok(Vec::new()) } else { self.reads.items(scope, ids).await }
    }

    async fn find_fields(
        &self,
        scope: Scope,
        id: ItemId,
        fields: &MemberNames,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        Ok(self.reads.items_with_fields(scope, &[id], fields).await?.pop())
    }

    async fn belonging_to(
        &self,
        collection: Collection,
        parents: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        let statement = self.reads.statements.belonging_to(collection, parents, limit);
        self.reads.read("belonging_to", statement, row_mapping::shown_items).await
    }

    async fn look_up(&self, lookup: &Lookup) -> Result<domain::Found, RepositoryError> {
        self.reads.look_up(lookup).await
    }

    async fn totals(
        &self,
        scope: Scope,
        related: &[Collection],
    ) -> Result<Totals, RepositoryError> {
        let (totals, has_parent) = self.totals.read((scope, related.to_vec())).await?;
        require_parent(scope, has_parent).map(|()| totals)
    }

    async fn page(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>, RepositoryError> {
        let cached_at = match self.reads.engine.write_through_cache() {
            Some(cache) => cache.epoch(scope.collection, &query.related).cast_signed(),
            None => self.totals(scope, &query.related).await?.revision.0,
        };
        if let Some(page) = self.page_cache.find(scope, query, cached_at) {
            return Ok(page);
        }
        let (page, has_parent) = self.pages.read((scope, query.clone())).await?;
        require_parent(scope, has_parent)?;
        // The items are at least as new as the page's own revision, and as the epoch before they
        // were read.
        let is_epoch = self.reads.engine.write_through_cache().is_some();
        let cached_at = if is_epoch { cached_at } else { page.revision.0 };
        self.page_cache.remember(scope, query, cached_at, &page);
        Ok(page)
    }

    async fn insert(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        self.write_row(RowChange::insert(scope, item), metadata).await
    }

    async fn restore(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        self.write_row(RowChange::restore(scope, item), metadata).await
    }

    async fn update(
        &self,
        scope: Scope,
        replacement: Replacement,
        kind: WriteOperation,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        self.write_row(RowChange::update(scope, replacement, kind), metadata).await
    }

    async fn delete(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
        metadata: WriteMetadata,
    ) -> Result<(), RepositoryError> {
        let deletion = Deletion { scope, id, expected };
        self.write(Change::Delete(deletion), metadata).await.map(|_| ())
    }

    async fn replace_all(
        &self,
        collection: Collection,
        content: CollectionContent,
        metadata: WriteMetadata,
    ) -> Result<CollectionWrite, RepositoryError> {
        let content = ContentChange::new(collection, content);
        match self.write(Change::ReplaceAll(content), metadata).await? {
            Written::Collection(write) => Ok(write),
            Written::Item(_) | Written::Nothing => Err(RepositoryError::Corrupt),
        }
    }

    async fn answered(
        &self,
        metadata: &WriteMetadata,
    ) -> Result<Option<Answered>, RepositoryError> {
        match idempotency::answered_statement(self.reads.engine.dialect(), metadata) {
            Some(statement) => self.reads.read("answered", statement, idempotency::answered).await,
            None => Ok(None),
        }
    }
}

#[async_trait]
impl History for SqlItemRepository {
    async fn versions(
        &self,
        scope: Scope,
        id: ItemId,
        newest: Version,
        limit: u64,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let statement =
            history::versions_statement(self.reads.engine.dialect(), scope, id, newest, limit);
        self.reads.read("versions", statement, history::versions).await
    }

    async fn version(
        &self,
        scope: Scope,
        id: ItemId,
        version: Version,
    ) -> Result<Option<PastVersion>, RepositoryError> {
        self.reads.past_version(scope, id, VersionSelector::Numbered(version)).await
    }

    async fn version_at(
        &self,
        scope: Scope,
        id: ItemId,
        time: Timestamp,
    ) -> Result<Option<PastVersion>, RepositoryError> {
        self.close_timestamp(time).await?;
        self.reads.past_version(scope, id, VersionSelector::At(time)).await
    }

    async fn page_at(
        &self,
        scope: Scope,
        time: Timestamp,
        query: &PastPageQuery,
    ) -> Result<ListedPage, RepositoryError> {
        self.close_timestamp(time).await?;
        let statement = history::page_statement(self.reads.engine.dialect(), scope, time, query);
        self.reads.read("page_at", statement, |rows| history::page(rows, query)).await
    }

    async fn last_change(&self) -> Result<Option<LoggedChange>, RepositoryError> {
        let statement = change_log::last_statement(self.reads.engine.dialect());
        self.reads
            .read("last_change", statement, |rows| rows.first().map(change_log::change).transpose())
            .await
    }
}

#[async_trait]
impl ChangeLog for SqlItemRepository {
    async fn changes(
        &self,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage, RepositoryError> {
        let statement =
            change_log::statement(self.reads.engine.dialect(), after, collection, limit);
        self.reads.read("changes", statement, |rows| change_log::page(rows, after, limit)).await
    }

    async fn last(&self) -> Result<Sequence, RepositoryError> {
        Ok(self.last_change().await?.map(|last| last.sequence).unwrap_or_default())
    }
}

#[async_trait]
impl Readiness for SqlItemRepository {
    async fn check(&self) -> Result<(), RepositoryError> {
        let are_queues_alive =
            self.items.is_alive() && self.totals.is_alive() && self.pages.is_alive();
        if !are_queues_alive || !self.indexer.is_alive() {
            return Err(RepositoryError::Unavailable);
        }
        let reads = self.reads.read("readiness", self.reads.statements.ready(), |_| Ok(()));
        try_join(reads, self.reads.engine.check_writes()).await.map(|_| ())
    }
}

/// That the scope's parent exists, where it has one.
fn require_parent(scope: Scope, has_parent: bool) -> Result<(), RepositoryError> {
    if scope.parent.is_some() && !has_parent {
        Err(RepositoryError::ParentNotFound)
    } else {
        Ok(())
    }
}

/// The reads, as statements of an engine.
struct Reads {
    engine: Arc<dyn Engine>,
    statements: Statements,
    indexer: Arc<Indexer>,
}

impl Reads {
    async fn read<T>(
        &self,
        step: &'static str,
        statement: Statement,
        understand: impl FnOnce(&[QueryResult]) -> Result<T, DbErr> + Send,
    ) -> Result<T, RepositoryError> {
        let rows = self.engine.read(statement).await;
        rows.and_then(|rows| understand(&rows)).map_err(|error| logged(&error, step))
    }

    async fn past_version(
        &self,
        scope: Scope,
        id: ItemId,
        selector: VersionSelector,
    ) -> Result<Option<PastVersion>, RepositoryError> {
        let statement = history::version_statement(self.engine.dialect(), scope, id, selector);
        self.read("past_version", statement, |rows| rows.first().map(history::version).transpose())
            .await
    }

    /// The items of the scope, from memory as far as they are known.
    async fn items(&self, scope: Scope, ids: &[ItemId]) -> Result<Vec<ShownItem>, RepositoryError> {
        let Some(cache) = self.engine.write_through_cache() else {
            return self.stored_items(scope, ids).await;
        };
        let mut found: Vec<_> = ids.iter().filter_map(|id| cache.find(scope, *id)).collect();
        if found.len() == ids.len() {
            return Ok(found);
        }
        let known: HashSet<_> = found.iter().map(|shown| shown.item.id).collect();
        let unknown: Vec<_> = ids.iter().filter(|id| !known.contains(*id)).copied().collect();
        let tokens: HashMap<_, _> = unknown.iter().map(|id| (*id, cache.token(*id))).collect();
        let read = self.stored_items(scope, &unknown).await?;
        for shown in &read {
            if let Some(token) = tokens.get(&shown.item.id) {
                cache.remember(*token, scope.collection, shown);
            }
        }
        found.extend(read);
        Ok(found)
    }

    async fn stored_items(
        &self,
        scope: Scope,
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        let statement = match ids {
            [id] => self.statements.find(scope, *id),
            ids => self.statements.find_many(scope, ids),
        };
        self.read("find", statement, row_mapping::shown_items).await
    }

    async fn items_with_fields(
        &self,
        scope: Scope,
        ids: &[ItemId],
        fields: &MemberNames,
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        let statement = self.statements.find_fields(scope, ids, fields);
        self.read("find_fields", statement, |rows| row_mapping::items_with_fields(rows, fields))
            .await
    }

    /// An item that is looked for by its id is taken from memory if it is known, and kept there.
    async fn look_up(&self, lookup: &Lookup) -> Result<domain::Found, RepositoryError> {
        let cached = match lookup.key {
            LookupKey::Id(id) => self.engine.write_through_cache().map(|cache| (cache, id)),
            _ => None,
        };
        let scope = Scope { collection: lookup.collection, parent: None };
        if let Some(shown) = cached.and_then(|(cache, id)| cache.find(scope, id)) {
            return Ok(lookup::known(lookup, shown));
        }
        let Some(statement) = lookup::statement(self.engine.dialect(), lookup) else {
            return Ok(domain::Found::Items(Vec::new()));
        };
        let token = cached.map(|(cache, id)| (cache, cache.token(id)));
        let found = match self.read("look_up", statement, lookup::understand).await? {
            Ok(found) => found,
            Err(too_much) => return Ok(too_much),
        };
        if let (Some((cache, token)), Some(shown)) = (token, found.first()) {
            cache.remember(token, lookup.collection, shown);
        }
        Ok(domain::Found::Items(found.into_iter().map(|shown| shown.item).collect()))
    }

    async fn totals(
        &self,
        scope: Scope,
        related: &[Collection],
    ) -> Result<(Totals, bool), RepositoryError> {
        let statement = page::totals_statement(self.engine.dialect(), scope, related);
        self.read("totals", statement, row_mapping::totals).await
    }

    /// Brings the full-text index up to a revision of the scope, for a search. What is found may be
    /// newer, but it is not known to be as new as a revision that is read with it.
    async fn indexed_revision(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Option<Revision>, RepositoryError> {
        if query.selection.search.is_none() {
            return Ok(None);
        }
        let revision = self.totals(scope, &query.related).await?.0.revision;
        self.indexer.wait_until_indexed().await?;
        Ok(Some(revision))
    }

    async fn page(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<(Arc<ListedPage>, bool), RepositoryError> {
        let known = match query.position {
            PageStart::Offset(1..) => Some(self.totals(scope, &[]).await?.0),
            _ => None,
        };
        let indexed_revision = self.indexed_revision(scope, query).await?;
        let mut walks = 1;
        loop {
            let page_statement = PageStatement::new(self.engine.dialect(), scope, query, known);
            let statement = page_statement.statement.clone();
            let understand = |rows: &[QueryResult]| page_statement.understand(query, rows);
            let mut rows = self.read("page", statement, understand).await?;
            rows.revision = indexed_revision.unwrap_or(rows.revision);
            let ids: Vec<_> = rows.found.iter().map(|found| found.place.id).collect();
            let items = match &query.fields {
                _ if ids.is_empty() => Vec::new(),
                None => self.items(scope, &ids).await?,
                Some(fields) => self.items_with_fields(scope, &ids, fields).await?,
            };
            let has_parent = rows.has_parent;
            match listed(rows, items) {
                Err(page) if walks == WALKS => return Ok((page, has_parent)),
                Ok(page) => return Ok((page, has_parent)),
                Err(_) => walks += 1,
            }
        }
    }

    /// Finds items that are looked for at the same time: those of a scope by one statement.
    async fn all_items(self: Arc<Self>, keys: Vec<(Scope, ItemId)>) -> Results<Option<ShownItem>> {
        let mut ids_of: HashMap<Scope, Vec<ItemId>> = HashMap::new();
        for (scope, id) in &keys {
            ids_of.entry(*scope).or_default().push(*id);
        }
        let mut found = HashMap::new();
        let mut failed = HashMap::new();
        for (scope, ids) in ids_of {
            match self.items(scope, &ids).await {
                Ok(items) => {
                    found.extend(items.into_iter().map(|shown| ((scope, shown.item.id), shown)));
                }
                Err(error) => drop(failed.insert(scope, error)),
            }
        }
        let answer = |key: &(Scope, ItemId)| {
            failed.get(&key.0).map_or_else(|| Ok(found.get(key).cloned()), |error| Err(*error))
        };
        keys.iter().map(answer).collect()
    }

    /// Reads totals of scopes, and whether their parents exist. All that wait are read at once and
    /// the next wait for them, so that many who want to know the same share one small statement.
    async fn all_totals(
        self: Arc<Self>,
        keys: Vec<(Scope, Vec<Collection>)>,
    ) -> Results<(Totals, bool)> {
        let distinct: HashSet<_> = keys.iter().collect();
        let reads = distinct.into_iter().map(async |key| (key, self.totals(key.0, &key.1).await));
        let found: HashMap<_, _> = join_all(reads).await.into_iter().collect();
        keys.iter().map(|key| found[key]).collect()
    }

    /// Reads pages, and whether the parents of their scopes exist. The same page is read once for
    /// all who want it.
    async fn all_pages(
        self: Arc<Self>,
        keys: Vec<(Scope, PageQuery)>,
    ) -> Results<(Arc<ListedPage>, bool)> {
        let mut found = HashMap::new();
        for key in &keys {
            if !found.contains_key(key) {
                found.insert(key, self.page(key.0, &key.1).await);
            }
        }
        keys.iter().map(|key| found[key].clone()).collect()
    }
}

/// Puts the items in their places. `Err` is a page on which an item is not as it was selected.
fn listed(rows: PageRows, items: Vec<ShownItem>) -> Result<Arc<ListedPage>, Arc<ListedPage>> {
    let mut items: HashMap<_, _> = items.into_iter().map(|shown| (shown.item.id, shown)).collect();
    let place = |found: &Found| found.place.clone();
    let (first, last) = (rows.found.first().map(place), rows.found.last().map(place));
    let mut is_as_selected = true;
    let mut listed = Vec::with_capacity(items.len());
    for Found { place, score, version } in rows.found {
        let shown = items.remove(&place.id);
        is_as_selected &= shown.as_ref().is_some_and(|shown| {
            version.is_none_or(|version| version == shown.item.version.number())
        });
        listed.extend(shown.map(|shown| ListedItem { shown, score, snippet: None }));
    }
    let PageRows { total, revision, has_more, .. } = rows;
    let page = Arc::new(ListedPage { total, revision, items: listed, first, last, has_more });
    if is_as_selected { Ok(page) } else { Err(page) }
}
