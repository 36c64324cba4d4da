//! Policies in files, behind the port [`application::Policies`].
//!
//! A policy allows or denies operations on the items of groups to callers with certain roles.
//! `docs/policies.md` describes the files.
//!
//! ```
//! use std::path::Path;
//!
//! use domain::Collection;
//! use policies_adapter::PolicySet;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = &folder.path().join("policies.yaml");
//! # std::fs::write(path, "
//! # policies: [{id: public, group: proposals, allow: [read], to: [anyone]}]
//! # cases: [{name: anyone, caller: anonymous, operation: read, group: proposals, expect: allow}]
//! # ")?;
//! // `policies check`: all errors, or a summary.
//! let policies = PolicySet::load(path)?;
//! for sentence in policies.summaries("2026-11-21".parse()?) {
//!     println!("{sentence}");
//! }
//!
//! // `policies test`: runs the cases.
//! assert!(policies.run_cases().iter().all(|report| report.passed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From file to decision: [`language`] parses files → `definition` and `cases` build policies and
//! cases → `caller_policies` evaluates them partially for a caller and a day, into a predicate for
//! each operation → `permission_cache` keeps the result → [`ReloadablePolicies`] answers the port
//! and reloads on change.
//!
//! Reading blocks: call it outside the workers of a runtime. A known caller costs a lookup in the
//! cache.

mod analysis;
mod caller_policies;
mod cases;
mod condition;
mod definition;
mod explain;
mod file_format;
mod item_role;
mod member_list;
mod permission_cache;
mod policy;
mod policy_set;
mod reading;
mod reloadable;
mod sample_caller;
mod summary;
mod warnings;

pub use explain::ExplainedCondition;
pub use file_format::schema;
pub use policy_set::PolicySet;
pub use reloadable::ReloadablePolicies;
pub use sample_caller::read_caller;
