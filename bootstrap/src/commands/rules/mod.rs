//! Business rules in files, tried before they are in force.

mod audit;

use std::path::Path;

use rules_adapter::RuleSet;

use crate::commands::error::Result;
use crate::{failed, reserved_rule_ids};
pub use audit::audit;

pub fn load(path: &Path) -> Result<RuleSet> {
    RuleSet::load(path, &reserved_rule_ids()).map_err(failed)
}
