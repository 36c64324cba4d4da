//! Items that stand in no store: those of cases and of trials.

use domain::{Collection, Item, ItemId, Members, Version};
use jiff::Timestamp;
use uuid::Uuid;

/// An item, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct SampleItem {
    pub id: Option<ItemId>,
    pub parent: Option<ItemId>,
    pub members: Members,
}

impl SampleItem {
    /// The item as the lookup of this index would find it at that place.
    pub fn found_by(self, lookup: usize, place: usize) -> Item {
        Item {
            id: self.id.unwrap_or_else(|| made_up_id(((1 + lookup) << 32) + 1 + place)),
            version: Version::FIRST,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            members: self.members.into_encoded(),
            parent: self.parent,
            continues: None,
        }
    }
}

/// The members of an item without `id` and, where it was looked up, without `parent`, which are no
/// members.
pub(crate) fn own_members(
    members: Members,
    collection: Option<Collection>,
    is_looked_up: bool,
) -> Members {
    // What is null is absent in a proposal, and is never stored.
    let drops_nulls = collection == Some(Collection::known("proposals"));
    members.retain(|name, value| {
        name != "id" && !(is_looked_up && name == "parent") && !(drops_nulls && value.is_null())
    })
}

/// The id of an item that has none: always the same, and different from the others'.
pub(crate) fn made_up_id(number: usize) -> ItemId {
    const VERSION_7: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0000;
    ItemId::from_uuid(Uuid::from_u128(VERSION_7 + number as u128))
}
