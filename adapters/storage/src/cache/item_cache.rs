//! Items in memory, bounded by their bytes.

use application::{Scope, ShownItem};
use domain::{Collection, ItemId};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes of items that are kept.
const KEPT_BYTES: u64 = 40 * 1024 * 1024;

/// How many items are expected to fit.
const EXPECTED: usize = 10_000;

/// About how many bytes an item takes beside its members.
const BESIDE_MEMBERS: usize = 256;

/// Items by their ids, each with a stamp that says when it was as it is.
pub(crate) struct KeptItems(Cache<ItemId, Kept, ByBytes>);

#[derive(Clone)]
struct Kept {
    collection: Collection,
    stamp: i64,
    shown: ShownItem,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<ItemId, Kept> for ByBytes {
    fn weight(&self, _id: &ItemId, kept: &Kept) -> u64 {
        (kept.shown.item.members.len()
            + BESIDE_MEMBERS
            + kept.shown.relations.continued_by.len() * size_of::<ItemId>()) as u64
    }
}

impl KeptItems {
    pub fn new() -> Self {
        Self(Cache::with_weighter(EXPECTED, KEPT_BYTES, ByBytes))
    }

    /// The item and its stamp, if it is known and in the scope. `None` says nothing about whether
    /// it exists.
    pub fn find(&self, scope: Scope, id: ItemId) -> Option<(i64, ShownItem)> {
        let kept = self.0.get(&id)?;
        let is_in_scope = kept.collection == scope.collection
            && scope.parent.is_none_or(|parent| kept.shown.item.parent == Some(parent));
        is_in_scope.then_some((kept.stamp, kept.shown))
    }

    pub fn insert(&self, collection: Collection, stamp: i64, shown: ShownItem) {
        self.0.insert(shown.item.id, Kept { collection, stamp, shown });
    }

    pub fn remove(&self, id: ItemId) {
        drop(self.0.remove(&id));
    }

    pub fn clear(&self) {
        self.0.clear();
    }
}
