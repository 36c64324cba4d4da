//! The common part of both engines' full-text indexes: they follow the change log, some changes at a
//! time.
//!
//! A full-text index takes many items at a time far more cheaply than one after the other, and no
//! writer should wait for it. So a write leaves nothing but its change, in its own transaction;
//! `search_progress` says up to which change the index knows the items; and a search waits until
//! that is everything (`search_index/indexer.rs`).

use std::collections::BTreeMap;

use domain::Collection;
use uuid::Uuid;

use crate::search_index::value_counts;

/// Most bytes of members that are indexed at a time, or one item's: what they take in memory, and
/// how long a write waits for them on `SQLite`, must not depend on what clients send.
const BYTES_AT_A_TIME: i64 = 4 * 1024 * 1024;

/// The result of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Up to which change everything is indexed now.
    pub indexed: i64,
    /// The number of changes it took.
    pub changes: usize,
    /// True if more changes are known to wait. If it is true and `changes` is 0, another instance is
    /// indexing.
    pub has_more: bool,
}

/// A change to index.
pub(crate) struct Next {
    pub sequence: i64,
    pub id: Uuid,
    pub item: IndexedItem,
}

/// An item of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexedItem {
    /// The number of its first change.
    pub number: i64,
    pub collection: Collection,
    /// Bytes of its members before its first change of the step, and after its last.
    pub before: i64,
    pub after: i64,
}

impl IndexedItem {
    /// Bytes that are read of it.
    fn bytes(self) -> i64 {
        let before = if value_counts::is_counted(self.collection) { self.before } else { 0 };
        before + self.after
    }
}

/// The changes of a step, and their items: each once, however often it was written.
pub(crate) fn step(indexed: i64, next: &[Next], limit: i64) -> (Step, BTreeMap<Uuid, IndexedItem>) {
    let mut step = Step { indexed, changes: 0, has_more: false };
    let (mut items, mut bytes) = (BTreeMap::new(), 0);
    for change in next {
        let known = items.get(&change.id).copied();
        let is_alone = items.len() == usize::from(known.is_some());
        let item = known.map_or(change.item, |known: IndexedItem| IndexedItem {
            after: change.item.after,
            ..known
        });
        bytes += item.bytes() - known.map_or(0, IndexedItem::bytes);
        if bytes > BYTES_AT_A_TIME && !is_alone {
            break;
        }
        items.insert(change.id, item);
        step.indexed = change.sequence;
        step.changes += 1;
    }
    step.has_more =
        step.changes < next.len() || i64::try_from(next.len()).is_ok_and(|taken| taken >= limit);
    (step, items)
}

#[cfg(test)]
mod tests {
    use domain::Collection;
    use uuid::Uuid;

    use super::{BYTES_AT_A_TIME, IndexedItem, Next, step};

    const FILES: Collection = Collection::known("files");

    #[test]
    fn a_step_takes_as_many_changes_as_fit_and_one_at_least() {
        const HALF: i64 = BYTES_AT_A_TIME / 2;
        const HUGE: i64 = BYTES_AT_A_TIME * 2;
        for (what, items, taken, has_more) in [
            ("all", &[(1, HALF), (2, HALF)][..], 2, false),
            (
                "an item that was written twice counts once",
                &[(1, HALF), (1, HALF), (1, HALF), (2, HALF)],
                4,
                false,
            ),
            ("what does not fit waits", &[(1, HALF), (2, HALF), (3, 1), (4, 1)], 2, true),
            ("one is taken regardless of its size", &[(1, HUGE), (1, HUGE), (2, 1)], 2, true),
            ("a full step has more", &[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)], 5, true),
            ("nothing", &[], 0, false),
        ] {
            let next = |(sequence, (id, bytes)): (usize, &(u128, i64))| Next {
                sequence: 11 + i64::try_from(sequence).unwrap(),
                id: Uuid::from_u128(*id),
                item: IndexedItem { number: 1, collection: FILES, before: 0, after: *bytes },
            };
            let next: Vec<_> = items.iter().enumerate().map(next).collect();
            let (step, _) = step(10, &next, 5);
            assert_eq!(
                (step.changes, step.indexed, step.has_more),
                (taken, 10 + i64::try_from(taken).unwrap(), has_more),
                "{what}"
            );
        }
    }

    #[test]
    fn the_members_before_count_where_they_are_read() {
        const HALF: i64 = BYTES_AT_A_TIME / 2 + 1;
        for (collection, taken) in [(FILES, 1), (Collection::known("status"), 2)] {
            let removal = |sequence| Next {
                sequence,
                id: Uuid::from_u128(sequence.unsigned_abs().into()),
                item: IndexedItem { number: 1, collection, before: HALF, after: 0 },
            };
            assert_eq!(step(0, &[removal(1), removal(2)], 5).0.changes, taken, "{collection:?}");
        }
    }
}
