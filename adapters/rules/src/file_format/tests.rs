use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use language::error::{ErrorCollector, FileErrors};
use language::yaml::{self, MOST_VALUES};
use serde_json::Value;

use super::{ADVICE, schema};

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&schema()).expect("JSON");
    jsonschema::options().should_validate_formats(true).build(&schema).expect("a JSON Schema")
}

/// A YAML file as the schema sees it.
fn read(text: &str) -> Value {
    let (name, mut errors) = ("rules.yaml".into(), FileErrors::default());
    let mut errors = ErrorCollector::new(&name, &mut errors);
    let tree = yaml::parse(text, &ADVICE, &mut MOST_VALUES.clone(), &mut errors).expect("YAML");
    serde_json::from_str(&tree.json(usize::MAX, "").expect("values of JSON")).expect("JSON")
}

/// With `UPDATE_SCHEMA=1` the file is written.
#[test]
fn the_published_schema_is_that_of_the_reader() {
    let path = docs("schemas/rules.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, schema()).expect("a file");
    }
    let published = fs::read_to_string(path).expect("a file");
    assert!(published == schema(), "docs/schemas/rules.json is not the schema of the reader");
}

#[test]
fn every_example_is_valid() {
    let validator = validator();
    let files = fs::read_dir(docs("examples/rules"))
        .expect("a folder")
        .map(|file| file.expect("a file").path());
    let examples: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "yaml")).collect();
    assert!(examples.len() >= 7);
    for path in examples {
        let file = read(&fs::read_to_string(&path).expect("a file"));
        let errors: Vec<_> = validator
            .iter_errors(&file)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn what_the_reader_refuses_by_its_form_is_invalid() {
    let validator = validator();
    let rule = "id: r, group: files, check: 'true', message: m";
    assert!(validator.is_valid(&read(&format!("rules: [{{{rule}}}]"))));
    for text in [
        "rule: []".to_owned(),
        "rules: 5".into(),
        "rules: [5]".into(),
        format!("rules: [{{{rule}, checks: x}}]"),
        format!("rules: [{{{rule}, message_expression: x}}]"),
        format!("rules: [{{{}}}]", rule.replace(", message: m", "")),
        format!("rules: [{{{}}}]", rule.replace("id: r", "id: Big")),
        format!("rules: [{{{}}}]", rule.replace("group: files", "group: file")),
        format!("rules: [{{{rule}, severity: fatal}}]"),
        format!("rules: [{{{rule}, 'on': [remove]}}]"),
        format!("rules: [{{{rule}, field: title}}]"),
        format!("rules: [{{{rule}, field: /a~2}}]"),
        format!("rules: [{{{rule}, effective: {{since: '2026-01-01'}}}}]"),
        format!("rules: [{{{rule}, effective: {{from: '2026-02-30'}}}}]"),
        format!("rules: [{{{rule}, when: [self.x]}}]"),
        format!("rules: [{{{rule}, lookup: [a]}}]"),
        "members: {proposals: [x]}".into(),
        "cases: [{rule: r, name: n, self: {}}]".into(),
        "cases: [{rule: r, name: n, self: [], expect: pass}]".into(),
        "cases: [{rule: r, name: n, self: {}, expect: passes}]".into(),
    ] {
        assert!(!validator.is_valid(&read(&text)), "{text}");
    }
}

#[test]
fn the_reference_names_every_key() {
    let page = fs::read_to_string(docs("rules.md")).expect("the page");
    let schema: Value = serde_json::from_str(&schema()).expect("JSON");
    for of in ["rules", "cases"] {
        let keys = schema["properties"][of]["items"]["properties"].as_object().expect("keys");
        for key in keys.keys() {
            let cells = page.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
            let is_named = cells.into_iter().any(|cell| cell.contains(&format!("`{key}`")));
            assert!(is_named, "`{key}` of `{of}`");
        }
    }
}
