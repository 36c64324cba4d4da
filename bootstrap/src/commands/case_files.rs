//! `check` and `test` of rules and of policies: files read, explained, and tried on the cases beside
//! them.

use std::fmt::Write as _;

use application::{CaseFiles, Clock as _};
use system_adapter::SystemClock;

use crate::commands::error::CommandError;
use crate::commands::options::CheckOptions;

/// Explains each definition of the files, and warns of likely mistakes. `kind` is their name in the
/// plural.
pub fn check(
    files: &dyn CaseFiles,
    kind: &str,
    options: &CheckOptions,
) -> Result<(), CommandError> {
    let clock = SystemClock::in_zone(options.time_zone.zone.clone());
    let today = clock.day_of(clock.now());
    let (summaries, warnings) = (files.summaries(today), files.warnings(today));
    let mut out = String::new();
    // Writing to a String cannot fail.
    for line in summaries.iter().chain(&warnings) {
        let _ = writeln!(out, "{line}");
    }
    let (count, cases) = (summaries.len(), files.case_count());
    let _ = match warnings.len() {
        0 => writeln!(out, "{count} {kind} and {cases} cases, all sound"),
        warnings => writeln!(out, "{count} {kind} and {cases} cases, warnings: {warnings}"),
    };
    crate::commands::print(&out)?;
    match warnings.len() {
        count if count > 0 && options.strict => Err(CommandError::Warnings(count)),
        _ => Ok(()),
    }
}

/// Runs the cases. Those that fail are shown, and make the command fail.
pub fn test(files: &dyn CaseFiles) -> Result<(), CommandError> {
    let reports = files.run_cases();
    let (passed, failed): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.passed);
    let mut out = String::new();
    for report in &failed {
        let _ = writeln!(out, "{}", report.line);
    }
    for id in files.ids() {
        if reports.iter().all(|report| !report.decided_by.contains(&id)) {
            let _ = writeln!(out, "{id} has no case");
        }
    }
    let _ = writeln!(out, "{} of {} cases came out as expected", passed.len(), reports.len());
    crate::commands::print(&out)?;
    if failed.is_empty() { Ok(()) } else { Err(CommandError::Cases(failed.len())) }
}
