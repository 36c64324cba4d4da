//! Writes as data, so that a write can wait in a queue and be executed again.

use std::collections::HashMap;

use application::ports::{
    CollectionContent, CollectionWrite, RepositoryError, Result, Revision, Scope, ShownItem,
    WriteMetadata,
};
use domain::{Collection, ItemId, Version, WriteOperation};
use uuid::Uuid;

use crate::write::row::{RowChange, RowKind, RowWrite};

#[derive(Debug)]
pub(crate) struct Write {
    pub change: Change,
    pub metadata: WriteMetadata,
}

#[derive(Debug)]
pub(crate) enum Change {
    Row(Box<RowChange>),
    /// Inserts and updates, all or none.
    Rows(Vec<RowChange>),
    ReplaceAll(ContentChange),
}

/// The replacement of a whole collection: updates, then inserts; other items are deleted.
#[derive(Debug)]
pub(crate) struct ContentChange {
    pub collection: Collection,
    pub rows: Vec<RowChange>,
    pub expected: Option<Revision>,
    /// The other collections whose writes count in the revisions.
    pub related: Vec<Collection>,
}

impl ContentChange {
    pub fn new(collection: Collection, content: CollectionContent) -> Self {
        let scope = Scope { collection, parent: None };
        let CollectionContent { replacements, additions, expected, related } = content;
        let updates = replacements
            .into_iter()
            .map(|replacement| RowChange::update(scope, replacement, WriteOperation::Replace));
        let inserts = additions.into_iter().map(|item| RowChange::insert(scope, item));
        Self { collection, rows: updates.chain(inserts).collect(), expected, related }
    }

    /// The deletions of `current` items (id and version) without a replacement, or the refusal.
    pub fn deletions(
        &self,
        mut current: HashMap<Uuid, i64>,
        revision: i64,
    ) -> Result<Vec<RowChange>> {
        if self.expected.is_some_and(|expected| expected.0 != revision) {
            return Err(RepositoryError::VersionConflict);
        }
        let continued = self.rows.iter().filter_map(|row| row.continues);
        for id in continued {
            current.get(&id.uuid()).ok_or(RepositoryError::ItemNotFound)?;
        }
        for row in self.rows.iter().filter(|row| row.kind == RowKind::Update) {
            if current.remove(&row.id.uuid()) != row.expected.map(Version::number) {
                return Err(RepositoryError::VersionConflict);
            }
        }
        let scope = Scope { collection: self.collection, parent: None };
        let deletion = |(id, version)| {
            RowChange::delete(scope, ItemId::from_uuid(id), Version::from_number(version))
        };
        Ok(current.into_iter().map(deletion).collect())
    }
}

impl Write {
    pub fn new(change: Change, mut metadata: WriteMetadata) -> Self {
        let change = match change {
            Change::Row(mut row) => {
                // `RowWrite::key_identity` finds it there.
                row.key = metadata.key.take();
                row.remarks = std::mem::take(&mut metadata.remarks);
                Change::Row(row)
            }
            change => change,
        };
        Self { change, metadata }
    }

    /// The row of a write of a single one.
    pub fn row(&self) -> Option<RowWrite<'_>> {
        let Change::Row(row) = &self.change else { return None };
        Some(RowWrite { row, metadata: &self.metadata })
    }

    pub fn rows(&self) -> &[RowChange] {
        match &self.change {
            Change::Row(row) => std::slice::from_ref(&**row),
            Change::Rows(rows) | Change::ReplaceAll(ContentChange { rows, .. }) => rows,
        }
    }
}

pub(crate) type Answer = Result<Written>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Item(ShownItem),
    Collection(CollectionWrite),
    /// Of a deletion, and of many rows.
    Nothing,
}
