//! Writes as data, so that the same one can be made in the store and in the model.

use application::{
    CollectionContent, CollectionWrite, ItemRepository, NewItem, Replacement, RepositoryError,
    Scope, ShownItem, WriteMetadata,
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
    ReplaceAll(Collection, CollectionContent),
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
            Change::ReplaceAll(collection, content) => {
                items.replace_all(collection, content, metadata).await.map(Written::Collection)
            }
        }
    }

    /// Returns whether a key of the request is remembered with it.
    pub const fn is_remembered(&self) -> bool {
        matches!(self.change, Change::Insert(..) | Change::Restore(..) | Change::Update(..))
    }
}
