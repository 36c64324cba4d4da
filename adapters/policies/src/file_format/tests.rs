use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use language::error::{ErrorCollector, FileErrors};
use language::yaml::{self, MOST_VALUES};
use serde_json::Value;

use super::schema;
use crate::reading::ADVICE;

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&schema()).expect("JSON");
    jsonschema::options().should_validate_formats(true).build(&schema).expect("a JSON Schema")
}

/// A YAML file as the schema sees it.
fn read(text: &str) -> Value {
    let (name, mut errors) = ("p.yaml".into(), FileErrors::default());
    let mut errors = ErrorCollector::new(&name, &mut errors);
    let tree = yaml::parse(text, &ADVICE, &mut MOST_VALUES.clone(), &mut errors).expect("YAML");
    serde_json::from_str(&tree.json(usize::MAX, "").expect("values of JSON")).expect("JSON")
}

/// With `UPDATE_SCHEMA=1` the file is written.
#[test]
fn the_published_schema_is_that_of_the_reader() {
    let path = docs("schemas/policies.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, schema()).expect("a file");
    }
    let published = fs::read_to_string(path).expect("a file");
    assert!(published == schema(), "docs/schemas/policies.json is not the schema of the reader");
}

#[test]
fn the_example_is_valid() {
    let file = read(&fs::read_to_string(docs("examples/policies/agency.yaml")).expect("a file"));
    let validator = validator();
    let errors: Vec<_> = validator
        .iter_errors(&file)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = validator();
    let policy = "id: p, group: files, to: [a]";
    for (text, is_valid) in [
        (format!("policies: [{{{policy}, allow: [read, update]}}]"), true),
        (format!("policies: [{{{policy}, allow: [read], deny: [read]}}]"), false),
        (format!("policies: [{{{policy}}}]"), false),
        (format!("policies: [{{{policy}, allow: [raed]}}]"), false),
        (format!("policies: [{{{policy}, allow: [read], show: [title]}}]"), false),
        ("policies: [{id: p, group: [files, lib], to: [a], deny: [read]}]".into(), true),
        ("policies: [{id: p, group: [files, library], to: [a], deny: [read]}]".into(), false),
        (
            "matrix: {callers: {n: anonymous}, items: {f: {group: files}}, expect: {n: {f: []}}}"
                .into(),
            true,
        ),
        ("matrix: {callers: {n: anonymous}, items: {f: {}}, expect: {}}".into(), false),
        (
            "cases: [{name: n, caller: anonymous, group: files, operation: read, expect: maybe}]"
                .into(),
            false,
        ),
    ] {
        assert_eq!(validator.is_valid(&read(&text)), is_valid, "{text}");
    }
}
