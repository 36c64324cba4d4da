//! Items seen in a store that others write to as well, each with the revision of its collection at
//! which it was read.
//!
//! An item is current while its collection, and those it links to, are at that revision, which one
//! small statement tells for all who wait. Where writes are frequent that would be asked in vain,
//! so it is asked only for items that are as new as anything known of their collection.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use application::{Revision, Scope, ShownItem};
use domain::{Collection, ItemId};

use crate::cache::item_cache::ItemCache;

/// The items seen, and the least that the revision of each collection can be by now.
pub(crate) struct RevisionCache {
    items: ItemCache,
    revisions: RwLock<HashMap<Collection, i64>>,
}

impl RevisionCache {
    pub fn new() -> Self {
        Self { items: ItemCache::new(), revisions: RwLock::default() }
    }

    /// The least that the collection's revision can be. What is read from now on is at least as
    /// new.
    pub fn revision(&self, collection: Collection) -> i64 {
        self.revisions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&collection)
            .copied()
            .unwrap_or_default()
    }

    /// Takes note of a revision that the store told.
    pub fn observe(&self, collection: Collection, Revision(revision): Revision) {
        if self.revision(collection) < revision {
            let mut revisions = self.revisions.write().unwrap_or_else(PoisonError::into_inner);
            let known = revisions.entry(collection).or_default();
            *known = revision.max(*known);
        }
    }

    /// The item, if it was read at this revision.
    pub fn find(
        &self,
        scope: Scope,
        id: ItemId,
        Revision(revision): Revision,
    ) -> Option<ShownItem> {
        self.items
            .find(scope, id)
            .filter(|(cached_at, _)| *cached_at == revision)
            .map(|(_, shown)| shown)
    }

    /// Returns whether it is worth asking for the revision, because the item was read at the newest
    /// that is known.
    pub fn may_be_current(&self, scope: Scope, id: ItemId) -> bool {
        self.items
            .find(scope, id)
            .is_some_and(|(cached_at, _)| cached_at == self.revision(scope.collection))
    }

    /// Keeps an item that was read when the revision was at least this.
    pub fn remember(&self, collection: Collection, revision: i64, shown: &ShownItem) {
        self.items.insert(collection, revision, shown.clone());
    }
}
