//! Roles on items, such as the author of a proposal.

use std::sync::Arc;

use domain::Collection;
use language::error::{ErrorCollector, Location};
use language::expression::Variables;
use language::keys::{self, Keys};
use language::yaml::MappingEntry;

use crate::condition::ItemCondition;
use crate::file_format::{ANYONE, ITEM_ROLE, SIGNED_IN};
use crate::reading::keys_of;

/// A role that callers have on the items of a collection, and on items that belong or refer to them.
#[derive(Debug)]
pub(crate) struct ItemRole {
    pub name: Box<str>,
    pub file: Arc<str>,
    pub place: Location,
    pub collection: Collection,
    pub condition: ItemCondition,
}

/// Reads the roles of a file. Names are unique in all files.
pub(crate) fn read_all(
    keys: &Keys<'_>,
    roles: &mut Vec<ItemRole>,
    errors: &mut ErrorCollector<'_>,
) {
    let entries = keys.get("roles").and_then(|node| errors.take(keys::entries(node, "`roles`")));
    for entry in entries.into_iter().flatten() {
        if roles.iter().any(|role| *role.name == *entry.key) {
            let reason = format!("another role has the name `{}`; choose another", entry.key);
            errors.add(entry.place, reason);
        }
        roles.extend(read(entry, errors));
    }
}

fn read(entry: &MappingEntry, errors: &mut ErrorCollector<'_>) -> Option<ItemRole> {
    let MappingEntry { key: name, place, value } = entry;
    if [ANYONE, SIGNED_IN].contains(&name.as_str()) {
        errors
            .add(*place, format!("`{name}` is reserved for callers of that kind; rename the role"));
    }
    let keys = keys_of(value, &ITEM_ROLE, &[], errors)?;
    let condition = ItemCondition::read(&keys, Variables::OF_AN_ITEM, errors);
    let collection = Collection::named(keys.string("group")?)?;
    let name = name.as_str().into();
    Some(ItemRole { name, file: errors.file().clone(), place: *place, collection, condition })
}
