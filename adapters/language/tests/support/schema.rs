//! Faults of YAML files by a JSON Schema.

use language::error::{ErrorCollector, FileErrors};
use language::yaml::{self, Advice, MOST_VALUES};
use serde_json::Value;

pub fn faults(schema: &str, text: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let options = jsonschema::options().should_validate_formats(true);
    let validator = options.build(&schema).expect("a JSON Schema");
    let (name, mut errors) = ("a.yaml".into(), FileErrors::default());
    let mut errors = ErrorCollector::new(&name, &mut errors);
    let advice = Advice { of_empty_file: "", of_line: |_| "" };
    let tree = yaml::parse(text, &advice, &mut MOST_VALUES.clone(), &mut errors).expect("YAML");
    let json = tree.json(usize::MAX, "").expect("values of JSON");
    let file = serde_json::from_str(&json).expect("JSON");
    let faults = validator.iter_errors(&file);
    faults.map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
}
