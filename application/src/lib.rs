//! The use cases of the service, over ports.
//!
//! [`ResourceService`] has the use cases of a collection. It decides in the domain and stores
//! through [`ItemRepository`]. Ids and time come from [`IdGenerator`] and [`Clock`].
//!
//! A read-modify-write finds an item, decides, and writes with the version found. On a version
//! conflict the service retries, unless the client set a condition.

mod access_control;
mod audit_level;
mod caller;
mod changes;
mod compaction;
mod content_care;
mod contents;
mod context;
mod demonstration;
mod error;
mod judgement;
pub mod ports;
mod precondition;
pub mod query;
mod resources;
mod rule_catalog;
mod rule_trial;
pub mod table;
pub mod traces;

pub use access_control::{AccessControl, Visibility, undeletable_below};
pub use audit_level::AuditLevel;
pub use caller::Caller;
pub use changes::{ChangePage, ChangeService, SeenChange};
pub use compaction::{Compaction, CompactionOutcome, CompactionStep};
pub use contents::{ContentService, Download, HashedPiece, Upload};
pub use context::{IdempotencyKey, ItemAddress, ItemWrite, WriteOptions};
pub use demonstration::{DemonstrationItem, load_demonstration};
pub use error::{ApplicationError, Result};
pub use judgement::{ExplainedItem, SeenItem};
pub use ports::*;
pub use precondition::{Named, Precondition};
pub use query::{PageRequest, Search, SearchError, SearchTerm, View};
pub use resources::*;
pub use rule_catalog::{PublishedRule, RuleCatalog, RuleHome};
pub use rule_trial::RuleTrialService;
