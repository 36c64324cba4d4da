//! `check` and `test` of rules and of policies.

use std::fmt::Write as _;

use application::CaseReport;

use crate::commands::error::Result;
use crate::commands::print;
use crate::failed;

pub fn check(
    kind: &str,
    summaries: &[String],
    warnings: &[String],
    cases: usize,
    is_strict: bool,
) -> Result<()> {
    let mut out = String::new();
    for line in summaries.iter().chain(warnings) {
        let _ = writeln!(out, "{line}");
    }
    let count = summaries.len();
    let _ = match warnings.len() {
        0 => writeln!(out, "{count} {kind} and {cases} cases, no problems"),
        warnings => writeln!(out, "{count} {kind} and {cases} cases, warnings: {warnings}"),
    };
    print(&out)?;
    if is_strict && !warnings.is_empty() {
        return Err(failed(format!("warnings: {}; --strict allows no warnings", warnings.len())));
    }
    Ok(())
}

pub fn test(ids: &[String], reports: &[CaseReport]) -> Result<()> {
    let (passed, wrong): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.passed);
    let mut out = String::new();
    for report in &wrong {
        let _ = writeln!(out, "{}", report.line);
    }
    for id in ids.iter().filter(|id| reports.iter().all(|it| !it.decided_by.contains(id))) {
        let _ = writeln!(out, "{id} has no test case");
    }
    let _ = writeln!(out, "{} of {} cases passed", passed.len(), reports.len());
    print(&out)?;
    if !wrong.is_empty() {
        let count = wrong.len();
        return Err(failed(format!("{count} of the cases failed")));
    }
    Ok(())
}
