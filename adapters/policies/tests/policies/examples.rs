//! The policies that people copy (`docs/examples/policies`), and the page about policies.

use std::fs;

use domain::Collection;
use policies_adapter::{PolicySet, schema};

use crate::files::{assert_published, docs, load, load_text};
use crate::schema::faults;

fn assert_sound(policies: &PolicySet) {
    let reports = policies.run_cases().into_iter();
    let wrong: Vec<_> = reports.filter(|report| !report.passed).map(|report| report.line).collect();
    assert_eq!(wrong, [""; 0]);
    assert_eq!(policies.warnings(jiff::civil::date(2026, 6, 1)), [""; 0]);
}

fn page() -> String {
    fs::read_to_string(docs("policies.md")).expect("the page")
}

#[test]
fn every_case_and_cell_comes_out_as_expected() {
    for (name, policies, cases) in
        [("agency", 13, 40), ("applicants", 7, 24), ("public", 4, 18), ("reviewers", 4, 12)]
    {
        let loaded = load(&docs(&format!("examples/policies/{name}.yaml")));
        assert_sound(&loaded);
        assert_eq!((loaded.ids().len(), loaded.case_count()), (policies, cases), "{name}");
    }
}

#[test]
fn the_example_of_the_page_is_sound_and_its_cases_hold() {
    let page = page();
    let block = |block: &str| block.split_once("\npolicies:").map(|(_, rest)| rest.to_owned());
    let example = page.split("```").find_map(block).expect("the example");
    assert_sound(&load_text(&format!("policies:{example}")));
}

#[test]
fn the_page_names_every_group() {
    let page = page();
    let row = page.lines().find(|line| line.starts_with("| `group`")).expect("the key `group`");
    for collection in Collection::all() {
        assert!(row.contains(&format!("`{}`", collection.name())), "{}: {row}", collection.name());
    }
}

#[test]
fn the_published_schema_accepts_the_example_and_refuses_files_of_a_wrong_form() {
    assert_published("policies.json", &schema());
    for name in ["agency", "applicants", "public", "reviewers"] {
        let path = docs(&format!("examples/policies/{name}.yaml"));
        let example = fs::read_to_string(path).expect("a file");
        assert_eq!(faults(&schema(), &example), [""; 0], "{name}");
    }
    let policy = "policies: [{id: p, group: files, to: [a], allow: [read]}]";
    let matrix =
        "matrix: {callers: {n: anonymous}, items: {f: {group: files}}, expect: {n: {f: []}}}";
    let case = "cases: [{name: n, caller: anonymous, group: files, operation: read, expect: deny}]";
    for (text, part, other, is_valid) in [
        (policy, "[read]", "[read, update]", true),
        (policy, "[read]", "[read], deny: [read]", false),
        (policy, ", allow: [read]", "", false),
        (policy, "[read]", "[raed]", false),
        (policy, "[read]", "[read], show: [title]", true),
        (policy, "[read]", "[read], show: title", false),
        (policy, "files", "[files, lib]", true),
        (policy, "files", "[files, library]", false),
        (matrix, "[]", "[read]", true),
        (matrix, "{group: files}", "{}", false),
        (case, "expect: deny", "expect: deny", true),
        (case, "expect: deny", "expect: maybe", false),
    ] {
        let text = text.replace(part, other);
        assert_eq!(faults(&schema(), &text).is_empty(), is_valid, "{text}");
    }
}
