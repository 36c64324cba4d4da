//! JSON Merge Patch (RFC 7396).

use std::collections::HashMap;

use crate::Members;
use crate::members::MembersBuilder;
use crate::value::{Kind, Value};

/// `target` with `patch` applied: a `null` removes a member, an object is merged into an object,
/// all else replaces. Members keep their place; new ones follow in the patch's order.
#[must_use]
pub fn merge_patch(target: &Members, patch: &Members) -> Members {
    let bytes = target.encoded().len() + patch.encoded().len();
    let mut builder = MembersBuilder::new(target.has_unstorable() || patch.has_unstorable(), bytes);
    merge(target.encoded_entries(), patch.encoded_entries(), &mut |name, value| {
        builder.push_encoded(name, |out| value.write(out));
    });
    builder.finish()
}

/// The result of a merge for one member.
enum Merged<'a> {
    Kept(Value<'a>),
    Patched { before: Option<Value<'a>>, patch: Value<'a> },
}

impl Merged<'_> {
    fn write(&self, out: &mut String) {
        match *self {
            Self::Kept(value) => out.push_str(value.encoded()),
            Self::Patched { before, patch } => match patch.entries() {
                None => out.push_str(patch.encoded()),
                Some(patch_entries) => {
                    let before = before
                        .filter(|value| value.kind() == Kind::Object)
                        .and_then(Value::entries);
                    out.push('{');
                    let mut is_first = true;
                    merge(before.into_iter().flatten(), patch_entries, &mut |name, value| {
                        if !std::mem::take(&mut is_first) {
                            out.push(',');
                        }
                        out.push('"');
                        out.push_str(name);
                        out.push_str("\":");
                        value.write(out);
                    });
                    out.push('}');
                }
            },
        }
    }
}

fn merge<'a>(
    target: impl Iterator<Item = (&'a str, Value<'a>)>,
    patch: impl Iterator<Item = (&'a str, Value<'a>)>,
    emit: &mut dyn FnMut(&'a str, Merged<'a>),
) {
    let patch: Vec<_> = patch.collect();
    let mut position: HashMap<&str, usize> =
        patch.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
    for (name, before) in target {
        match position.remove(name).map(|index| patch[index].1) {
            None => emit(name, Merged::Kept(before)),
            Some(value) if value.is_null() => {}
            Some(value) => emit(name, Merged::Patched { before: Some(before), patch: value }),
        }
    }
    for (name, value) in patch {
        if position.contains_key(name) && !value.is_null() {
            emit(name, Merged::Patched { before: None, patch: value });
        }
    }
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
            assert_eq!(
                merge_patch(&members(target), &members(patch)).encoded(),
                result,
                "{target} + {patch}"
            );
        }
    }
}
