//! The writes that leave one row: inserts, updates and restorations, many of which can be done
//! together.

use std::collections::HashSet;
use std::sync::Arc;

use application::{CollectionContent, NewItem, Replacement, Scope, WriteMetadata};
use domain::{Collection, ItemId, Version, WriteOperation};

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
    pub metadata: &'a WriteMetadata,
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
        kind: WriteOperation,
    },
}

impl Write {
    /// The write as one that leaves a row, if it is one.
    pub fn as_row(&self) -> Option<RowWrite<'_>> {
        match self {
            Self::Insert { scope, item, keys, metadata } => {
                Some(RowWrite::insert(*scope, item, keys, metadata))
            }
            Self::Restore { scope, item, keys, metadata } => {
                Some(RowWrite::restore(*scope, item, keys, metadata))
            }
            Self::Update { scope, replacement, keys, kind, metadata } => {
                Some(RowWrite::update(*scope, replacement, keys, *kind, metadata))
            }
            Self::Delete { .. } | Self::ReplaceAll { .. } => None,
        }
    }
}

impl<'a> RowWrite<'a> {
    fn insert(
        scope: Scope,
        item: &'a NewItem,
        keys: &'a Keys,
        metadata: &'a WriteMetadata,
    ) -> Self {
        let NewItem { id, members, continues, references } = item;
        Self {
            scope,
            id: *id,
            references,
            members,
            keys,
            metadata,
            how: RowWriteKind::Insert { continues: *continues },
        }
    }

    fn restore(
        scope: Scope,
        item: &'a NewItem,
        keys: &'a Keys,
        metadata: &'a WriteMetadata,
    ) -> Self {
        Self {
            how: RowWriteKind::Restore { continues: item.continues },
            ..Self::insert(scope, item, keys, metadata)
        }
    }

    fn update(
        scope: Scope,
        replacement: &'a Replacement,
        keys: &'a Keys,
        kind: WriteOperation,
        metadata: &'a WriteMetadata,
    ) -> Self {
        let Replacement { id, expected, members, references } = replacement;
        Self {
            scope,
            id: *id,
            references,
            members,
            keys,
            metadata,
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
    metadata: &'a WriteMetadata,
) -> Vec<RowWrite<'a>> {
    let scope = Scope { collection, parent: None };
    let (of_replacements, of_additions) = keys.split_at(content.replacements.len());
    let replaced = content.replacements.iter().zip(of_replacements);
    let replaced = replaced.map(|(replacement, keys)| {
        RowWrite::update(scope, replacement, keys, WriteOperation::Replace, metadata)
    });
    let added = content
        .additions
        .iter()
        .zip(of_additions)
        .map(|(item, keys)| RowWrite::insert(scope, item, keys, metadata));
    replaced.chain(added).collect()
}

/// How many of the writes, from the first, may be done together: no two of them write the same item
/// or have the same key, and none was decided on what one before it may change.
pub(crate) fn together<'a>(writes: &[RowWrite<'a>]) -> usize {
    let (mut items, mut keys) = (HashSet::with_capacity(writes.len()), HashSet::new());
    let may_join = |(place, write): (usize, &RowWrite<'a>)| {
        let RowWrite { id, metadata, .. } = *write;
        (metadata.read_set.is_empty()
            || !writes[..place].iter().any(|before| touches(before, &metadata.read_set)))
            && items.insert(id)
            && metadata.key_identity().is_none_or(|key| keys.insert(key))
    };
    writes.iter().enumerate().map(may_join).take_while(|may_join| *may_join).count()
}
