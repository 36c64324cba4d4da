//! `rules check` and `rules test`: rules read, explained, and tried on the cases beside them.

use std::fmt::Write as _;

use crate::Wiring;
use crate::error::CommandError;
use crate::options::{CheckOptions, RuleFileOptions};

/// Reads the rules and explains each.
pub fn check(options: &CheckOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let rules = (wiring.rules)(&options.files.file)?;
    let clock = (wiring.clock)(options.time_zone.zone.clone());
    let summaries = rules.summaries(clock.day_of(clock.now()));
    let mut out = String::new();
    // Writing to a String cannot fail.
    for summary in &summaries {
        let _ = writeln!(out, "{summary}");
    }
    let (count, cases) = (summaries.len(), rules.case_count());
    let _ = writeln!(out, "{count} rules and {cases} cases, all sound");
    crate::print(&out)
}

/// Runs the cases. Those that fail are shown, and make the command fail.
pub fn test(options: &RuleFileOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let rules = (wiring.rules)(&options.file)?;
    let reports = rules.run_cases();
    let (passed, failed): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.passed);
    let mut out = String::new();
    for report in &failed {
        let _ = writeln!(out, "{}", report.line);
    }
    for id in rules.ids() {
        if reports.iter().all(|report| report.rule != id) {
            let _ = writeln!(out, "{id} has no case");
        }
    }
    let _ = writeln!(out, "{} of {} cases came out as expected", passed.len(), reports.len());
    crate::print(&out)?;
    if failed.is_empty() { Ok(()) } else { Err(CommandError::Cases(failed.len())) }
}
