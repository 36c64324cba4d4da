//! Items in memory, bounded by their bytes.

use application::{Scope, ShownItem};
use domain::{Collection, ItemId};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes of items that are cached.
const CAPACITY_BYTES: u64 = 40 * 1024 * 1024;

/// The number of items that are expected to fit.
const EXPECTED_ITEMS: usize = 10_000;

/// The approximate size of an item in bytes, without its members.
const ITEM_OVERHEAD: usize = 256;

/// The state of the store that something was read in, or an earlier one. After a loss of connections
/// the store may be one that has other things under the same revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CachedAt {
    /// The number of losses of connections before it was read.
    pub losses: u64,
    /// The revision, or another counter of the writes.
    pub revision: i64,
}

/// Items by their ids, each with the state it was cached at.
pub(crate) struct ItemCache(Cache<ItemId, CachedItem, ByBytes>);

#[derive(Clone)]
struct CachedItem {
    collection: Collection,
    cached_at: CachedAt,
    shown: ShownItem,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<ItemId, CachedItem> for ByBytes {
    fn weight(&self, _id: &ItemId, cached: &CachedItem) -> u64 {
        (cached.shown.item.members.len()
            + ITEM_OVERHEAD
            + cached.shown.links.continued_by.len() * size_of::<ItemId>()) as u64
    }
}

impl ItemCache {
    pub fn new() -> Self {
        Self(Cache::with_weighter(EXPECTED_ITEMS, CAPACITY_BYTES, ByBytes))
    }

    /// The item and the state it was cached at, if it is known and in the scope. `None` says
    /// nothing about whether it exists.
    pub fn find(&self, scope: Scope, id: ItemId) -> Option<(CachedAt, ShownItem)> {
        let cached = self.0.get(&id)?;
        let is_in_scope = cached.collection == scope.collection
            && scope.parent.is_none_or(|parent| cached.shown.item.parent == Some(parent));
        is_in_scope.then_some((cached.cached_at, cached.shown))
    }

    pub fn insert(&self, collection: Collection, cached_at: CachedAt, shown: ShownItem) {
        self.0.insert(shown.item.id, CachedItem { collection, cached_at, shown });
    }

    pub fn remove(&self, id: ItemId) {
        drop(self.0.remove(&id));
    }

    /// Its size in bytes, about.
    pub fn bytes(&self) -> u64 {
        self.0.weight()
    }

    pub fn clear(&self) {
        self.0.clear();
    }
}
