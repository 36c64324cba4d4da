//! The rules that people copy (`docs/examples/rules`): all hold what their cases say, and the page
//! about them names each.

use std::path::Path;

use application::Rule;
use domain::proposal::rules::RULES;
use rules_adapter::RuleSet;

use crate::files::docs;

fn examples() -> RuleSet {
    let reserved: Vec<_> = RULES.iter().map(|rule| rule.about.code).collect();
    let loaded = RuleSet::load(&docs("examples/rules"), &reserved);
    loaded.unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_case_has_the_verdict_it_expects_and_no_rule_is_warned_of() {
    let examples = examples();
    let reports = examples.run_cases().into_iter();
    let wrong: Vec<_> = reports.filter(|report| !report.passed).map(|report| report.line).collect();
    assert_eq!(wrong, [""; 0]);
    assert_eq!(examples.warnings(jiff::civil::date(2026, 6, 1)), [""; 0]);
}

#[test]
fn every_rule_is_described_and_has_a_case_that_passes_and_one_that_fails() {
    let examples = examples();
    let reports = examples.run_cases();
    for rule in examples.rules() {
        let about = rule.about();
        let is_described = about.description.is_some() && about.source.is_some();
        assert!(is_described && about.pointer.is_some(), "{}", about.code);
        for verdict in ["pass", "fail"] {
            // The verdict follows the name of the case.
            let has_one = reports.iter().any(|report| {
                let end = report.line.split(": ").nth(3);
                report.decided_by == [about.code] && end.expect("a name").starts_with(verdict)
            });
            assert!(has_one, "`{}` has no case that is to {verdict}", about.code);
        }
    }
}

/// The cases of rules that cannot be decided, and so refuse. No other case may fail so.
const UNDECIDED: [&str; 7] = [
    "months_add_up: an amount that is not a number",
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
        .filter(|line| line.contains("could not be evaluated"))
        .filter_map(|line| line.split_once(": ")?.1.split(": fail").next())
        .collect();
    assert_eq!(undecided, UNDECIDED);
}

#[test]
fn the_page_names_every_rule_in_its_table() {
    let page = std::fs::read_to_string(docs("examples/rules/README.md")).expect("the page");
    let table: Vec<_> = page.lines().filter(|line| line.starts_with('|')).collect();
    for rule in examples().rules() {
        let file = Path::new(&*rule.file).file_name().expect("a name").to_string_lossy();
        let (code, link) = (format!("`{}`", rule.about().code), format!("]({file})"));
        let is_named = table.iter().any(|line| line.contains(&code) && line.contains(&link));
        assert!(is_named, "{code} of {file}");
    }
}
