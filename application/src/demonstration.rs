//! The demonstration data: made-up items with known identifiers, for an empty store.

use domain::{Collection, ItemId, Members};
use thiserror::Error;

use crate::Caller;
use crate::ports::{NewItem, Ports, Reach, RepositoryError, Scope, Warrant, WriteMetadata};

/// An item of the demonstration data.
#[derive(Clone, Debug)]
pub struct DemonstrationItem {
    /// Its collection.
    pub collection: Collection,
    /// The item it belongs to.
    pub parent: Option<ItemId>,
    /// Its identifier.
    pub id: ItemId,
    /// Its members.
    pub members: Members,
}

/// Why the demonstration data were not stored.
#[derive(Debug, Error)]
pub enum DemonstrationError {
    /// An item is not valid: an error of the program.
    #[error("cannot load the demonstration items: the example of `{0}` is not valid")]
    Invalid(&'static str),
    /// The store failed.
    #[error("cannot load the demonstration items: {0}")]
    Store(#[from] RepositoryError),
}

/// Stores the demonstration data, unless a collection holds something: a restart keeps the items of
/// the first start.
///
/// # Errors
/// `Invalid`; `Store`.
pub async fn load_demonstration(
    ports: &Ports,
    items: Vec<DemonstrationItem>,
) -> Result<(), DemonstrationError> {
    for collection in Collection::all() {
        let totals = ports.items.totals(&Reach::of_the_service(Scope::of(collection)), &[]).await?;
        if totals.items > 0 {
            tracing::info!("the store is not empty; no demonstration items were loaded");
            return Ok(());
        }
    }
    for DemonstrationItem { collection, parent, id, members } in items {
        let judged = collection.judge(None, members);
        let members = judged.map_err(|_| DemonstrationError::Invalid(collection.name()))?;
        let item = NewItem {
            id,
            references: collection.references_in(members.encoded()),
            members: members.into_encoded(),
            continues: None,
        };
        let warrant = Warrant::of_the_service(&Caller::service("demo"), None);
        let metadata = WriteMetadata::under(warrant, ports.clock.now());
        ports.items.insert(Scope { collection, parent }, item, metadata).await?;
    }
    tracing::info!("loaded the demonstration items");
    Ok(())
}
