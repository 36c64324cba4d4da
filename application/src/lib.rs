//! What the service does: the use cases, over ports.
//!
//! [`ResourceService`] is the one implementation of list, get, create, continue, replace, patch, delete and
//! replace-all, for every group. It decides in the domain and stores through [`ItemRepository`]; ids and time come from
//! [`IdGenerator`] and [`Clock`]. No type of a framework, a database or HTTP appears here.
//!
//! A read-modify-write is: find → decide → write with the version that was found. The repository refuses the write when
//! another came in between; then the service starts over, unless the client had set a condition.

mod caller;
mod error;
pub mod ports;
mod resource_service;

pub use caller::Caller;
pub use error::ApplicationError;
pub use ports::{
    Change, ChangeKind, Clock, CollectionContent, IdGenerator, ItemRepository, ListedPage, NewItem, Readiness, Relations, Replacement,
    RepositoryError, Revision, Scope, ShownItem, Window,
};
pub use resource_service::{Listing, PageRequest, Precondition, ReplacementBody, ResourceService};
