//! Writes as data, so that the same one can be made in the store and in the model.

use application::{
    CollectionContent, CollectionWrite, ItemChange, ItemChangeKind, ItemRepository, NewItem,
    Replacement, RepositoryError, Scope, ShownItem, WriteMetadata,
};
use domain::{Collection, ItemId, Version, WriteOperation};

#[derive(Clone, Debug)]
pub struct Write {
    pub change: Change,
    pub metadata: WriteMetadata,
}

#[derive(Clone, Debug)]
pub enum Change {
    Insert(Scope, NewItem),
    Restore(Scope, NewItem),
    Update(Scope, Replacement, WriteOperation),
    Delete(Scope, ItemId, Version),
    WriteAll(Collection, Vec<ItemChange>),
    ReplaceAll(Collection, CollectionContent),
}

impl Change {
    /// The item that is written, and the scope; of many, the whole collection.
    pub const fn target(&self) -> (Scope, ItemId) {
        match self {
            Self::Insert(scope, item) | Self::Restore(scope, item) => (*scope, item.id),
            Self::Update(scope, replacement, _) => (*scope, replacement.id),
            Self::Delete(scope, id, _) => (*scope, *id),
            Self::WriteAll(collection, _) | Self::ReplaceAll(collection, _) => {
                (Scope::of(*collection), ItemId::NIL)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub enum Written {
    Item(Box<ShownItem>),
    Collection(CollectionWrite),
    Nothing,
}

impl Write {
    pub async fn run(self, items: &dyn ItemRepository) -> Result<Written, RepositoryError> {
        let Self { change, metadata } = self;
        let shown = |shown| Written::Item(Box::new(shown));
        match change {
            Change::Insert(scope, item) => items.insert(scope, item, metadata).await.map(shown),
            Change::Restore(scope, item) => items.restore(scope, item, metadata).await.map(shown),
            Change::Update(scope, replacement, kind) => {
                items.update(scope, replacement, kind, metadata).await.map(shown)
            }
            Change::Delete(scope, id, expected) => {
                items.delete(scope, id, expected, metadata).await.map(|()| Written::Nothing)
            }
            Change::WriteAll(collection, changes) => {
                items.write_all(collection, changes, metadata).await.map(|()| Written::Nothing)
            }
            Change::ReplaceAll(collection, content) => {
                items.replace_all(collection, content, metadata).await.map(Written::Collection)
            }
        }
    }

    /// Returns whether a key of the request is remembered with it.
    pub const fn is_remembered(&self) -> bool {
        matches!(self.change, Change::Insert(..) | Change::Restore(..) | Change::Update(..))
    }

    /// The writes of single items that a write of many consists of.
    pub fn parts(&self) -> Vec<Self> {
        let Change::WriteAll(collection, changes) = &self.change else { return vec![self.clone()] };
        let part = |ItemChange { parent, kind, key, remarks }: ItemChange| {
            let scope = Scope { collection: *collection, parent };
            let change = match kind {
                ItemChangeKind::Insert(item) => Change::Insert(scope, item),
                ItemChangeKind::Update(update) => {
                    Change::Update(scope, update, WriteOperation::Replace)
                }
            };
            Self { change, metadata: WriteMetadata { key, remarks, ..self.metadata.clone() } }
        };
        changes.iter().cloned().map(part).collect()
    }
}
