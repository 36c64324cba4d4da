//! JSON Merge Patch (RFC 7396).

use std::collections::HashMap;

use crate::members::push_member;
use crate::{Members, Value};

/// Returns `target` with `patch` applied. Members keep their place; new ones follow in the patch's
/// order.
pub fn merge_patch(target: &Members, patch: &Members) -> Members {
    let mut out = String::with_capacity(target.encoded().len() + patch.encoded().len());
    let [before, changes] = [target, patch].map(|members| Value::from_encoded(members.encoded()));
    push_merged(&mut out, Some(before), changes);
    Members::from_canonical(&out, target.has_unstorable() || patch.has_unstorable())
}

fn push_merged(out: &mut String, before: Option<Value<'_>>, patch: Value<'_>) {
    let Some(changes) = patch.entries() else {
        out.push_str(patch.encoded());
        return;
    };
    let mut by_name: HashMap<_, _> = changes.clone().collect();
    out.push('{');
    for (name, old) in before.and_then(Value::entries).into_iter().flatten() {
        match by_name.remove(name) {
            None => push_member(out, name, |out| out.push_str(old.encoded())),
            Some(new) if new.is_null() => {}
            Some(new) => push_member(out, name, |out| push_merged(out, Some(old), new)),
        }
    }
    for (name, new) in changes {
        if by_name.contains_key(name) && !new.is_null() {
            push_member(out, name, |out| push_merged(out, None, new));
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::merge_patch;
    use crate::Members;

    fn members(text: &str) -> Members {
        Members::read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_examples_of_rfc_7396_appendix_a_hold() {
        for (target, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            (r#"{"a":1.50,"b":2}"#, "{}", r#"{"a":1.50,"b":2}"#),
            (r#"{"z":1,"a":2}"#, r#"{"z":3,"m":4}"#, r#"{"z":3,"a":2,"m":4}"#),
            (r#"{"\u0061":1}"#, r#"{"a":2}"#, r#"{"a":2}"#),
        ] {
            let merged = merge_patch(&members(target), &members(patch));
            assert_eq!(merged.encoded(), result, "{target} + {patch}");
        }
    }
}
