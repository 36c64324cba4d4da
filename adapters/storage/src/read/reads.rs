//! The reads of items: single-flight, then the cache, then a statement of the engine.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use application::ports::{
    Answered, ListedPage, Reach, RepositoryError, Result, Revision, Scope, ShownItem, Totals,
    WriteMetadata,
};
use application::query::PageQuery;
use domain::predicate::{Judged, Lookups};
use domain::{Collection, Found, ItemId, Lookup, LookupKey, Predicate, VisibleMembers};
use futures_util::future::join_all;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::gauge::ConstGauge;
use tracing::Instrument as _;

use crate::cache::revisions::RevisionCache;
use crate::cache::{CachedAt, PageCache};
use crate::engine::{ReadEngine, ReadMode};
use crate::metrics::{count, write_series};
use crate::read::high_water_mark::HighWaterMark;
use crate::read::page_marks::PageMarks;
use crate::read::single_flight::{Results, SingleFlight};
use crate::search_index::indexer::Indexer;
use crate::spans;
use crate::sql::idempotency::KeyIdentity;
use crate::sql::{idempotency, lookup, page, row_mapping, statements};

const TOGETHER: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageRead {
    pub reach: Reach,
    pub query: PageQuery,
    /// Of a search: the state and the revision up to which the full-text index knows the items.
    pub indexed: Option<(CachedAt, Revision)>,
    pub mode: ReadMode,
}

/// Knows no other items.
struct NoLookups;

impl Lookups for NoLookups {
    fn found(&mut self, _: Lookup) -> Option<&Found> {
        None
    }
}

type Flight<K, F> = Arc<SingleFlight<K, F>>;

/// Reads of one database. Each kind has its own flights, so that it never waits for another kind.
pub(crate) struct Reads {
    pub engine: Arc<dyn ReadEngine>,
    pub page_marks: PageMarks,
    pub indexer: Arc<Indexer>,
    items: Flight<(Scope, ItemId), Option<ShownItem>>,
    totals: Flight<(Scope, Vec<Collection>), (Totals, bool)>,
    answered: Flight<KeyIdentity, Option<(i64, Answered)>>,
    pub pages: Flight<PageRead, (Arc<ListedPage>, bool)>,
    pub slow_pages: Flight<PageRead, (Arc<ListedPage>, bool)>,
    cached_items: RevisionCache,
    pub cached_pages: PageCache,
}

