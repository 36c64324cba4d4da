//! Items and pages in memory, each with the state of the store at its read. A value is used only if
//! it is known to be current:
//! - If this process alone writes, each write updates the items after its commit and before its
//!   answer ([`write_through`]). A page is current until the next write to its collections.
//! - Otherwise a value is current while its collections have the revision of its read
//!   ([`revisions`]). All waiting reads share one small statement that reads the revision. Values
//!   from before a lost connection are not used: a failover may have lost the last commits, and
//!   other writes may have their revisions.

pub(crate) mod revisions;
pub(crate) mod write_through;

use std::hash::Hash;
use std::sync::Arc;

use application::query::PageQuery;
use application::{ListedPage, Reach, Scope, ShownItem};
use domain::{Collection, ItemId};
use quick_cache::{Equivalent, Weighter};

/// The approximate size in bytes of an item, or of a page, without the members.
const OVERHEAD: usize = 384;

/// The approximate size of a count in bytes, without its value.
const COUNT_OVERHEAD: usize = 48;

/// A state of the store, no later than a read. After a lost connection, another history may have an
/// equal revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CachedAt {
    pub losses: u64,
    pub revision: i64,
}

pub(crate) struct Cache<K, V>(quick_cache::sync::Cache<K, (CachedAt, V), ByBytes>);

pub(crate) type ItemCache = Cache<ItemId, CachedItem>;

pub(crate) type PageCache = Cache<(Reach, PageQuery), Arc<ListedPage>>;

pub(crate) trait Bytes {
    fn bytes(&self) -> usize;
}

#[derive(Clone)]
struct ByBytes;

#[derive(Clone)]
pub(crate) struct CachedItem {
    collection: Collection,
    shown: ShownItem,
}

/// A borrowed key, for look-ups without a clone.
#[derive(Hash)]
pub(crate) struct PageKey<'a>(pub &'a Reach, pub &'a PageQuery);

impl Equivalent<(Reach, PageQuery)> for PageKey<'_> {
    fn equivalent(&self, key: &(Reach, PageQuery)) -> bool {
        *self.0 == key.0 && *self.1 == key.1
    }
}

impl<K, V: Bytes> Weighter<K, (CachedAt, V)> for ByBytes {
    fn weight(&self, _key: &K, (_, value): &(CachedAt, V)) -> u64 {
        value.bytes() as u64
    }
}

impl Bytes for CachedItem {
    fn bytes(&self) -> usize {
        let links = self.shown.links.continued_by.len() * size_of::<ItemId>();
        self.shown.item.members.len() + OVERHEAD + links
    }
}

impl Bytes for Arc<ListedPage> {
    fn bytes(&self) -> usize {
        let items = self.items.iter().map(|listed| listed.shown.item.members.len() + OVERHEAD);
        let counts = self.counts.iter().flat_map(|counts| &counts.values);
        let counts = counts.map(|count| count.value.len() + COUNT_OVERHEAD);
        items.sum::<usize>() + counts.sum::<usize>() + OVERHEAD
    }
}

impl ItemCache {
    pub fn of_items() -> Self {
        Self::new(10_000, 40 * 1024 * 1024)
    }

    /// Finds a known item of the scope. `None` does not say that it does not exist.
    pub fn find_item(&self, scope: Scope, id: ItemId) -> Option<(CachedAt, ShownItem)> {
        let (cached_at, CachedItem { collection, shown }) = self.find(&id)?;
        let is_in_scope = collection == scope.collection
            && scope.parent.is_none_or(|parent| shown.item.parent == Some(parent));
        is_in_scope.then_some((cached_at, shown))
    }

    pub fn insert_item(&self, collection: Collection, cached_at: CachedAt, shown: ShownItem) {
        self.insert(shown.item.id, cached_at, CachedItem { collection, shown });
    }
}

impl PageCache {
    /// Estimates one shard: a page larger than its shard is not cached, so each caller reads it.
    pub fn of_pages() -> Self {
        Self::new(32, 16 * 1024 * 1024)
    }
}

impl<K: Eq + Hash, V: Bytes + Clone> Cache<K, V> {
    fn new(estimated_values: usize, capacity_bytes: u64) -> Self {
        Self(quick_cache::sync::Cache::with_weighter(estimated_values, capacity_bytes, ByBytes))
    }

    pub fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<(CachedAt, V)> {
        self.0.get(key)
    }

    pub fn insert(&self, key: K, cached_at: CachedAt, value: V) {
        self.0.insert(key, (cached_at, value));
    }

    pub fn remove(&self, key: &K) {
        drop(self.0.remove(key));
    }

    pub fn clear(&self) {
        self.0.clear();
    }

    pub fn bytes(&self) -> u64 {
        self.0.weight()
    }
}
