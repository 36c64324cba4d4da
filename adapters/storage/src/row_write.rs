//! The writes that leave one row: inserts and updates, which are done alike and can be done together.

use std::sync::Arc;

use application::{Change, ChangeKind, CollectionContent, NewItem, Replacement, Scope};
use domain::{Collection, ItemId, Version};
use sea_orm::Value;
use uuid::Uuid;

use crate::write::{Write, insert_values, update_values};

/// An insert or an update.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowWrite<'a> {
    Insert { scope: Scope, item: &'a NewItem, words: &'a str, change: &'a Change },
    Update { scope: Scope, replacement: &'a Replacement, words: &'a str, kind: ChangeKind, change: &'a Change },
}

impl Write {
    /// The write as an insert or an update, if it is one.
    pub fn as_row(&self) -> Option<RowWrite<'_>> {
        match self {
            Self::Insert { scope, item, words, change } => Some(RowWrite::Insert { scope: *scope, item, words, change }),
            Self::Update { scope, replacement, words, kind, change } => {
                Some(RowWrite::Update { scope: *scope, replacement, words, kind: *kind, change })
            }
            Self::Delete { .. } | Self::ReplaceAll { .. } => None,
        }
    }
}

impl<'a> RowWrite<'a> {
    /// The parameters, ten in either case.
    pub fn values(self) -> Vec<Value> {
        match self {
            Self::Insert { scope, item, words, change } => insert_values(scope, item, words, change),
            Self::Update { scope, replacement, words, kind, change } => update_values(scope, replacement, words, kind, change),
        }
    }

    pub const fn is_insert(self) -> bool {
        matches!(self, Self::Insert { .. })
    }

    pub const fn scope(self) -> Scope {
        match self {
            Self::Insert { scope, .. } | Self::Update { scope, .. } => scope,
        }
    }

    pub const fn id(self) -> ItemId {
        match self {
            Self::Insert { item, .. } => item.id,
            Self::Update { replacement, .. } => replacement.id,
        }
    }

    /// The row it leaves: no other write leaves the same item at the same version.
    pub const fn left(self) -> (Uuid, i64) {
        let version = match self {
            Self::Insert { .. } => Version::FIRST,
            Self::Update { replacement, .. } => replacement.expected.next(),
        };
        (self.id().uuid(), version.number())
    }

    pub const fn words(self) -> &'a str {
        match self {
            Self::Insert { words, .. } | Self::Update { words, .. } => words,
        }
    }

    pub const fn change(self) -> &'a Change {
        match self {
            Self::Insert { change, .. } | Self::Update { change, .. } => change,
        }
    }

    pub const fn program(self) -> Option<ItemId> {
        match self {
            Self::Insert { item, .. } => item.program,
            Self::Update { replacement, .. } => replacement.program,
        }
    }

    pub const fn members(self) -> &'a Arc<str> {
        match self {
            Self::Insert { item, .. } => &item.members,
            Self::Update { replacement, .. } => &replacement.members,
        }
    }
}

/// The updates and inserts of a replacement.
pub(crate) fn in_rows<'a>(
    collection: Collection,
    content: &'a CollectionContent,
    words: &'a [String],
    change: &'a Change,
) -> Vec<RowWrite<'a>> {
    let (scope, kind) = (Scope { collection, parent: None }, ChangeKind::Replaced);
    let (of_replacements, of_additions) = words.split_at(content.replacements.len());
    let replaced = content.replacements.iter().zip(of_replacements);
    let replaced = replaced.map(|(replacement, words)| RowWrite::Update { scope, replacement, words, kind, change });
    let added = content.additions.iter().zip(of_additions).map(|(item, words)| RowWrite::Insert { scope, item, words, change });
    replaced.chain(added).collect()
}
