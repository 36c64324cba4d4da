//! The business rules of a proposal, one file each.
//!
//! To add a rule, copy the file of an existing one, and name it in this list.
//! `docs/adding-a-rule.md` walks through it.

mod dates_in_order;

use crate::BuiltInRule;

/// The rules in the order in which their violations are reported.
pub const RULES: &[BuiltInRule] = &[dates_in_order::RULE];
