//! References: members that hold the identifier of an item of another collection. Each has a column
//! of `items`, so that a link is shown exactly while its target exists.

use application::ShownItem;
use domain::{Collection, ItemId, Value};
use uuid::Uuid;

/// The columns, in the order of a collection's references.
pub(crate) const COLUMNS: [&str; 1] = ["reference_0"];

/// The identifiers that an item's members hold and that are no links, because there are no such
/// items.
pub(crate) fn missing(collection: Collection, shown: &ShownItem) -> Vec<ItemId> {
    let references = collection.spec().references.iter().enumerate();
    let is_no_link = |index| shown.links.reference(index).is_none();
    references
        .filter(|(index, _)| is_no_link(*index))
        .filter_map(|(_, reference)| id_in(&shown.item.members, reference.member))
        .collect()
}

fn id_in(members: &str, name: &str) -> Option<ItemId> {
    ItemId::parse(&Value::from_encoded(members).member(name)?.as_string()?)
}

/// The values of the columns.
pub(crate) fn values(references: &[Option<ItemId>]) -> [Option<Uuid>; COLUMNS.len()] {
    std::array::from_fn(|index| references.get(index).copied().flatten().map(ItemId::uuid))
}

/// The links of an item without the empty ones at the end.
pub(crate) fn trimmed(mut links: Vec<Option<ItemId>>) -> Vec<Option<ItemId>> {
    let length = links.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    links.truncate(length);
    links
}

#[cfg(test)]
mod tests {
    use domain::Collection;

    use super::COLUMNS;

    #[test]
    fn every_reference_has_a_column() {
        for collection in Collection::all() {
            let count = collection.spec().references.len();
            assert!(
                count <= COLUMNS.len(),
                "{collection:?} has {count} references, and `items` has columns for {}: add a \
                 migration that adds `reference_{}` to `items` and `idempotency_keys`, the field to \
                 `check_tables.sql`, and its name to `COLUMNS`",
                COLUMNS.len(),
                COLUMNS.len(),
            );
        }
    }
}
