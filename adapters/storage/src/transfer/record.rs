//! A change as it is stored.

use std::sync::Arc;

use application::maintenance::ChangeRecord;
use application::{ChangeKind, Sequence};
use domain::{Collection, ItemId, Version};
use jiff::Timestamp;
use uuid::Uuid;

use super::CopyError;

/// A row of the log, with the members that its change left.
pub(super) struct Row {
    pub sequence: i64,
    pub collection: String,
    pub item: Uuid,
    pub version: i64,
    pub kind: String,
    pub time: i64,
    pub caller: Option<String>,
    pub parent: Option<Uuid>,
    pub predecessor: Option<Uuid>,
    pub members: Option<String>,
}

impl Row {
    /// The change, if the row makes sense.
    pub fn into_record(self) -> Result<ChangeRecord, CopyError> {
        let kind = ChangeKind::named(&self.kind)
            .ok_or_else(|| CopyError::not_understood("kind", &self.kind))?;
        let item = ItemId::from_uuid(self.item);
        if kind != ChangeKind::Deleted && self.members.is_none() {
            return Err(CopyError::Incomplete { item: item.to_string(), version: self.version });
        }
        Ok(ChangeRecord {
            sequence: Sequence(self.sequence),
            collection: Collection::named(&self.collection)
                .ok_or_else(|| CopyError::not_understood("collection", &self.collection))?,
            item,
            version: Version::from_number(self.version),
            kind,
            time: Timestamp::from_microsecond(self.time)
                .map_err(|error| CopyError::not_understood("time", error))?,
            caller: self.caller,
            parent: self.parent.map(ItemId::from_uuid),
            continues: self.predecessor.map(ItemId::from_uuid),
            members: self.members.filter(|_| kind != ChangeKind::Deleted).map(Arc::from),
        })
    }
}
