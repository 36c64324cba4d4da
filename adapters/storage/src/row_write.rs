//! The writes that leave one row: inserts and updates, which are done alike and can be done together.

use std::sync::Arc;

use application::{Change, ChangeKind, NewItem, Replacement, Scope};
use domain::{ItemId, Version};
use sea_orm::Value;
use uuid::Uuid;

use crate::write::{Write, insert_values, update_values};

/// An insert or an update.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowWrite<'a> {
    Insert { scope: Scope, item: &'a NewItem, change: &'a Change },
    Update { scope: Scope, replacement: &'a Replacement, kind: ChangeKind, change: &'a Change },
}

impl Write {
    /// The write as an insert or an update, if it is one.
    pub fn as_row(&self) -> Option<RowWrite<'_>> {
        match self {
            Self::Insert { scope, item, change } => Some(RowWrite::Insert { scope: *scope, item, change }),
            Self::Update { scope, replacement, kind, change } => Some(RowWrite::Update { scope: *scope, replacement, kind: *kind, change }),
            Self::Delete { .. } | Self::ReplaceAll { .. } => None,
        }
    }
}

impl<'a> RowWrite<'a> {
    /// The parameters, nine in either case.
    pub fn values(self) -> Vec<Value> {
        match self {
            Self::Insert { scope, item, change } => insert_values(scope, item, change),
            Self::Update { scope, replacement, kind, change } => update_values(scope, replacement, kind, change),
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

    pub const fn members(self) -> &'a Arc<str> {
        match self {
            Self::Insert { item, .. } => &item.members,
            Self::Update { replacement, .. } => &replacement.members,
        }
    }
}