impl Reads {
    pub fn new(
        engine: Arc<dyn ReadEngine>,
        high_water_mark: Arc<HighWaterMark>,
        indexer: Arc<Indexer>,
    ) -> Arc<Self> {
        let workers = engine.workers();
        Arc::new(Self {
            page_marks: PageMarks::new(Arc::clone(&engine), high_water_mark),
            indexer,
            items: SingleFlight::new(workers.quick, TOGETHER),
            // One at a time, so that all waiting reads share the next small statement.
            totals: SingleFlight::new(1, TOGETHER),
            answered: SingleFlight::new(1, TOGETHER),
            pages: SingleFlight::new(workers.quick, 1),
            slow_pages: SingleFlight::new(workers.slow, 1),
            cached_items: RevisionCache::new(),
            cached_pages: PageCache::of_pages(),
            engine,
        })
    }

    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let items = match self.engine.write_through_cache() {
            Some(cache) => cache.bytes(),
            None => self.cached_items.bytes(),
        };
        let sizes = [("items", items), ("pages", self.cached_pages.bytes())];
        let sizes = sizes.map(|(cache, bytes)| ([("cache", cache)], ConstGauge::new(bytes)));
        let help = "Approximate size of a cache.";
        write_series(encoder, "proposal_service_cache_bytes", help, sizes)?;
        let lengths = [
            ("items", self.items.length()),
            ("totals", self.totals.length()),
            ("keys", self.answered.length()),
            ("pages", self.pages.length()),
            ("slow_pages", self.slow_pages.length()),
        ];
        let lengths = lengths.map(|(kind, length)| ([("queue", kind)], ConstGauge::new(length)));
        let help = "Reads waiting for a worker, by kind.";
        write_series(encoder, "proposal_service_read_queue_length", help, lengths)
    }

    pub async fn shared<K, F, R>(
        self: &Arc<Self>,
        kind: &'static str,
        flights: &Flight<K, F>,
        key: K,
        read: impl Fn(Arc<Self>, Vec<K>) -> R + Send + Sync + 'static,
    ) -> Result<F>
    where
        K: Clone + Eq + std::hash::Hash + Send + 'static,
        F: Clone + Send + 'static,
        R: Future<Output = Results<F>> + Send + 'static,
    {
        let reads = Arc::clone(self);
        let found = flights.read(key, move |keys| read(Arc::clone(&reads), keys));
        found.instrument(spans::read(self.engine.dialect(), kind)).await
    }

    pub async fn item(self: &Arc<Self>, scope: Scope, id: ItemId) -> Result<Option<ShownItem>> {
        let known = match self.engine.write_through_cache() {
            Some(cache) => cache.find(scope, id),
            None => self.revalidated_item(scope, id).await?,
        };
        if let Some(shown) = self.engine.metrics().items.count(known) {
            return Ok(Some(shown));
        }
        let least = self.cached_items.least(scope.collection, self.engine.losses());
        let found = self.shared("items", &self.items, (scope, id), Self::all_items).await?;
        if let Some(shown) = found.as_ref().filter(|_| self.engine.write_through_cache().is_none())
        {
            self.cached_items.remember(scope.collection, least, shown);
        }
        Ok(found)
    }

    async fn revalidated_item(
        self: &Arc<Self>,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<ShownItem>> {
        let (collection, losses) = (scope.collection, self.engine.losses());
        if !self.cached_items.may_be_current(scope, id, losses) {
            return Ok(None);
        }
        let referenced: Vec<_> = collection.referenced().collect();
        let Totals { revision: Revision(revision), .. } =
            self.totals(Scope::of(collection), &referenced).await?;
        let now = CachedAt { losses, revision };
        self.cached_items.observe(collection, now);
        Ok(self.cached_items.find(scope, id, now))
    }

    /// Reads items, those of a scope by one statement.
    async fn all_items(self: Arc<Self>, keys: Vec<(Scope, ItemId)>) -> Results<Option<ShownItem>> {
        self.engine.metrics().shared_reads.observe(count(keys.len()));
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
            failed.get(&key.0).map_or_else(|| Ok(found.remove(key)), |error| Err(*error))
        };
        keys.iter().map(answer).collect()
    }

    pub async fn totals(self: &Arc<Self>, scope: Scope, related: &[Collection]) -> Result<Totals> {
        let key = (scope, related.to_vec());
        let totals = self.shared("totals", &self.totals, key, async |reads, keys| {
            let reads = keys.iter().map(|(scope, related)| reads.stored_totals(*scope, related));
            join_all(reads).await
        });
        with_parent(scope, totals.await?)
    }

    pub async fn stored_totals(
        &self,
        scope: Scope,
        related: &[Collection],
    ) -> Result<(Totals, bool)> {
        let statement = page::totals_statement(self.engine.dialect(), scope, related);
        self.engine.query("totals", ReadMode::QUICK, statement, row_mapping::totals).await
    }

    pub async fn reached_totals(&self, reach: &Reach, related: &[Collection]) -> Result<Totals> {
        let statement = page::reached_totals_statement(self.engine.dialect(), reach, related);
        let totals = self
            .engine
            .query("reached_totals", ReadMode::SLOW, statement, row_mapping::totals)
            .await?;
        with_parent(reach.scope(), totals)
    }

    /// The answer to the request of a write, if it has a key and was done before.
    pub async fn answered(self: &Arc<Self>, metadata: &WriteMetadata) -> Result<Option<Answered>> {
        let Some(key) = metadata.key_identity() else { return Ok(None) };
        let key = key.map(str::to_owned);
        let found = self.shared("keys", &self.answered, key, Self::all_answered).await?;
        let is_kept = |(expires, _): &(i64, Answered)| *expires > metadata.time.as_microsecond();
        let answered = found.filter(is_kept).map(|(_, answered)| answered);
        if answered.is_some() {
            self.engine.metrics().replays.inc();
        }
        Ok(answered)
    }

    async fn all_answered(
        self: Arc<Self>,
        keys: Vec<KeyIdentity>,
    ) -> Results<Option<(i64, Answered)>> {
        let statement = idempotency::answered_statement(self.engine.dialect(), &keys);
        let found =
            self.engine.query("answered", ReadMode::QUICK, statement, idempotency::answered);
        match found.await {
            Ok(mut found) => keys.iter().map(|key| Ok(found.remove(key))).collect(),
            Err(error) => vec![Err(error); keys.len()],
        }
    }

    pub async fn items(&self, scope: Scope, ids: &[ItemId]) -> Result<Vec<ShownItem>> {
        let Some(cache) = self.engine.write_through_cache() else {
            return self.stored_items((scope, None), ids).await;
        };
        let mut found: Vec<_> = ids.iter().filter_map(|id| cache.find(scope, *id)).collect();
        if found.len() == ids.len() {
            return Ok(found);
        }
        let known: HashSet<_> = found.iter().map(|shown| shown.item.id).collect();
        let unknown: Vec<_> = ids.iter().filter(|id| !known.contains(*id)).copied().collect();
        let tokens: HashMap<_, _> = unknown.iter().map(|id| (*id, cache.token(*id))).collect();
        let read = self.stored_items((scope, None), &unknown).await?;
        for shown in &read {
            if let Some(token) = tokens.get(&shown.item.id) {
                cache.remember(*token, scope.collection, shown);
            }
        }
        found.extend(read);
        Ok(found)
    }

    /// Leaves the items that are in reach, without the members that are not visible. An item that
    /// cannot be judged by itself is read again with its related ones, so that its content and the
    /// judgement are of one snapshot.
    pub async fn reached(&self, reach: &Reach, found: Vec<ShownItem>) -> Result<Vec<ShownItem>> {
        if reach.is_whole() {
            return Ok(found);
        }
        let (mut reached, mut undecided) = (Vec::with_capacity(found.len()), Vec::new());
        for shown in found {
            let id = shown.item.id;
            match reached_alone(reach, shown) {
                Ok(shown) => reached.extend(shown),
                Err(Undecided) => undecided.push(id),
            }
        }
        if !undecided.is_empty() {
            reached.extend(self.stored_items((reach.scope(), Some(reach)), &undecided).await?);
        }
        Ok(reached)
    }

    async fn stored_items(
        &self,
        (scope, reach): (Scope, Option<&Reach>),
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>> {
        let statement = statements::find(self.engine.dialect(), (scope, reach), ids, None);
        let mask = reach.and_then(Reach::mask);
        let items = |rows: &[_]| row_mapping::shown_items(rows, mask);
        self.engine.query("find", ReadMode::QUICK, statement, items).await
    }

    /// An item that is looked for by its id is taken from memory if it is known, and kept there.
    pub async fn look_up(&self, lookup: &Lookup) -> Result<Found> {
        let cached = match lookup.key {
            LookupKey::Id(id) => self.engine.write_through_cache().map(|cache| (cache, id)),
            _ => None,
        };
        let scope = Scope { collection: lookup.collection, parent: None };
        if let Some(shown) = cached.and_then(|(cache, id)| cache.find(scope, id)) {
            return Ok(lookup::known(lookup, shown));
        }
        let Some(statement) = lookup::statement(self.engine.dialect(), lookup) else {
            return Ok(Found::Items(Vec::new()));
        };
        let token = cached.map(|(cache, id)| (cache, cache.token(id)));
        let found = self.engine.query("look_up", ReadMode::QUICK, statement, lookup::understand);
        let found = match found.await? {
            Ok(found) => found,
            Err(too_much) => return Ok(too_much),
        };
        if let (Some((cache, token)), Some(shown)) = (token, found.first()) {
            cache.remember(token, lookup.collection, shown);
        }
        Ok(Found::Items(found.into_iter().map(|shown| shown.item).collect()))
    }
}

/// The judgement of an item needs other items.
struct Undecided;

/// Returns the visible part of an item, if it is in reach.
fn reached_alone(reach: &Reach, mut shown: ShownItem) -> Result<Option<ShownItem>, Undecided> {
    let judge = |condition: &Predicate| {
        condition.judge(Judged::of(&shown.item), &mut NoLookups).ok_or(Undecided)
    };
    if let Some(condition) = reach.condition()
        && !judge(condition)?
    {
        return Ok(None);
    }
    if let Some(mask) = reach.mask() {
        let visible = VisibleMembers::decide(mask, judge)?;
        shown.cut(&visible);
    }
    Ok(Some(shown))
}

/// The totals or the page of a scope, whose parent must exist.
pub(super) fn with_parent<T>(scope: Scope, (found, has_parent): (T, bool)) -> Result<T> {
    if scope.parent.is_some() && !has_parent {
        return Err(RepositoryError::ParentNotFound);
    }
    Ok(found)
}
