//! Parameters that are on or off: what is asked of a write, and of the rules.

use super::fault::{invalid, listed};
use super::parameters::Parameters;
use crate::problem::Problem;

/// The values of a switch.
pub const SWITCH: [&str; 2] = ["true", "false"];

/// Tells whether a write is only tried.
///
/// # Errors
/// 400 for another parameter, and another word.
pub fn is_dry_run(query: &str) -> Result<bool, Problem> {
    if query.is_empty() {
        Ok(false)
    } else {
        is_set(&Parameters::read(query, &["dry_run"])?, "dry_run")
    }
}

/// Tells whether a switch is on.
///
/// # Errors
/// 400 for another word.
pub fn is_set(parameters: &Parameters<'_>, name: &str) -> Result<bool, Problem> {
    match parameters.get(name) {
        None => Ok(false),
        Some(wanted) if SWITCH.contains(&wanted) => Ok(wanted == SWITCH[0]),
        Some(_) => Err(invalid(format!("`{name}` takes {}.", listed(SWITCH)))),
    }
}
