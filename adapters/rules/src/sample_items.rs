//! Sample items of cases and trials, which are not in a store.

use domain::{Collection, Item, ItemId, Members, Version};
use jiff::Timestamp;
use language::sample::made_up_id;

#[derive(Clone, Debug)]
pub(crate) struct SampleItem {
    pub id: Option<ItemId>,
    pub parent: Option<ItemId>,
    pub members: Members,
}

impl SampleItem {
    pub fn found_by(self, lookup: usize, place: usize) -> Item {
        Item {
            id: self.id.unwrap_or_else(|| id_found_by(lookup, place)),
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

/// Returns the id of an item that is given without one.
pub(crate) fn id_found_by(lookup: usize, place: usize) -> ItemId {
    made_up_id(((1 + lookup) << 32) + 1 + place)
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
