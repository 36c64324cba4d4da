//! A small, made-up set of items whose identifiers are those of the documentation's examples, so
//! that every "Try it out" works untouched.

use application::DemonstrationItem;
use domain::{ItemId, Members};

use crate::group::Group;
use crate::groups::for_each_group;
use crate::openapi::example_members;

/// Returns one item per group.
#[must_use]
pub fn demonstration_items() -> Vec<DemonstrationItem> {
    let mut items = Vec::new();
    macro_rules! add {
        ($($group:path,)*) => { $(items.extend(item::<$group>());)* };
    }
    for_each_group!(add);
    items
}

fn item<G: Group>() -> Option<DemonstrationItem> {
    Some(DemonstrationItem {
        collection: G::COLLECTION,
        parent: G::OWNER.and_then(|owner| ItemId::parse(owner.example_id)),
        id: ItemId::parse(G::EXAMPLE_ID)?,
        members: Members::read(example_members::<G>().as_bytes()).ok().flatten()?,
    })
}

#[cfg(test)]
mod tests {
    use super::demonstration_items;

    #[test]
    fn every_group_has_an_item() {
        assert_eq!(demonstration_items().len(), 9);
    }
}
