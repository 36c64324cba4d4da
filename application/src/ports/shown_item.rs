//! An item with its links, as representations show it.

use domain::{Item, ItemId, RelationKind};

/// The links in an item's representation. Links to deleted items are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Links {
    /// The item it continues.
    pub continues: Option<ItemId>,
    /// The items that continue it, oldest first.
    pub continued_by: Vec<ItemId>,
    /// The items it refers to, in the order of its collection's references; trailing ones may be
    /// left out.
    pub references: Vec<Option<ItemId>>,
    /// True if the caller does not see the item that it belongs to.
    pub hides_parent: bool,
}

impl Links {
    /// The item that the reference of this index names.
    pub fn reference(&self, index: usize) -> Option<ItemId> {
        self.references.get(index).copied().flatten()
    }
}

/// An item and its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownItem {
    /// The item.
    pub item: Item,
    /// The links to related items.
    pub links: Links,
}

impl ShownItem {
    /// The one item that a relation leads to; children are several.
    pub fn related(&self, kind: RelationKind) -> Option<ItemId> {
        match kind {
            RelationKind::Children => None,
            RelationKind::Parent => self.item.parent,
            RelationKind::Reference(index) => self.links.reference(index),
        }
    }

    /// Removes the link of a relation to one item.
    pub(crate) fn unlink(&mut self, kind: RelationKind) {
        match kind {
            RelationKind::Children => {}
            RelationKind::Parent => {
                self.links.hides_parent = self.item.parent.take().is_some();
            }
            RelationKind::Reference(index) => {
                if let Some(reference) = self.links.references.get_mut(index) {
                    *reference = None;
                }
            }
        }
    }
}
