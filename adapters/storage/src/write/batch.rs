//! The choice of the writes that share a batch.

use std::collections::HashSet;

use application::ReadDependency;

use crate::write::read_set::touches;
use crate::write::row::RowWrite;

/// Returns the length of the prefix that can share a batch: no two rows write the same item or have
/// the same key, and none reads what another writes. Statements of a batch are grouped by kind, so
/// its rows may be logged in any order.
pub(crate) fn together<'a>(writes: &[RowWrite<'a>]) -> usize {
    let (mut items, mut keys) = (HashSet::with_capacity(writes.len()), HashSet::new());
    let mut read_sets: Vec<&'a [ReadDependency]> = Vec::new();
    let may_join = |(place, write): (usize, &RowWrite<'a>)| {
        let RowWrite { row, metadata } = *write;
        let is_read = read_sets.iter().any(|read_set| touches(row, read_set));
        let reads = !metadata.read_set.is_empty();
        let reads_before =
            reads && writes[..place].iter().any(|before| touches(before.row, &metadata.read_set));
        if reads {
            read_sets.push(&metadata.read_set);
        }
        !is_read
            && !reads_before
            && items.insert(row.id)
            && write.key_identity().is_none_or(|key| keys.insert(key.map(str::to_owned)))
    };
    writes.iter().enumerate().map(may_join).take_while(|may_join| *may_join).count()
}
