//! The writes that leave one row: inserts, updates and restorations.

use std::sync::Arc;

use application::{NewItem, Replacement, Scope, WriteMetadata};
use domain::{ItemId, Version, WriteOperation};

use crate::sql::indexed_columns::Keys;
use crate::write::condition::{self, Conditions};

/// A row to be inserted, restored or updated.
#[derive(Debug)]
pub(crate) struct RowChange {
    pub scope: Scope,
    pub id: ItemId,
    pub references: Vec<Option<ItemId>>,
    pub members: Arc<str>,
    pub keys: Keys,
    pub kind: RowChangeKind,
}

/// The parts of a row change that depend on its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowChangeKind {
    Insert {
        continues: Option<ItemId>,
    },
    /// An insert of an item that was removed.
    Restore {
        continues: Option<ItemId>,
    },
    Update {
        expected: Version,
        operation: WriteOperation,
    },
}

impl RowChangeKind {
    /// The conditions on which it is made.
    pub const fn conditions(self) -> &'static Conditions {
        match self {
            Self::Insert { .. } => &condition::INSERT,
            Self::Restore { .. } => &condition::RESTORE,
            Self::Update { .. } => &condition::UPDATE_OR_DELETE,
        }
    }
}

/// A row change, with who makes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    pub row: &'a RowChange,
    pub metadata: &'a WriteMetadata,
}

impl RowChange {
    pub fn insert(scope: Scope, item: NewItem) -> Self {
        let NewItem { id, members, continues, references } = item;
        let keys = Keys::of(scope.collection, &members);
        Self { scope, id, references, members, keys, kind: RowChangeKind::Insert { continues } }
    }

    pub fn restore(scope: Scope, item: NewItem) -> Self {
        let kind = RowChangeKind::Restore { continues: item.continues };
        Self { kind, ..Self::insert(scope, item) }
    }

    pub fn update(scope: Scope, replacement: Replacement, operation: WriteOperation) -> Self {
        let Replacement { id, expected, members, references } = replacement;
        let keys = Keys::of(scope.collection, &members);
        let kind = RowChangeKind::Update { expected, operation };
        Self { scope, id, references, members, keys, kind }
    }

    /// Returns whether there is one more item afterwards.
    pub const fn adds(&self) -> bool {
        !matches!(self.kind, RowChangeKind::Update { .. })
    }

    /// Bytes of the members it writes: an update also logs those it supersedes.
    pub fn members_length(&self) -> usize {
        if self.adds() { self.members.len() } else { 2 * self.members.len() }
    }
}
