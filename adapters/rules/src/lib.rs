//! Business rules in files, behind the port [`application::RuleBook`].
//!
//! A rule in a file is an [`application::Rule`] about the [`Members`](domain::Members) of any item,
//! like a rule in Rust, with expressions of the Common Expression Language in place of code.
//! `docs/rules.md` says how files are written; this says how they are used.
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
//! // `rules check`: everything that is wrong, or what there is. The codes of the rules in Rust are taken.
//! let rules = RuleSet::load(path, &["dates_in_order"])?;
//! for rule in rules.rules() {
//!     println!("{}", rule.summary("2026-11-21".parse()?));
//! }
//!
//! // `rules test`: what the rules say of the cases.
//! assert!(rules.run_cases().iter().all(|report| report.passed));
//!
//! // The service: the rules of now for each write, read again when the files change.
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
//! From file to verdict: [`language`] makes trees of files that know where everything stands →
//! `definition`, `lookup_target` and `cases` turn them into rules and cases, telling every error to
//! [`FileErrors`](language::error::FileErrors) → [`RuleSet`] keeps the rules of each collection ready →
//! [`FileRule`] answers the domain, through [`language::evaluation`]. [`Trials`] answers for rules that
//! are in no file.
//!
//! Reading and reloading block for as long as files take to read and expressions to compile: call
//! them aside from a runtime's workers. Asking [`ReloadableRules`] for rules costs a lock that is held
//! for a read of a pointer, and two counts.

mod cases;
mod definition;
mod file_format;
mod file_rule;
mod lookup_target;
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
