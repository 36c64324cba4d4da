//! Sample items of cases and trials, which are not in a store.

use domain::{Collection, Item, ItemId, Members, Version};
use jiff::Timestamp;
use uuid::Uuid;

#[derive(Clone, Debug)]
pub(crate) struct SampleItem {
    pub id: Option<ItemId>,
    pub parent: Option<ItemId>,
    pub members: Members,
}

impl SampleItem {
    pub fn found_by(self, lookup: usize, place: usize) -> Item {
        Item {
            id: self.id.unwrap_or_else(|| made_up_id(((1 + lookup) << 32) + 1 + place)),
            version: Version::FIRST,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            members: self.members.into_encoded(),
            parent: self.parent,
            continues: None,
            created_by: None,
        }
    }
}

/// Removes `id` and, for a result of a lookup, `parent`: they are not members.
pub(crate) fn own_members(
    members: Members,
    collection: Option<Collection>,
    is_looked_up: bool,
) -> Members {
    // Null means absent in a proposal and is never stored.
    let drops_nulls = collection == Some(Collection::known("proposals"));
    members.retain(|name, value| {
        name != "id" && !(is_looked_up && name == "parent") && !(drops_nulls && value.is_null())
    })
}

/// Returns a deterministic id, unique for each number.
pub(crate) fn made_up_id(number: usize) -> ItemId {
    const VERSION_7: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0000;
    ItemId::from_uuid(Uuid::from_u128(VERSION_7 + number as u128))
}
