//! The rules that people copy (`docs/examples/rules`): all hold what their cases say, and the page
//! about them names each.

use std::path::PathBuf;

use domain::proposal::rules::RULES;
use rules_adapter::{CaseOutcome, Expectation, RuleSet};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/rules")
}

fn examples() -> RuleSet {
    let reserved: Vec<_> = RULES.iter().map(|rule| rule.code()).collect();
    RuleSet::load(&folder(), &reserved).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn every_case_has_the_verdict_it_expects() {
    let wrong: Vec<_> = examples()
        .run_cases()
        .iter()
        .filter(|outcome| !outcome.is_as_expected())
        .map(CaseOutcome::to_string)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case_that_passes_and_one_that_fails() {
    let examples = examples();
    let outcomes = examples.run_cases();
    for rule in examples.rules() {
        for expected in Expectation::ALL {
            let has_one = outcomes
                .iter()
                .any(|outcome| &*outcome.rule == rule.id() && outcome.expected == expected);
            assert!(has_one, "`{}` has no case that is to {}", rule.id(), expected.name());
        }
    }
}

#[test]
fn no_rule_is_warned_of() {
    let warnings = examples().warnings(jiff::civil::date(2026, 6, 1));
    let lines: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// A rule refuses where it cannot decide, which these cases are about. No other is to fail so, by a
/// mistake in its rule.
const UNDECIDED: [&str; 7] = [
    "months_add_up: an amount that is none",
    "programme_months_match_dates: a number of months that is no number",
    "gad_element_scores: an element without a score",
    "gad_element_scores: elements that are no list",
    "gad_score_range: no number",
    "gad_rating: a score that is no number",
    "approval_needs_gad_score: a sheet without a score",
];

#[test]
fn only_cases_about_it_cannot_be_decided() {
    let is_undecided = |outcome: &&CaseOutcome| {
        outcome.message.as_ref().is_some_and(|message| message.contains("could not be decided"))
    };
    let outcomes = examples().run_cases();
    let undecided: Vec<_> = outcomes
        .iter()
        .filter(is_undecided)
        .map(|outcome| format!("{}: {}", outcome.rule, outcome.name))
        .collect();
    assert_eq!(undecided, UNDECIDED);
}

#[test]
fn every_rule_says_what_it_is_for_and_where_its_fault_is() {
    for rule in examples().rules() {
        let about = domain::Rule::about(rule);
        assert!(
            about.description.is_some() && about.source.is_some() && about.pointer.is_some(),
            "{}",
            rule.id()
        );
    }
}

#[test]
fn the_page_names_every_rule_in_its_table() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let table: Vec<_> = page.lines().filter(|line| line.starts_with('|')).collect();
    for rule in examples().rules() {
        let file = PathBuf::from(rule.file());
        let file = file.file_name().unwrap().to_string_lossy();
        let is_named = table.iter().any(|line| {
            line.contains(&format!("`{}`", rule.id())) && line.contains(&format!("]({file})"))
        });
        assert!(is_named, "`{}` of {file}", rule.id());
    }
}
