use std::sync::Arc;

use domain::{Item, ItemId, RelationKind, VisibleMembers};

/// The links in an item's representation. Links to deleted items are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Links {
    pub continues: Option<ItemId>,
    pub continued_by: Vec<ItemId>,
    /// The referenced items in the order of the collection's references; trailing ones may be
    /// missing.
    pub references: Vec<Option<ItemId>>,
    pub hides_parent: bool,
    /// The visible members, if the caller does not see all of them.
    pub cut: Option<Arc<str>>,
}

impl Links {
    pub fn reference(&self, index: usize) -> Option<ItemId> {
        self.references.get(index).copied().flatten()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownItem {
    pub item: Item,
    pub links: Links,
}

impl ShownItem {
    /// The related item; `None` for children, which are several.
    pub fn related(&self, kind: RelationKind) -> Option<ItemId> {
        match kind {
            RelationKind::Children => None,
            RelationKind::Parent => self.item.parent,
            RelationKind::Reference(index) => self.links.reference(index),
        }
    }

    /// Removes the members that are not visible, and the links by them.
    pub fn cut(&mut self, visible: &VisibleMembers) {
        if !visible.is_whole() {
            visible.apply(&mut self.item);
            for (reference, is_shown) in
                self.links.references.iter_mut().zip(visible.shows_references())
            {
                *reference = reference.filter(|_| is_shown);
            }
            self.links.cut = Some(Arc::clone(&self.item.members));
        }
    }

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
