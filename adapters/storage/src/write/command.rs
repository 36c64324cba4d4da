//! Writes as data: what is to be done, apart from how an engine does it, so that a write can wait
//! in a queue and be run again.

use std::collections::HashMap;

use application::{
    CollectionContent, CollectionWrite, NewItem, Replacement, RepositoryError, Scope, ShownItem,
    WriteMetadata,
};
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, Value};
use uuid::Uuid;

use crate::sql::indexed_columns::Keys;
use crate::sql::row_mapping;
use crate::sql::statements::parent;

/// A write of [`application::ItemRepository`].
#[derive(Debug)]
pub(crate) enum Write {
    Insert {
        scope: Scope,
        item: NewItem,
        keys: Keys,
        metadata: WriteMetadata,
    },
    /// The item was removed before.
    Restore {
        scope: Scope,
        item: NewItem,
        keys: Keys,
        metadata: WriteMetadata,
    },
    Update {
        scope: Scope,
        replacement: Replacement,
        keys: Keys,
        kind: WriteOperation,
        metadata: WriteMetadata,
    },
    Delete {
        scope: Scope,
        id: ItemId,
        expected: Version,
        metadata: WriteMetadata,
    },
    /// The keys are those of the replacements, then of the additions.
    ReplaceAll {
        collection: Collection,
        content: CollectionContent,
        keys: Vec<Keys>,
        metadata: WriteMetadata,
    },
}

impl Write {
    /// Who writes, and when.
    pub const fn metadata(&self) -> &WriteMetadata {
        match self {
            Self::Insert { metadata, .. }
            | Self::Restore { metadata, .. }
            | Self::Update { metadata, .. }
            | Self::Delete { metadata, .. }
            | Self::ReplaceAll { metadata, .. } => metadata,
        }
    }

    /// Bytes of the members it writes.
    pub fn members_length(&self) -> usize {
        match self {
            Self::Insert { item, .. } | Self::Restore { item, .. } => item.members.len(),
            Self::Update { replacement, .. } => 2 * replacement.members.len(),
            Self::Delete { .. } => 0,
            Self::ReplaceAll { content, .. } => {
                let replaced =
                    content.replacements.iter().map(|replacement| 2 * replacement.members.len());
                replaced
                    .chain(content.additions.iter().map(|addition| addition.members.len()))
                    .sum()
            }
        }
    }

    /// How many changes it may leave, not counting what goes with an item that is removed.
    pub fn changes(&self) -> usize {
        match self {
            Self::ReplaceAll { keys, .. } => keys.len() + 1,
            _ => 1,
        }
    }
}

/// How a write ended.
pub(crate) type Answer = Result<Written, RepositoryError>;

/// The state that a write left.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Item(ShownItem),
    Collection(CollectionWrite),
    /// Of a removal.
    Nothing,
}

impl Written {
    /// The item as it now is, where one is left to show.
    pub const fn item(&self) -> Option<&ShownItem> {
        match self {
            Self::Item(shown) => Some(shown),
            Self::Collection(_) | Self::Nothing => None,
        }
    }
}

/// The collections whose writes count in the revision of a whole collection.
pub(crate) fn counted_with(collection: Collection) -> Vec<Collection> {
    let mut counted = vec![collection];
    for referenced in collection.referenced() {
        if !counted.contains(&referenced) {
            counted.push(referenced);
        }
    }
    counted
}

/// `$1` time, `$2` caller: what every deletion begins its parameters with.
pub(crate) fn metadata_values(time: Timestamp, metadata: &WriteMetadata) -> [Value; 2] {
    [time.as_microsecond().into(), metadata.caller.as_deref().map(str::to_owned).into()]
}

/// `$3` id, `$4` collection, `$5` parent, `$6` expected version.
pub(crate) fn delete_values(
    scope: Scope,
    id: ItemId,
    expected: Version,
    time: Timestamp,
    metadata: &WriteMetadata,
) -> Vec<Value> {
    let own: [Value; 4] = [
        id.uuid().into(),
        scope.collection.name().into(),
        parent(scope).into(),
        expected.number().into(),
    ];
    metadata_values(time, metadata).into_iter().chain(own).collect()
}

/// Why an item that should have been at a version was not written.
pub(crate) fn not_written(found: Option<i64>) -> RepositoryError {
    if found.is_some() { RepositoryError::VersionConflict } else { RepositoryError::ItemNotFound }
}

/// The version of every item of a collection, from rows of `id` and `version`.
pub(crate) fn versions(rows: &[QueryResult]) -> Result<HashMap<Uuid, i64>, DbErr> {
    rows.iter()
        .map(|row| Ok((row_mapping::get(row, "id")?, row_mapping::get(row, "version")?)))
        .collect()
}

/// Which of the `current` items a replacement of the whole collection removes, with their versions;
/// or why it cannot be done.
pub(crate) fn removed_by(
    current: &HashMap<Uuid, i64>,
    revision: Option<i64>,
    content: &CollectionContent,
) -> Result<Vec<(ItemId, Version)>, RepositoryError> {
    if content.expected.is_some_and(|expected| revision != Some(expected.0)) {
        return Err(RepositoryError::VersionConflict);
    }
    let mut removed = current.clone();
    for replacement in &content.replacements {
        if removed.remove(&replacement.id.uuid()) != Some(replacement.expected.number()) {
            return Err(RepositoryError::VersionConflict);
        }
    }
    let mut continued = content.additions.iter().filter_map(|addition| addition.continues);
    if continued.any(|id| !current.contains_key(&id.uuid())) {
        return Err(RepositoryError::ItemNotFound);
    }
    Ok(removed
        .into_iter()
        .map(|(id, version)| (ItemId::from_uuid(id), Version::from_number(version)))
        .collect())
}
