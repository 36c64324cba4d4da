//! What both engines' full-text indexes have in common: they follow the change log, some changes at a time.
//!
//! A full-text index takes many items at a time far more cheaply than one after the other, and no writer should wait for
//! it. So a write leaves nothing but its change, in its own transaction; `search_progress` says up to which change the
//! index knows the items; and a search waits until that is everything (`indexer.rs`).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sea_orm::DbBackend;
use uuid::Uuid;

use crate::index_text::index_text;

/// The items of the next changes, with their members as they are now, if they still exist; and their first change, whose
/// number `SQLite` knows an item by.
pub(crate) const NEXT: &str = "SELECT c.sequence, f.sequence AS number, c.item_id AS id, CAST(i.members AS TEXT) AS members \
                               FROM (SELECT sequence, item_id FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2) c \
                               JOIN changes f ON f.item_id = c.item_id AND f.version = 1 \
                               LEFT JOIN items i ON i.id = c.item_id ORDER BY c.sequence";

/// Up to which change everything is indexed, and the last one that is known.
pub(crate) const PROGRESS: &str = "SELECT p.sequence AS indexed, COALESCE((SELECT MAX(c.sequence) FROM changes c), 0) AS written \
                                   FROM search_progress p";

/// Notes up to which change everything is indexed.
pub(crate) const ADVANCE: &str = "UPDATE search_progress SET sequence = $1";

/// What a step did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Up to which change everything is indexed now.
    pub indexed: i64,
    /// How many changes it took.
    pub changes: usize,
}

/// A row of [`NEXT`].
pub(crate) struct Next {
    pub sequence: i64,
    pub number: i64,
    pub id: Uuid,
    pub members: Option<String>,
}

/// An item to be indexed.
pub(crate) struct Indexed {
    /// Its number in `SQLite`'s index.
    pub number: i64,
    /// Its words as the engine takes them; `None` when it no longer exists.
    pub words: Option<String>,
}

/// Each item of the changes once, however often it was written.
pub(crate) fn items(backend: DbBackend, next: Vec<Next>) -> BTreeMap<Uuid, Indexed> {
    let mut items = BTreeMap::new();
    for Next { number, id, members, .. } in next {
        if let Entry::Vacant(item) = items.entry(id) {
            item.insert(Indexed { number, words: members.map(|members| index_text(backend, &members)) });
        }
    }
    items
}
