//! The rules that people copy (`docs/examples/rules`): all hold what their cases say, and the page
//! about them names each.

use std::path::PathBuf;

use application::Rule;
use domain::proposal::rules::RULES;
use rules_adapter::RuleSet;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/rules")
}

fn examples() -> RuleSet {
    let reserved: Vec<_> = RULES.iter().map(|rule| rule.about.code).collect();
    RuleSet::load(&folder(), &reserved).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_case_has_the_verdict_it_expects() {
    let wrong: Vec<_> = examples()
        .run_cases()
        .into_iter()
        .filter(|report| !report.passed)
        .map(|report| report.line)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case_that_passes_and_one_that_fails() {
    let examples = examples();
    let reports = examples.run_cases();
    for rule in examples.rules() {
        // Every case has the verdict that it expects.
        for verdict in ["pass", "fail"] {
            let has_one = reports.iter().any(|report| {
                report.decided_by == [rule.about().code]
                    && verdict_of(&report.line).starts_with(verdict)
            });
            assert!(has_one, "`{}` has no case that is to {verdict}", rule.about().code);
        }
    }
}

/// The end of a case's line, after its name.
fn verdict_of(line: &str) -> &str {
    let mut parts = line.splitn(5, ": ");
    parts.nth(3).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn no_rule_is_warned_of() {
    let warnings = examples().warnings(jiff::civil::date(2026, 6, 1));
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
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
    let reports = examples().run_cases();
    let lines = reports.iter().map(|report| report.line.as_str());
    let undecided: Vec<_> = lines
        .filter(|line| line.contains("could not be decided"))
        .filter_map(|line| line.split_once(": ")?.1.split(": fail").next())
        .collect();
    assert_eq!(undecided, UNDECIDED);
}

#[test]
fn every_rule_says_what_it_is_for_and_where_its_error_is() {
    for rule in examples().rules() {
        let about = rule.about();
        assert!(
            about.description.is_some() && about.source.is_some() && about.pointer.is_some(),
            "{}",
            about.code
        );
    }
}

#[test]
fn the_page_names_every_rule_in_its_table() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let table: Vec<_> = page.lines().filter(|line| line.starts_with('|')).collect();
    for rule in examples().rules() {
        let file = PathBuf::from(&*rule.file);
        let file = file.file_name().unwrap().to_string_lossy();
        let is_named = table.iter().any(|line| {
            line.contains(&format!("`{}`", rule.about().code))
                && line.contains(&format!("]({file})"))
        });
        assert!(is_named, "`{}` of {file}", rule.about().code);
    }
}
