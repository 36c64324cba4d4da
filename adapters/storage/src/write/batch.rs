//! The choice of the writes that share a batch.

use std::collections::HashSet;

use application::ReadDependency;

use crate::write::read_set::touches;
use crate::write::row::{RowChange, RowWrite};

/// The most rows of a statement. PostgreSQL joins them without an index, in quadratic time.
const ROWS: usize = 256;

/// The most bytes of members of a statement with several rows: they are copied several times.
const BYTES: usize = 1024 * 1024;

/// Returns the length of the prefix that fits into a statement; a row of any size fits alone.
pub(crate) fn fitting<'a>(rows: impl Iterator<Item = &'a RowChange>) -> usize {
    let mut bytes = 0;
    let fits = |(place, row): &(usize, &RowChange)| {
        bytes += row.members.len();
        *place == 0 || (*place < ROWS && bytes <= BYTES)
    };
    rows.enumerate().take_while(fits).count()
}

pub(crate) fn is_one_statement(writes: &[RowWrite<'_>]) -> bool {
    let has_kind_of_first = |write: &RowWrite<'_>| write.row.kind == writes[0].row.kind;
    let is_alone = |write: &RowWrite<'_>| write.row.key.is_none() && write.row.content.is_none();
    writes.iter().all(|write| has_kind_of_first(write) && is_alone(write))
}

/// Returns the length of the prefix that can share a batch: no two rows have the same item or key,
/// and no row reads another's item. A batch is executed by kind, so its rows may be logged in any
/// order.
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
    let fitting = fitting(writes.iter().map(|write| write.row));
    let writes = writes[..fitting].iter().enumerate();
    writes.map(may_join).take_while(|may_join| *may_join).count()
}
