//! `proposal-service rules check` and `rules test`: rules read, explained, and tried on the cases
//! beside them.

use std::fmt::Write as _;

use application::Clock as _;
use rules_adapter::{CaseOutcome, RuleSet};

use super::reserved;
use crate::cli::{CheckOptions, RuleFiles};
use crate::fault::Fault;
use crate::identifiers::SystemClock;

/// Reads the rules and explains each.
pub fn check(options: &CheckOptions) -> Result<(), Fault> {
    let rules = load(&options.files)?;
    let clock = SystemClock::in_zone(options.time_zone.zone.clone());
    let today = clock.day_of(clock.now());
    let mut out = String::new();
    // Writing to a String cannot fail.
    for rule in rules.rules() {
        let _ = writeln!(out, "{}", rule.summary(today));
    }
    let _ = writeln!(
        out,
        "{} rules and {} cases, all sound",
        rules.rules().len(),
        rules.number_of_cases()
    );
    crate::print(&out)
}

/// Runs the cases; those that came out otherwise than expected are shown, and make the command
/// fail.
pub fn test(options: &RuleFiles) -> Result<(), Fault> {
    let rules = load(options)?;
    let outcomes = rules.run_cases();
    let wrong: Vec<_> = outcomes.iter().filter(|outcome| !outcome.is_as_expected()).collect();
    let mut out = String::new();
    for outcome in &wrong {
        let _ = writeln!(out, "{outcome}");
    }
    let untested =
        rules.rules().filter(|rule| !outcomes.iter().any(|outcome| *outcome.rule == *rule.id()));
    for rule in untested {
        let _ = writeln!(out, "{} has no case", rule.id());
    }
    let right = outcomes.iter().filter(|outcome| CaseOutcome::is_as_expected(outcome)).count();
    let _ = writeln!(out, "{right} of {} cases came out as expected", outcomes.len());
    crate::print(&out)?;
    if wrong.is_empty() { Ok(()) } else { Err(Fault::Cases(wrong.len())) }
}

fn load(options: &RuleFiles) -> Result<RuleSet, Fault> {
    RuleSet::load(&options.file, &reserved()).map_err(Fault::Rules)
}
