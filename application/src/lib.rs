//! What the service does: the use cases, over ports.
//!
//! [`ResourceService`] is the one implementation of list, get, create, continue, replace, patch,
//! delete and replace-all, for every group. It decides in the domain and stores through
//! [`ItemRepository`]; ids and time come from [`IdGenerator`] and [`Clock`]. No type of a
//! framework, a database or HTTP appears here.
//!
//! A read-modify-write is: find → decide → write with the version that was found. The repository
//! refuses the write when another came in between; then the service starts over, unless the client
//! had set a condition.

mod caller;
mod error;
mod listing;
pub mod maintenance;
pub mod ports;
mod precondition;
pub mod query;
mod resource_service;
mod rule_files;
mod search;
mod write_options;

pub use caller::Caller;
pub use error::ApplicationError;
pub use listing::{Embedded, Listing, MOST_EMBEDDED, Neighbour, PageRequest, View};
pub use ports::{
    Answered, Change, ChangeKind, ChangeLog, Clock, CollectionContent, Ground, History,
    IdGenerator, IdempotencyKey, ItemRepository, ListedItem, ListedPage, LogPage, LoggedChange,
    NewItem, PastPageQuery, PastVersion, Permit, Readiness, Relations, Replacement,
    RepositoryError, Revision, RuleBook, Scope, Sequence, ShownItem, Totals,
};
pub use precondition::{Named, Precondition};
pub use resource_service::{
    Audited, Replaced, ReplacementBody, ResourceLimits, ResourcePorts, ResourceService, Restored,
    VersionPage, Written, audited_operation,
};
pub use rule_files::{CaseReport, RuleFiles};
pub use search::{Search, SearchFault, Term};
pub use write_options::{RequestKey, WriteOptions};
