//! `docs/rules.md`: its keys and members, its example, and the published schema.

use std::fs;

use domain::Collection;
use rules_adapter::schema;
use serde_json::Value;

use crate::files::{assert_published, docs, load_text};
use crate::schema::faults;

fn page() -> String {
    fs::read_to_string(docs("rules.md")).expect("the page")
}

#[test]
fn the_page_lists_the_members_of_each_group() {
    for collection in Collection::all() {
        let names: Vec<_> = collection.known_members().map(|(name, _)| name).collect();
        let row = format!("| `{}` | `{}` |", collection.name(), names.join("`, `"));
        assert!(page().contains(&row), "{row}");
    }
}

#[test]
fn the_example_of_the_documentation_is_sound_and_its_cases_hold() {
    let page = page();
    let example = page
        .split("```")
        .find_map(|block| block.strip_prefix("yaml\nrules:"))
        .expect("the example");
    let rules = load_text(&format!("rules:{example}"));
    let wrong: Vec<_> = rules.run_cases().into_iter().filter(|outcome| !outcome.passed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((rules.rules().len(), rules.case_count()), (2, 3));
}

#[test]
fn the_page_names_every_key_of_the_published_schema() {
    assert_published("rules.json", &schema());
    let page = page();
    let cells = page.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let cells: String = cells.collect();
    let schema: Value = serde_json::from_str(&schema()).expect("JSON");
    for of in ["rules", "cases"] {
        let keys = schema["properties"][of]["items"]["properties"].as_object().expect("keys");
        for key in keys.keys() {
            assert!(cells.contains(&format!("`{key}`")), "`{key}` of `{of}`");
        }
    }
}

#[test]
fn every_example_is_valid_and_files_of_a_wrong_form_are_not() {
    let files = fs::read_dir(docs("examples/rules")).expect("a folder");
    let files = files.map(|file| file.expect("a file").path());
    let is_yaml = |path: &std::path::PathBuf| path.extension().is_some_and(|kind| kind == "yaml");
    let examples: Vec<_> = files.filter(is_yaml).collect();
    assert!(examples.len() >= 7);
    for path in examples {
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!(faults(&schema(), &text), [""; 0], "{}", path.display());
    }
    let rule = "id: r, group: files, check: 'true', message: m";
    assert_eq!(faults(&schema(), &format!("rules: [{{{rule}}}]")), [""; 0]);
    for (part, other) in [
        (", message: m", ""),
        ("id: r", "id: Big"),
        ("group: files", "group: file"),
        (": m", ": m, checks: x"),
        (": m", ": m, message_expression: x"),
        (": m", ": m, severity: fatal"),
        (": m", ": m, 'on': [remove]"),
        (": m", ": m, field: title"),
        (": m", ": m, field: /a~2"),
        (": m", ": m, effective: {since: '2026-01-01'}"),
        (": m", ": m, effective: {from: '2026-02-30'}"),
        (": m", ": m, when: [self.x]"),
        (": m", ": m, lookup: [a]"),
    ] {
        let text = format!("rules: [{{{}}}]", rule.replace(part, other));
        assert_ne!(faults(&schema(), &text), [""; 0], "{text}");
    }
    for text in [
        "rule: []",
        "rules: 5",
        "rules: [5]",
        "members: {proposals: [x]}",
        "cases: [{rule: r, name: n, self: {}}]",
        "cases: [{rule: r, name: n, self: [], expect: pass}]",
        "cases: [{rule: r, name: n, self: {}, expect: passes}]",
    ] {
        assert_ne!(faults(&schema(), text), [""; 0], "{text}");
    }
}
