//! The business rules of a proposal, one file each. `docs/adding-a-rule.md` explains additions.

mod dates_in_order;

use crate::BuiltInRule;

/// The order is that of violations in a report.
pub const RULES: &[BuiltInRule] = &[dates_in_order::RULE];
