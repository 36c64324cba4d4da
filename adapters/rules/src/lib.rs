//! Business rules in files, behind the port [`application::RuleBook`].

mod cases;
mod definition;
mod evaluation;
mod expression;
mod fault;
mod file_rule;
mod files;
mod keys;
mod known_rules;
mod lookup_target;
mod reloadable;
mod rule_set;
mod summary;
mod yaml;

pub use cases::{CaseOutcome, Expectation};
pub use fault::{Fault, Faults, Place};
pub use file_rule::FileRule;
pub use lookup_target::LookupBy;
pub use reloadable::ReloadableRules;
pub use rule_set::RuleSet;
pub use summary::{LookupSummary, RuleSummary};
