//! `check` and `test` of rules and of policies: files read, explained, and tried on the cases beside
//! them.

use std::fmt::Write as _;

use application::CaseReport;

use crate::commands::error::CommandError;
use crate::commands::print;

/// Prints the explanations of the definitions of a kind, whose name is in the plural, and warnings of
/// likely mistakes.
pub fn check(
    kind: &str,
    summaries: &[String],
    warnings: &[String],
    cases: usize,
    is_strict: bool,
) -> Result<(), CommandError> {
    let mut out = String::new();
    // Writing to a String cannot fail.
    for line in summaries.iter().chain(warnings) {
        let _ = writeln!(out, "{line}");
    }
    let count = summaries.len();
    let _ = match warnings.len() {
        0 => writeln!(out, "{count} {kind} and {cases} cases, all sound"),
        warnings => writeln!(out, "{count} {kind} and {cases} cases, warnings: {warnings}"),
    };
    print(&out)?;
    match warnings.len() {
        count if count > 0 && is_strict => Err(CommandError::Warnings(count)),
        _ => Ok(()),
    }
}

/// Prints the cases that failed, which make the command fail, and the definitions without a case.
pub fn test(ids: &[String], reports: &[CaseReport]) -> Result<(), CommandError> {
    let (passed, failed): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.passed);
    let mut out = String::new();
    for report in &failed {
        let _ = writeln!(out, "{}", report.line);
    }
    for id in ids.iter().filter(|id| reports.iter().all(|it| !it.decided_by.contains(id))) {
        let _ = writeln!(out, "{id} has no case");
    }
    let _ = writeln!(out, "{} of {} cases came out as expected", passed.len(), reports.len());
    print(&out)?;
    if failed.is_empty() { Ok(()) } else { Err(CommandError::Cases(failed.len())) }
}
