//! Cached items of a store with other writers, each with the revision of its collection at the
//! read. With frequent writes the check of the revision rarely succeeds, so it runs only for items
//! with the latest known revision.

use parking_lot::RwLock;
use std::collections::HashMap;

use application::{Scope, ShownItem};
use domain::{Collection, ItemId};

use crate::cache::{CachedAt, ItemCache};

pub(crate) struct RevisionCache {
    items: ItemCache,
    states: RwLock<HashMap<Collection, CachedAt>>,
}

impl RevisionCache {
    pub fn new() -> Self {
        Self { items: ItemCache::of_items(), states: RwLock::default() }
    }

    pub fn bytes(&self) -> u64 {
        self.items.bytes()
    }

    /// The oldest state that a later read of the collection can return after this number of losses.
    pub fn least(&self, collection: Collection, losses: u64) -> CachedAt {
        let states = self.states.read();
        let known = states.get(&collection).copied().unwrap_or_default();
        known.max(CachedAt { losses, ..CachedAt::default() })
    }

    pub fn observe(&self, collection: Collection, state: CachedAt) {
        if self.least(collection, 0) < state {
            let mut states = self.states.write();
            let known = states.entry(collection).or_default();
            *known = state.max(*known);
        }
    }

    pub fn find(&self, scope: Scope, id: ItemId, state: CachedAt) -> Option<ShownItem> {
        self.items
            .find_item(scope, id)
            .filter(|(cached_at, _)| *cached_at == state)
            .map(|(_, shown)| shown)
    }

    /// Returns whether to ask for the revision: the item was read at the newest known state.
    pub fn may_be_current(&self, scope: Scope, id: ItemId, losses: u64) -> bool {
        self.items
            .find_item(scope, id)
            .is_some_and(|(cached_at, _)| cached_at == self.least(scope.collection, losses))
    }

    pub fn remember(&self, collection: Collection, state: CachedAt, shown: &ShownItem) {
        self.items.insert_item(collection, state, shown.clone());
    }
}

#[cfg(test)]
mod tests {
    use application::{Links, Scope, ShownItem};
    use domain::{Collection, Item, ItemId, Version};
    use jiff::Timestamp;

    use super::RevisionCache;
    use crate::cache::CachedAt;

    const FILES: Collection = Collection::known("files");

    fn shown() -> ShownItem {
        let item = Item {
            id: ItemId::NIL,
            version: Version::FIRST,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            members: "{}".into(),
            parent: None,
            continues: None,
            created_by: None,
        };
        ShownItem { item, links: Links::default() }
    }

    /// After a failover that lost commits, others have the revisions of those.
    #[test]
    fn nothing_from_before_a_loss_is_used() {
        let (cache, scope) = (RevisionCache::new(), Scope::of(FILES));
        let before = CachedAt { losses: 1, revision: 105 };
        cache.observe(FILES, before);
        cache.remember(FILES, cache.least(FILES, 1), &shown());
        assert!(cache.may_be_current(scope, ItemId::NIL, 1));
        assert_eq!(cache.find(scope, ItemId::NIL, before), Some(shown()));
        let after = CachedAt { losses: 2, ..before };
        assert!(!cache.may_be_current(scope, ItemId::NIL, 2));
        assert_eq!(cache.find(scope, ItemId::NIL, after), None);
        // What is read now may be of a lower revision than was known, and is kept as such.
        let least = cache.least(FILES, 2);
        assert_eq!(least, CachedAt { losses: 2, revision: 0 });
        cache.remember(FILES, least, &shown());
        assert_eq!(cache.find(scope, ItemId::NIL, after), None, "it was not read at this revision");
    }
}
