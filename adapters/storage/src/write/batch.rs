//! The writes that leave one row: inserts, updates and restorations, many of which can be done
//! together.

use std::collections::HashSet;
use std::sync::Arc;

use application::{Change, ChangeKind, CollectionContent, NewItem, Replacement, Scope};
use domain::{Collection, ItemId, Version};

use crate::sql::idempotency::KnownBy;
use crate::sql::indexed_columns::Keys;
use crate::write::command::Write;
use crate::write::read_set::touches;

/// An insert, an update, or the restoration of what was removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    pub scope: Scope,
    pub id: ItemId,
    pub references: &'a [Option<ItemId>],
    pub members: &'a Arc<str>,
    pub keys: &'a Keys,
    pub change: &'a Change,
    pub how: RowWriteKind,
}

/// What the two have of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowWriteKind {
    Insert {
        continues: Option<ItemId>,
    },
    /// An insert of what was removed.
    Restore {
        continues: Option<ItemId>,
    },
    Update {
        expected: Version,
        kind: ChangeKind,
    },
}

impl Write {
    /// The write as one that leaves a row, if it is one.
    pub fn as_row(&self) -> Option<RowWrite<'_>> {
        match self {
            Self::Insert { scope, item, keys, change } => {
                Some(RowWrite::insert(*scope, item, keys, change))
            }
            Self::Restore { scope, item, keys, change } => {
                Some(RowWrite::restore(*scope, item, keys, change))
            }
            Self::Update { scope, replacement, keys, kind, change } => {
                Some(RowWrite::update(*scope, replacement, keys, *kind, change))
            }
            Self::Delete { .. } | Self::ReplaceAll { .. } => None,
        }
    }
}

impl<'a> RowWrite<'a> {
    fn insert(scope: Scope, item: &'a NewItem, keys: &'a Keys, change: &'a Change) -> Self {
        let NewItem { id, members, continues, references } = item;
        Self {
            scope,
            id: *id,
            references,
            members,
            keys,
            change,
            how: RowWriteKind::Insert { continues: *continues },
        }
    }

    fn restore(scope: Scope, item: &'a NewItem, keys: &'a Keys, change: &'a Change) -> Self {
        Self {
            how: RowWriteKind::Restore { continues: item.continues },
            ..Self::insert(scope, item, keys, change)
        }
    }

    fn update(
        scope: Scope,
        replacement: &'a Replacement,
        keys: &'a Keys,
        kind: ChangeKind,
        change: &'a Change,
    ) -> Self {
        let Replacement { id, expected, members, references } = replacement;
        Self {
            scope,
            id: *id,
            references,
            members,
            keys,
            change,
            how: RowWriteKind::Update { expected: *expected, kind },
        }
    }

    /// Whether there is an item more afterwards.
    pub fn adds(&self) -> bool {
        matches!(self.how, RowWriteKind::Insert { .. } | RowWriteKind::Restore { .. })
    }
}

/// The updates and inserts of a replacement.
pub(crate) fn in_rows<'a>(
    collection: Collection,
    content: &'a CollectionContent,
    keys: &'a [Keys],
    change: &'a Change,
) -> Vec<RowWrite<'a>> {
    let scope = Scope { collection, parent: None };
    let (of_replacements, of_additions) = keys.split_at(content.replacements.len());
    let replaced = content.replacements.iter().zip(of_replacements);
    let replaced = replaced.map(|(replacement, keys)| {
        RowWrite::update(scope, replacement, keys, ChangeKind::Replaced, change)
    });
    let added = content
        .additions
        .iter()
        .zip(of_additions)
        .map(|(item, keys)| RowWrite::insert(scope, item, keys, change));
    replaced.chain(added).collect()
}

/// How many of the writes, from the first, may be done together: no two of them write the same item
/// or have the same key, and none was decided on what one before it may change.
pub(crate) fn together<'a>(writes: &[RowWrite<'a>]) -> usize {
    let (mut items, mut keys) = (HashSet::with_capacity(writes.len()), HashSet::new());
    let may_join = |(place, write): (usize, &RowWrite<'a>)| {
        let RowWrite { id, change, .. } = *write;
        (change.read_set.is_empty()
            || !writes[..place].iter().any(|before| touches(before, &change.read_set)))
            && items.insert(id)
            && KnownBy::of(change).is_none_or(|key| keys.insert(key))
    };
    writes.iter().enumerate().map(may_join).take_while(|may_join| *may_join).count()
}
