//! Made-up items with the ids of the documentation's examples, so "Try it out" works unchanged.

use application::DemonstrationItem;
use domain::{ItemId, Members};

use crate::groups::{GROUPS, Group};

pub fn demonstration_items() -> Vec<DemonstrationItem> {
    GROUPS.iter().filter_map(item).collect()
}

fn item(group: Group) -> Option<DemonstrationItem> {
    Some(DemonstrationItem {
        collection: group.collection,
        parent: group.parent().and_then(|parent| ItemId::parse(parent.example_id)),
        id: ItemId::parse(group.example_id)?,
        members: Members::read(group.example().as_bytes()).ok().flatten()?,
    })
}
