//! Writes as data: what is to be done, apart from how an engine does it, so that a write can wait
//! in a queue and be run again.

use std::collections::HashMap;
use std::iter;

use application::{
    CollectionContent, CollectionWrite, IdempotencyKey, ItemChange, ItemChangeKind,
    RepositoryError, Revision, Scope, ShownItem, WriteMetadata,
};
use domain::{Collection, ItemId, Version, WriteOperation};
use uuid::Uuid;

use crate::write::row::{RowChange, RowChangeKind};

/// A write of [`application::ItemRepository`].
#[derive(Debug)]
pub(crate) struct Write {
    pub change: Change,
    pub metadata: WriteMetadata,
}

/// The change that a write makes.
#[derive(Debug)]
pub(crate) enum Change {
    Row(RowChange),
    /// Inserts and updates, all or none.
    Rows(Vec<RowOfMany>),
    Delete(Deletion),
    ReplaceAll(ContentChange),
}

/// One of the rows that are written together, with its own key.
#[derive(Debug)]
pub(crate) struct RowOfMany {
    pub row: RowChange,
    pub key: Option<IdempotencyKey>,
    pub remarks: Box<str>,
}

impl RowOfMany {
    pub fn new(collection: Collection, change: ItemChange) -> Self {
        let ItemChange { parent, kind, key, remarks } = change;
        let scope = Scope { collection, parent };
        let row = match kind {
            ItemChangeKind::Insert(item) => RowChange::insert(scope, item),
            ItemChangeKind::Update(replacement) => {
                RowChange::update(scope, replacement, WriteOperation::Replace)
            }
        };
        Self { row, key, remarks }
    }
}

/// The deletion of an item, and of the items that belong to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deletion {
    pub scope: Scope,
    pub id: ItemId,
    pub expected: Version,
}

/// The replacement of a whole collection: updates, then inserts; other items are removed.
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

    /// The collections whose writes count in the revisions.
    pub fn counted(&self) -> impl Iterator<Item = Collection> {
        iter::once(self.collection).chain(self.related.iter().copied())
    }
}

impl Write {
    /// The metadata of the rows of a write of many: its own conditions are the whole write's.
    pub fn row_metadata(&self) -> WriteMetadata {
        WriteMetadata { key: None, read_set: Vec::new(), ..self.metadata.clone() }
    }

    /// The metadata of each of these rows, which it writes.
    pub fn metadata_of(&self, rows: &[RowOfMany]) -> Vec<WriteMetadata> {
        let own = |RowOfMany { key, remarks, .. }: &RowOfMany| WriteMetadata {
            key: key.clone(),
            remarks: remarks.clone(),
            ..self.row_metadata()
        };
        rows.iter().map(own).collect()
    }

    /// Bytes of the members it writes.
    pub fn members_length(&self) -> usize {
        match &self.change {
            Change::Row(row) => row.members_length(),
            Change::Delete(_) => 0,
            Change::Rows(rows) => rows.iter().map(|many| many.row.members_length()).sum(),
            Change::ReplaceAll(content) => content.rows.iter().map(RowChange::members_length).sum(),
        }
    }

    /// Counts the changes it may leave, not counting what goes with an item that is removed.
    pub const fn changes(&self) -> usize {
        match &self.change {
            Change::Rows(rows) => rows.len(),
            Change::ReplaceAll(content) => content.rows.len() + 1,
            Change::Row(_) | Change::Delete(_) => 1,
        }
    }
}

/// The end of a write.
pub(crate) type Answer = Result<Written, RepositoryError>;

/// The state that a write left.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Item(ShownItem),
    Collection(CollectionWrite),
    /// Of a removal, and of many rows.
    Nothing,
}

/// The `current` items that a replacement of the whole collection removes, with their versions; or
/// why it cannot be done.
pub(crate) fn removed_by(
    current: &HashMap<Uuid, i64>,
    revision: i64,
    content: &ContentChange,
) -> Result<Vec<(ItemId, Version)>, RepositoryError> {
    if content.expected.is_some_and(|expected| expected.0 != revision) {
        return Err(RepositoryError::VersionConflict);
    }
    let mut removed = current.clone();
    for row in &content.rows {
        match row.kind {
            RowChangeKind::Update { expected, .. } => {
                if removed.remove(&row.id.uuid()) != Some(expected.number()) {
                    return Err(RepositoryError::VersionConflict);
                }
            }
            RowChangeKind::Insert { continues } | RowChangeKind::Restore { continues } => {
                if continues.is_some_and(|id| !current.contains_key(&id.uuid())) {
                    return Err(RepositoryError::ItemNotFound);
                }
            }
        }
    }
    let removed = removed.into_iter();
    Ok(removed
        .map(|(id, version)| (ItemId::from_uuid(id), Version::from_number(version)))
        .collect())
}
