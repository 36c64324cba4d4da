//! References: members that hold the identifier of an item of another collection. `items` has a
//! column for the one of a collection, so that a link is shown exactly while its target exists.

use application::ShownItem;
use domain::{Collection, ItemId};
use uuid::Uuid;

/// The identifiers in an item's members that are no links, because there are no such items.
pub(crate) fn missing(collection: Collection, shown: &ShownItem) -> Vec<ItemId> {
    match shown.links.reference(0) {
        Some(_) => Vec::new(),
        None => collection.references_in(&shown.item.members).into_iter().flatten().collect(),
    }
}

/// The value of `reference_0`.
pub(crate) fn column(references: &[Option<ItemId>]) -> Option<Uuid> {
    references.first().copied().flatten().map(ItemId::uuid)
}

#[cfg(test)]
mod tests {
    use domain::Collection;

    const COLUMNS: [&str; 1] = ["reference_0"];

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
