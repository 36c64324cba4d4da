//! Business rules in files, behind the port [`application::RuleBook`].
//!
//! A rule in a file is an [`application::Rule`] about the [`Members`](domain::Members) of any item.
//! It uses the Common Expression Language instead of code. `docs/rules.md` describes the files.
//!
//! ```
//! use std::path::Path;
//!
//! use application::RuleBook;
//! use domain::Collection;
//! use rules_adapter::{ReloadableRules, RuleSet};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = &folder.path().join("rules.yaml");
//! # std::fs::write(path, "
//! # rules: [{id: sized, group: files, check: has(self.size), message: say how large it is}]
//! # cases: [{rule: sized, name: no size, self: {}, expect: fail}]
//! # ")?;
//! // `rules check`: all errors, or a summary. The codes of the rules in Rust are reserved.
//! let rules = RuleSet::load(path, &["dates_in_order"])?;
//! for rule in rules.rules() {
//!     println!("{}", rule.summary("2026-11-21".parse()?));
//! }
//!
//! // `rules test`: runs the cases.
//! assert!(rules.run_cases().iter().all(|report| report.passed));
//!
//! // The service: the current rules for each write, reloaded on change.
//! let book = ReloadableRules::open(path, &["dates_in_order"])?;
//! assert_eq!(book.rules(Collection::known("files")).len(), 1);
//! if book.files.changed().is_some() {
//!     match book.files.reload() {
//!         Ok(is_other) => println!("reloaded, other rules: {is_other}"),
//!         Err(errors) => println!("the old rules stay:\n{errors}"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From file to verdict: [`language`] parses files → `definition` and `cases` build rules and
//! cases → [`RuleSet`] keeps the rules of each collection → [`FileRule`] answers the domain,
//! through [`language::evaluation`]. [`Trials`] runs rules that are in no file.
//!
//! Reading and reloading block: call them outside the workers of a runtime. Access to the rules of
//! [`ReloadableRules`] takes a lock for the copy of a pointer.

mod cases;
mod definition;
mod file_format;
mod file_rule;
mod metrics;
mod notes;
mod reloadable;
mod rule_set;
mod sample_items;
mod summary;
mod trial;
mod warnings;

pub use file_format::schema;
pub use file_rule::FileRule;
pub use reloadable::ReloadableRules;
pub use rule_set::RuleSet;
pub use trial::Trials;
