//! The policies that people copy (`docs/examples/policies`), and the page about policies.

use std::fs;
use std::path::{Path, PathBuf};

use domain::Collection;
use policies_adapter::PolicySet;

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)
}

fn wrong(policies: &PolicySet) -> Vec<String> {
    let reports = policies.run_cases().into_iter();
    reports.filter(|report| !report.passed).map(|report| report.line).collect()
}

#[test]
fn every_case_and_cell_comes_out_as_expected() {
    let policies =
        PolicySet::load(&docs("examples/policies")).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(wrong(&policies), [""; 0]);
    assert_eq!((policies.ids().len(), policies.case_count()), (13, 40));
    let warnings = policies.warnings(jiff::civil::date(2026, 6, 1));
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn the_example_of_the_page_is_sound_and_its_cases_hold() {
    let page = fs::read_to_string(docs("policies.md")).expect("the page");
    let block = |block: &str| block.split_once("\npolicies:").map(|(_, rest)| rest.to_owned());
    let example = page.split("```").find_map(block).expect("the example");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("p.yaml"), format!("policies:{example}")).expect("a file");
    let policies = PolicySet::load(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(wrong(&policies), [""; 0]);
    assert_eq!(policies.warnings(jiff::civil::date(2026, 6, 1)), [""; 0]);
}

#[test]
fn the_page_names_every_group() {
    let page = fs::read_to_string(docs("policies.md")).expect("the page");
    let names: Vec<_> = Collection::all().map(|of| format!("`{}`", of.name())).collect();
    assert!(page.contains(&names.join(", ")), "{}", names.join(", "));
}
