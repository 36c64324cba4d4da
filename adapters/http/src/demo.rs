//! A small, made-up set of items whose identifiers are those of the documentation's examples, so
//! that every "Try it out" works untouched.

use application::{Caller, Change, ItemRepository, NewItem, Ports, RepositoryError, Scope};
use domain::{ItemId, Members, Resource};
use thiserror::Error;

use crate::group::Group;
use crate::groups::for_each_group;
use crate::openapi::example_members;

/// Why the demonstration set was not loaded.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The store holds something already.
    #[error("the store is not empty; the demonstration set is for a new store only")]
    NotEmpty,
    /// An example is not valid: a fault of the program.
    #[error("the example of `{0}` is not valid")]
    InvalidExample(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] RepositoryError),
}

/// Stores one item per group.
///
/// # Errors
/// `NotEmpty` unless every collection is empty; `Store`.
pub async fn load_demo(ports: &Ports) -> Result<(), DemoError> {
    macro_rules! check_groups {
        ($($group:path,)*) => { $(require_empty::<$group>(&*ports.items).await?;)* };
    }
    macro_rules! load_groups {
        ($($group:path,)*) => { $(load::<$group>(ports).await?;)* };
    }
    for_each_group!(check_groups);
    for_each_group!(load_groups);
    Ok(())
}

async fn require_empty<G: Group>(items: &dyn ItemRepository) -> Result<(), DemoError> {
    let totals = items.totals(Scope { collection: G::COLLECTION, parent: None }, &[]).await?;
    if totals.items == 0 { Ok(()) } else { Err(DemoError::NotEmpty) }
}

async fn load<G: Group>(ports: &Ports) -> Result<(), DemoError> {
    let invalid = || DemoError::InvalidExample(G::NAME);
    let members =
        Members::read(example_members::<G>().as_bytes()).ok().flatten().ok_or_else(invalid)?;
    let resource = G::Resource::judge(None, members).map_err(|_| invalid())?;
    let item = NewItem {
        id: ItemId::parse(G::EXAMPLE_ID).ok_or_else(invalid)?,
        references: G::COLLECTION.references_in(resource.members()),
        members: resource.into_members().into_encoded(),
        continues: None,
    };
    let parent = G::OWNER.and_then(|owner| ItemId::parse(owner.example_id));
    let change = Change {
        time: ports.clock.now(),
        caller: Caller::Anonymous.name().map(Into::into),
        key: None,
        grounds: Vec::new(),
    };
    ports.items.insert(Scope { collection: G::COLLECTION, parent }, item, change).await?;
    Ok(())
}
