//! The choice of the writes that are done together.

use std::collections::HashSet;

use application::ReadDependency;

use crate::write::read_set::touches;
use crate::write::row::RowWrite;

/// Counts the writes, from the first, that may be done together: no two of them write the same item
/// or have the same key, and none was decided on what another may change: they stand in the change
/// log in any order.
pub(crate) fn together<'a>(writes: &[RowWrite<'a>]) -> usize {
    let (mut items, mut keys) = (HashSet::with_capacity(writes.len()), HashSet::new());
    let mut read_sets: Vec<&'a [ReadDependency]> = Vec::new();
    let mut updates_have_keys = None;
    let may_join = |(place, write): (usize, &RowWrite<'a>)| {
        let RowWrite { row, metadata } = *write;
        let is_read = read_sets.iter().any(|read_set| touches(row, read_set));
        let reads = !metadata.read_set.is_empty();
        let reads_before =
            reads && writes[..place].iter().any(|before| touches(before.row, &metadata.read_set));
        if reads {
            read_sets.push(&metadata.read_set);
        }
        // A statement locks its items in one order for all. Updates with keys and without are two
        // statements, so two batches that have both could lock the same items crosswise.
        let has_key = metadata.key.is_some();
        let is_alike = row.adds() || *updates_have_keys.get_or_insert(has_key) == has_key;
        !is_read
            && !reads_before
            && is_alike
            && items.insert(row.id)
            && metadata.key_identity().is_none_or(|key| keys.insert(key))
    };
    writes.iter().enumerate().map(may_join).take_while(|may_join| *may_join).count()
}
