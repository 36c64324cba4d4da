//! The public conformance tests of CEL that apply to rules, in the table that
//! `tests/conformance/convert.py` makes. The reason of each difference is listed here.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::Expression;
use super::super::evaluate::Evaluation;
use super::super::kinds::ANY;
use super::super::meter::{CostLimit, Meter};
use super::super::value::Val;
use super::{context, members, scope};

const TABLE: &str = include_str!("../../../tests/conformance/cel-spec.json");

const DOCUMENTATION: &str = include_str!("../../../../../docs/rules.md");

/// The tests that come out otherwise.
const DIFFERENCES: &[&str] = &[
    // A name that is not known is refused when a rule is loaded, even where it would not matter.
    "basic/functions/unbound_is_runtime_error",
    "basic/variables/unbound_is_runtime_error",
    "parse/receiver_function_names/as|break|const|continue|else|for|function|if|import|let|loop",
    "parse/receiver_function_names/namespace|package|return|var|void|while",
    // A condition that is never a boolean is refused when a rule is loaded, even where the other side of it decides.
    "logic/AND/short_circuit_type_left|short_circuit_type_right",
    "logic/OR/short_circuit_type_left|short_circuit_type_right",
];

/// The tests of an entry, which has their last names separated by `|`.
fn each(entry: &str) -> impl Iterator<Item = String> {
    let (path, names) = entry.rsplit_once('/').expect("a path");
    names.split('|').map(move |name| format!("{path}/{name}"))
}

#[test]
fn agrees_with_the_conformance_tests_except_where_listed() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let tests = table["tests"].as_array().unwrap();
    let differing: BTreeSet<_> = tests.iter().filter_map(difference).collect();
    let listed: BTreeSet<_> = DIFFERENCES.iter().flat_map(|entry| each(entry)).collect();
    let found: BTreeSet<_> = differing.iter().map(|(name, _)| (*name).to_owned()).collect();
    let (apply, agree) = (tests.len(), tests.len() - found.len());
    let unlisted: Vec<_> = differing.iter().filter(|(name, _)| !listed.contains(*name)).collect();
    let agreeing: Vec<_> = listed.difference(&found).collect();
    assert!(unlisted.is_empty(), "{} differ and are not listed: {unlisted:#?}", unlisted.len());
    assert!(agreeing.is_empty(), "these agree and are listed: {agreeing:#?}");
    assert!(agree * 100 >= apply * 97, "fewer than 97 % agree");
    for figure in [format!("{apply} apply to rules"), format!("{agree} agree")] {
        assert!(DOCUMENTATION.contains(&figure), "docs/rules.md does not say {figure}");
    }
}

/// The name of a test that comes out otherwise, with what it comes to.
fn difference(test: &Value) -> Option<(&str, String)> {
    let mut source = test["expr"].as_str().unwrap().to_owned();
    // What a test gives as a variable is the element of a list that is gone through.
    for (name, value) in test["bindings"].as_object().into_iter().flatten() {
        source = format!("[dyn({})].map({name}, {source})[0]", value.as_str().unwrap());
    }
    let is_error = test["error"] == true;
    let outcome = evaluate(&source);
    let agrees = match &outcome {
        Ok(value) => !is_error && *value == normal(&test["value"]),
        Err(_) => is_error,
    };
    let name = test["name"].as_str().unwrap();
    (!agrees).then(|| (name, format!("{source} -> {outcome:?}, not {}", test["value"])))
}

/// Returns the value of an expression in the notation of the table, or the reason why it is refused
/// or fails.
fn evaluate(source: &str) -> Result<Value, String> {
    let compiled = Expression::compile(source, ANY, &[]).map_err(|refusal| refusal.reason)?;
    let (meter, context, after) = (Meter::of(CostLimit::Verdict), context(), members("{}"));
    let scope = scope(&after, &context);
    let value = Evaluation::new(&scope, &meter).value(&compiled.root);
    value.map(|value| shown(&value, &meter)).map_err(|error| format!("{error:?}"))
}

fn shown(value: &Val<'_>, meter: &Meter) -> Value {
    match value {
        Val::Null => json!({"null": null}),
        Val::Boolean(boolean) => json!({"bool": boolean}),
        Val::Integer(integer) => json!({"int": integer.to_string()}),
        Val::Double(double) => json!({"double": double.to_string()}),
        Val::String(text) => json!({"string": text.as_str()}),
        Val::Type(kind) => json!({"type": kind.type_name()}),
        Val::List(list) => {
            let elements = list.iter(meter).map(|element| shown(&element.unwrap(), meter));
            json!({"list": elements.collect::<Vec<_>>()})
        }
        Val::Map(map) => {
            let entries = map.keys(meter).map(|key| {
                let key = key.unwrap();
                let value = map.get_key(&key, meter).unwrap().unwrap();
                json!([shown(&key, meter), shown(&value, meter)])
            });
            normal(&json!({"map": entries.collect::<Vec<_>>()}))
        }
        other => json!({"other": format!("{other:?}")}),
    }
}

/// A value of the table with doubles as they are shown here, and maps in one order.
fn normal(value: &Value) -> Value {
    let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
    let each = |value: &Value| value.as_array().unwrap().iter().map(normal).collect::<Vec<_>>();
    match kind.as_str() {
        "double" => json!({"double": value.as_str().unwrap().parse::<f64>().unwrap().to_string()}),
        "list" => json!({"list": each(value)}),
        "map" => {
            let mut entries: Vec<_> = value.as_array().unwrap().iter().map(each).collect();
            entries.sort_by_key(|entry| entry[0].to_string());
            json!({"map": entries})
        }
        _ => json!({ kind: value }),
    }
}
