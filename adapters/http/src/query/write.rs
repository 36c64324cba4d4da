//! The parameter of writes.

use super::fault::{invalid, listed};
use super::parameters::Parameters;
use crate::problem::Problem;

/// What `dry_run` takes.
pub const DRY_RUN: [&str; 2] = ["true", "false"];

/// Whether a write is only tried.
///
/// # Errors
/// 400 for another parameter, and another word.
pub fn is_dry_run(query: &str) -> Result<bool, Problem> {
    if query.is_empty() {
        return Ok(false);
    }
    match Parameters::read(query, &["dry_run"])?.get("dry_run") {
        None => Ok(false),
        Some(wanted) if DRY_RUN.contains(&wanted) => Ok(wanted == DRY_RUN[0]),
        Some(_) => Err(invalid(format!("`dry_run` takes {}.", listed(DRY_RUN)))),
    }
}
