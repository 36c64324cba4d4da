//! The use cases of the service, over ports.
//!
//! [`ResourceService`] has the use cases of a collection: reads, writes, history, exports, imports and
//! the audit of rules. It decides in the domain and stores through [`ItemRepository`]; ids and time come
//! from [`IdGenerator`] and [`Clock`]. No type of a framework, a database or HTTP appears here.
//!
//! A read-modify-write is: find, decide, write with the version that was found. The repository
//! refuses the write when another came in between; then the service starts over, unless the client
//! had set a condition.

mod access_control;
mod audit_level;
mod caller;
mod changes;
mod compaction;
mod context;
mod demonstration;
mod error;
pub mod ports;
mod precondition;
pub mod query;
mod resources;
mod rule_catalog;
mod rule_trial;
pub mod table;
pub mod traces;

pub use access_control::{AccessControl, ownership_of, undeletable_below};
pub use audit_level::AuditLevel;
pub use caller::Caller;
pub use changes::ChangeService;
pub use compaction::{Compaction, CompactionOutcome, CompactionStep};
pub use context::{IdempotencyKey, ItemAddress, ItemWrite, WriteOptions};
pub use demonstration::{DemonstrationItem, load_demonstration};
pub use error::{ApplicationError, Result};
pub use ports::*;
pub use precondition::{Named, Precondition};
pub use query::{PageRequest, Search, SearchError, SearchTerm, View};
pub use resources::*;
pub use rule_catalog::{PublishedRule, RuleCatalog, RuleHome};
pub use rule_trial::RuleTrialService;
