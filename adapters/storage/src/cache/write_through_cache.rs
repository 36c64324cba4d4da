//! What the process that owns a store knows to be current, so that it need not ask.
//!
//! Every write goes through this process ([`WriteThroughCache::committed`] is told of each, after
//! the commit and before its answer), so what was read and not written since is current. Two things
//! rest on that: items that are found in memory, and [`WriteThroughCache::epoch`], which tells
//! whether anything that shows on a page was written since the page was read.
//!
//! A read may be overtaken by a write. So whoever reads takes a [`CacheToken`] first, and what was
//! read is cached only if no write came to the item since: the token is compared and the item
//! cached under one lock, which writes take too.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use application::{RepositoryError, Scope, ShownItem};
use domain::{Collection, ItemId};
use quick_cache::DefaultHashBuilder;

use crate::cache::item_cache::ItemCache;
use crate::write::command::{Answer, Write};

/// What is cached here is current, whenever it was read.
const UNVERSIONED: i64 = 0;

/// So many parts of the items, and of the collections, are told apart when something was written.
const PARTS: usize = 64;

/// The items read or written lately, and what was written since when.
pub(crate) struct WriteThroughCache {
    items: ItemCache,
    /// How many writes there were to the items of each part.
    writes: [Mutex<u64>; PARTS],
    /// How many writes there were to the collections of each part.
    epochs: [AtomicU64; PARTS],
    hasher: DefaultHashBuilder,
}

/// The state of an item's part before it was read.
#[derive(Clone, Copy)]
pub(crate) struct CacheToken(u64);

impl WriteThroughCache {
    pub fn new() -> Self {
        Self {
            items: ItemCache::new(),
            writes: std::array::from_fn(|_| Mutex::new(0)),
            epochs: std::array::from_fn(|_| AtomicU64::new(0)),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The item, if it is known and in the scope. `None` says nothing about whether it exists.
    pub fn find(&self, scope: Scope, id: ItemId) -> Option<ShownItem> {
        self.items.find(scope, id).map(|(_, shown)| shown)
    }

    /// To be taken before an item is read.
    pub fn token(&self, id: ItemId) -> CacheToken {
        CacheToken(*self.part_of(id))
    }

    /// Keeps an item that was read after the token was taken, unless it may have been written
    /// since.
    pub fn remember(&self, token: CacheToken, collection: Collection, shown: &ShownItem) {
        let part = self.part_of(shown.item.id);
        if *part == token.0 {
            self.items.insert(collection, UNVERSIONED, shown.clone());
        }
    }

    /// A number that differs after any write to one of the collections.
    pub fn epoch(&self, collection: Collection, related: &[Collection]) -> u64 {
        let collections = std::iter::once(&collection).chain(related);
        collections.map(|collection| self.epoch_of(*collection).load(Ordering::Acquire)).sum()
    }

    /// Takes note of a write that was committed, or may have been.
    pub fn committed(&self, write: &Write, answer: &Answer) {
        use RepositoryError::{AnsweredBefore, ItemMissing, OwnerMissing, VersionConflict};
        match (write, answer) {
            (Write::Insert { scope, .. } | Write::Update { scope, .. }, Ok(Some(shown))) => {
                self.written(write, *scope, shown);
            }
            (Write::Delete { scope, id, .. }, Ok(_)) if !is_linked_to(scope.collection) => {
                self.change(*id, scope.collection, None);
                self.count(scope.collection);
            }
            (_, Err(ItemMissing | OwnerMissing | VersionConflict | AnsweredBefore)) => {}
            _ => self.forget_all(),
        }
    }

    fn written(&self, write: &Write, scope: Scope, shown: &ShownItem) {
        if scope.collection == Collection::known("proposedprograms")
            && matches!(write, Write::Insert { .. })
        {
            // Proposals may name it already.
            return self.forget_all();
        }
        self.change(shown.item.id, scope.collection, Some(shown.clone()));
        if let (Write::Insert { .. }, Some(continued)) = (write, shown.item.continues) {
            self.change(continued, scope.collection, None);
        }
        self.count(scope.collection);
    }

    fn change(&self, id: ItemId, collection: Collection, left: Option<ShownItem>) {
        let mut part = self.part_of(id);
        *part += 1;
        match left {
            Some(shown) => self.items.insert(collection, UNVERSIONED, shown),
            None => self.items.remove(id),
        }
    }

    /// Items first, epochs last: a page that is read in between is cached with the epoch before.
    fn count(&self, collection: Collection) {
        self.epoch_of(collection).fetch_add(1, Ordering::AcqRel);
    }

    fn forget_all(&self) {
        for part in &self.writes {
            *part.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        self.items.clear();
        for epoch in &self.epochs {
            epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn part_of(&self, id: ItemId) -> MutexGuard<'_, u64> {
        let part = usize::try_from(self.hasher.hash_one(id)).unwrap_or_default() % PARTS;
        self.writes[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn epoch_of(&self, collection: Collection) -> &AtomicU64 {
        &self.epochs[usize::try_from(self.hasher.hash_one(collection)).unwrap_or_default() % PARTS]
    }
}

/// Whether other items show that an item of this collection exists, or go with it.
fn is_linked_to(collection: Collection) -> bool {
    [
        Collection::known("proposals"),
        Collection::known("proposedprograms"),
        Collection::known("cashprogram"),
    ]
    .contains(&collection)
}
