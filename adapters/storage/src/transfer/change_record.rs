//! A change as it is exported and imported.

use std::sync::Arc;

use application::{ChangeAuthor, Sequence};
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;

/// A change with the members that it left: a whole version of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    pub sequence: Sequence,
    pub collection: Collection,
    pub item: ItemId,
    pub version: Version,
    pub kind: WriteOperation,
    pub time: Timestamp,
    pub author: ChangeAuthor,
    pub parent: Option<ItemId>,
    pub continues: Option<ItemId>,
    /// A compact JSON object; `None` after a deletion, or if the members were removed.
    pub members: Option<Arc<str>>,
    pub removed_at: Option<Timestamp>,
}

/// A change that can follow those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedChange {
    pub record: ChangeRecord,
    /// When the item was first created; it may have been deleted and restored since.
    pub created_at: Timestamp,
    pub created_by: Option<String>,
}

impl CheckedChange {
    /// The approximate size in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.record.members.as_deref().map_or(0, str::len)
    }
}
