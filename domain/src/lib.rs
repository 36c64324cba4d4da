//! The definition of a proposal and of its validity.
//!
//! This crate is pure: no I/O, no async, no clock.
//!
//! **To add a proposal field**, add one line to the table in [`proposal::fields`]. **To add a
//! business rule**, add a file next to `proposal/rules/dates_in_order.rs` and one line to the list
//! in [`proposal::rules`].

pub mod collection;
pub mod content;
pub mod item;
pub mod mask;
pub mod predicate;
pub mod principal;
pub mod proposal;
pub mod retention;
pub mod rule;
mod suggestion;
mod validation;
pub mod violation;

pub use collection::{
    Collection, CountedMember, Fields, KnownMember, Relation, RelationKind, SummedMembers,
};
pub use content::{Content, ContentDigest};
pub use exact_json as json;
pub use exact_json::{JsonError, JsonErrorKind, Members, Pointer, Value, json_patch, merge_patch};
pub use item::{Item, ItemId, Version};
pub use mask::{Mask, MemberPath, MemberSet, VisibleMembers};
pub use predicate::Predicate;
pub use principal::{Operation, Operations, Principal};
pub use proposal::Proposal;
pub use retention::{
    Retention, RetentionError, RetentionPolicy, RetentionTime, ThinningSchedule, VersionAge,
};
pub use rule::{
    About, BuiltInRule, Found, Lookup, LookupKey, Severity, Transition, Verdict, WriteContext,
    WriteOperation,
};
pub use suggestion::nearest;
pub use validation::unstorable;
pub use violation::{Violation, Violations};

/// The codes of the rules that are written in Rust.
pub fn rule_codes() -> impl Iterator<Item = &'static str> {
    Collection::all().flat_map(Collection::rules).map(|rule| rule.about.code)
}
