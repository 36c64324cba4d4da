//! Vectors of the project Wycheproof: signatures, sets of keys, and both in one.

use serde_json::{Value, json};

use super::is_accepted;
use crate::token::Algorithm;

const PRIVATE: [&str; 6] = ["d", "p", "q", "dp", "dq", "qi"];

/// The published form of the key or the keys of a group.
fn public(group: &Value) -> Value {
    let keys = group.get("public").unwrap_or(&group["private"]);
    let mut keys = if keys.get("keys").is_some() { keys.clone() } else { json!({"keys": [keys]}) };
    for key in keys["keys"].as_array_mut().expect("keys") {
        let key = key.as_object_mut().expect("a key");
        // A key of type `oct` must be refused as it is.
        if key.get("kty").and_then(Value::as_str) != Some("oct") {
            key.retain(|name, _| !PRIVATE.contains(&name.as_str()));
        }
    }
    keys
}

/// Judges all vectors of a file; returns how many there were, and how many were accepted.
fn judge(text: &str, is_ours: fn(&Value, &Value) -> bool) -> (usize, usize) {
    let file: Value = serde_json::from_str(text).expect("JSON");
    let (mut count, mut accepted) = (0, 0);
    for group in file["testGroups"].as_array().expect("groups") {
        let keys = public(group);
        for test in group["tests"].as_array().expect("tests") {
            let jws = test.get("jws").or(test.get("jwe")).expect("a token");
            let jws = jws.as_str().map_or_else(|| jws.to_string(), str::to_owned);
            let is_right = is_accepted(&jws, &keys);
            let is_valid = test["result"] == "valid";
            let about = format!("{} {}: {}", group["comment"], test["tcId"], test["comment"]);
            assert!(is_valid || !is_right, "{about} is accepted");
            assert!(!is_valid || is_right || !is_ours(group, test), "{about} is refused");
            count += 1;
            accepted += usize::from(is_right);
        }
    }
    (count, accepted)
}

/// Returns whether a vector is of an algorithm that is accepted here.
fn is_of_our_algorithm(group: &Value, test: &Value) -> bool {
    let Some(jws) = test.get("jws").and_then(Value::as_str) else { return false };
    let header = jws.split('.').next().unwrap_or_default();
    let header = super::super::decode(header, 1_024).unwrap_or_default();
    let header: Value = serde_json::from_slice(&header).unwrap_or_default();
    let is_named = |name: &Value| name.as_str().and_then(Algorithm::named).is_some();
    let key = group.get("public").unwrap_or(&group["private"]);
    is_named(&header["alg"]) && (key.get("alg").is_none() || is_named(&key["alg"]))
}

#[test]
fn signatures() {
    let text = include_str!("../../../tests/vectors/json_web_signature_test.json");
    assert_eq!(judge(text, is_of_our_algorithm), (401, 16));
}

#[test]
fn keys() {
    let text = include_str!("../../../tests/vectors/json_web_key_test.json");
    assert_eq!(judge(text, is_of_our_algorithm), (26, 1));
}

#[test]
fn signatures_and_keys() {
    let text = include_str!("../../../tests/vectors/json_web_crypto_test.json");
    assert_eq!(judge(text, is_of_our_algorithm), (83, 2));
}
