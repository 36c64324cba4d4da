//! Representations in HAL (draft-kelly-json-hal), written as text.

mod change;
mod collection;
mod import;
mod item;
mod rule;
mod rule_trial;
mod versions;
mod writer;

pub use change::{Change, ChangePage, kind_of};
pub use collection::{PageView, collection, collection_size};
pub use import::imported;
pub use item::{ItemView, Snapshot, document, embedded_items, item, item_size};
pub use rule::{RuleList, RuleResource};
pub use rule_trial::rule_trial;
pub use versions::VersionHistory;
pub use writer::close_object;
