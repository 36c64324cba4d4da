//! A change as it is exported and imported.

use std::sync::Arc;

use application::{ChangeAuthor, Sequence};
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;

/// A change with the members that it left: all there is to know of one version of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// Its number in the log.
    pub sequence: Sequence,
    /// The collection of the item.
    pub collection: Collection,
    /// The item that was written.
    pub item: ItemId,
    /// The version it was given; a deletion takes one too.
    pub version: Version,
    /// The kind of write.
    pub kind: WriteOperation,
    /// The time of the write.
    pub time: Timestamp,
    /// By whom.
    pub author: ChangeAuthor,
    /// The item it belongs to.
    pub parent: Option<ItemId>,
    /// The item it continues.
    pub continues: Option<ItemId>,
    /// Its members after the change as compact JSON text of an object; none after a deletion, or where
    /// they were removed.
    pub members: Option<Arc<str>>,
    /// When they were removed, if they were.
    pub removed_at: Option<Timestamp>,
}

/// A change that can follow those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedChange {
    /// The change.
    pub record: ChangeRecord,
    /// When the item was first created, though it may have been deleted and restored since.
    pub created_at: Timestamp,
    /// By whom; `None` for an anonymous caller.
    pub created_by: Option<String>,
}

impl CheckedChange {
    /// The approximate number of bytes it takes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.record.members.as_deref().map_or(0, str::len)
    }
}
