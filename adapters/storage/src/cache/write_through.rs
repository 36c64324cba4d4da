//! Write-through cache for the process that owns a store.
//!
//! [`WriteThroughCache::committed`] is called for each batch after its commit and before its
//! answers, so an item that was not written since its read is current. [`WriteThroughCache::epoch`]
//! differs after any write to the items of a page.
//!
//! A write may overtake a read. So a reader takes a [`CacheToken`] first, and an item is cached
//! only if it was not written since. One lock, which writes take too, covers the comparison and the
//! insert.
//!
//! The links of an item depend on other items. A deletion that may have removed one clears the
//! cache. An insert makes a link only if an item already names the new one. Such names are
//! remembered as dangling references, so that other inserts leave the cache alone.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use application::{RepositoryError, Scope, ShownItem};
use domain::{Collection, ItemId};
use quick_cache::DefaultHashBuilder;

use crate::cache::{CachedAt, ItemCache};
use crate::sql::references;
use crate::write::command::{Answer, Change, Write, Written};
use crate::write::row::{RowChange, RowKind};

/// Parts of the items, and of the collections, whose writes are counted apart.
const PARTS: usize = 64;

/// More dangling references than this clear the cache.
const MAX_DANGLING: usize = 100_000;

pub(crate) struct WriteThroughCache {
    items: ItemCache,
    dangling: Mutex<Dangling>,
    writes: [Mutex<u64>; PARTS],
    epochs: [AtomicU64; PARTS],
    hasher: DefaultHashBuilder,
}

/// Identifiers that cached items name and no item had when they were read.
#[derive(Default)]
struct Dangling {
    targets: HashSet<ItemId>,
    inserts: u64,
}

/// The counts of writes to an item's part and of inserts, before the read.
#[derive(Clone, Copy)]
pub(crate) struct CacheToken {
    writes: u64,
    inserts: u64,
}

impl WriteThroughCache {
    pub fn new() -> Self {
        Self {
            items: ItemCache::of_items(),
            dangling: Mutex::default(),
            writes: std::array::from_fn(|_| Mutex::new(0)),
            epochs: std::array::from_fn(|_| AtomicU64::new(0)),
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.items.bytes()
    }

    pub fn find(&self, scope: Scope, id: ItemId) -> Option<ShownItem> {
        self.items.find_item(scope, id).map(|(_, shown)| shown)
    }

    pub fn token(&self, id: ItemId) -> CacheToken {
        CacheToken { writes: *self.part_of(id), inserts: self.dangling.lock().inserts }
    }

    /// Caches an item, unless it or its references may have been written since the token was taken.
    pub fn remember(&self, token: CacheToken, collection: Collection, shown: &ShownItem) {
        let missing = references::missing(collection, shown);
        let part = self.part_of(shown.item.id);
        if *part == token.writes {
            self.insert(collection, shown, missing, Some(token.inserts));
        }
    }

    pub fn epoch(&self, collection: Collection, related: &[Collection]) -> u64 {
        let collections = std::iter::once(&collection).chain(related);
        collections.map(|collection| self.epoch_of(*collection).load(Ordering::Acquire)).sum()
    }

    /// Updates the cache after possible commits. A batch is executed by kind, so a write may change
    /// the item of another answer: all answers are cached first, then doubtful items are removed.
    pub fn committed(&self, writes: &[&Write], answers: &[Answer]) {
        for (write, answer) in writes.iter().zip(answers) {
            if let (Change::Row(row), Ok(Written::Item(shown))) = (&write.change, answer) {
                self.written(row, shown);
            }
        }
        for (write, answer) in writes.iter().zip(answers) {
            self.forget(write, answer);
        }
    }

    /// Forgets the items whose links or existence a write changed.
    fn forget(&self, write: &Write, answer: &Answer) {
        use RepositoryError::{AnsweredBefore, ItemNotFound, ParentNotFound, VersionConflict};
        match (&write.change, answer) {
            (Change::Row(row), Ok(written)) => match (row.kind, written) {
                (RowKind::Insert, Written::Item(shown)) => self.inserted(row, shown),
                (RowKind::Update, Written::Item(_)) => {}
                (RowKind::Delete, _) if !has_dependents(row.scope.collection) => {
                    *self.part_of(row.id) += 1;
                    self.items.remove(&row.id);
                    self.count(row.scope.collection);
                }
                _ => self.forget_all(),
            },
            (_, Err(ItemNotFound | ParentNotFound | VersionConflict | AnsweredBefore)) => {}
            _ => self.forget_all(),
        }
    }

    fn inserted(&self, row: &RowChange, shown: &ShownItem) {
        if row.scope.collection.referrers().next().is_some() {
            let mut dangling = self.dangling.lock();
            dangling.inserts += 1;
            let is_named = dangling.targets.contains(&shown.item.id);
            drop(dangling);
            if is_named {
                return self.forget_all();
            }
        }
        if let Some(continued) = shown.item.continues {
            *self.part_of(continued) += 1;
            self.items.remove(&continued);
        }
    }

    /// Items first, epochs last: a page that is read in between is cached with the epoch before.
    fn written(&self, row: &RowChange, shown: &ShownItem) {
        let RowChange { scope, references, .. } = row;
        let is_missing = |(index, id): (usize, &Option<ItemId>)| {
            id.filter(|_| shown.links.reference(index).is_none())
        };
        let missing = references.iter().enumerate().filter_map(is_missing).collect();
        let mut part = self.part_of(shown.item.id);
        *part += 1;
        self.insert(scope.collection, shown, missing, None);
        drop(part);
        self.count(scope.collection);
    }

    /// Caches an item whose part is locked, unless a missing item that it names may exist by now.
    fn insert(
        &self,
        collection: Collection,
        shown: &ShownItem,
        missing: Vec<ItemId>,
        inserts: Option<u64>,
    ) {
        // Locked until the item is cached, so that an insert meanwhile finds the reference.
        let mut dangling = (!missing.is_empty()).then(|| self.dangling.lock());
        if let Some(dangling) = &mut dangling {
            if inserts.is_some_and(|inserts| inserts != dangling.inserts) {
                return;
            }
            if dangling.targets.len() >= MAX_DANGLING {
                self.items.clear();
                dangling.targets.clear();
            }
            dangling.targets.extend(missing);
        }
        // It is current, whenever it was read.
        self.items.insert_item(collection, CachedAt::default(), shown.clone());
    }

    fn count(&self, collection: Collection) {
        self.epoch_of(collection).fetch_add(1, Ordering::AcqRel);
    }

    pub fn forget_all(&self) {
        for part in &self.writes {
            *part.lock() += 1;
        }
        let mut dangling = self.dangling.lock();
        self.items.clear();
        dangling.targets.clear();
        drop(dangling);
        for epoch in &self.epochs {
            epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn part_of(&self, id: ItemId) -> MutexGuard<'_, u64> {
        self.writes[usize::try_from(self.hasher.hash_one(id)).unwrap_or_default() % PARTS].lock()
    }

    fn epoch_of(&self, collection: Collection) -> &AtomicU64 {
        &self.epochs[collection.index() % PARTS]
    }
}

/// Returns whether other items go with an item of this collection or show a link to it.
fn has_dependents(collection: Collection) -> bool {
    collection.spec().can_continue
        || collection.children().next().is_some()
        || collection.referrers().next().is_some()
}
