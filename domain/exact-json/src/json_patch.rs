//! The difference between two values as a JSON Patch (RFC 6902).
//!
//! Objects are compared by member, in any order. A nested value is replaced as a whole if a patch
//! of its parts would be much longer, or if the comparison would take many times its length. Thus
//! the length of the values bounds the size of a patch and the work. The members of a root object
//! are always compared.

use std::fmt::Write;

use crate::value::{Kind, Value};

/// Longer arrays are not compared by element.
const MOST_ELEMENTS: usize = 10_000;

/// How many bytes longer a patch of an object's members may be than its replacement.
const SLACK: usize = 512;

/// The work limit: a multiple of the length of both values, and a minimum for small values.
const MOST_LOOKS: usize = 8;
const SMALL: usize = 1 << 20;

/// Returns the operations that turn `from` into `to`, as the compact JSON text of an array: `add`,
/// `remove` and `replace` alone. Numbers are compared by their digits: `1.0` is not `1.00`.
pub fn json_patch(from: Value<'_>, to: Value<'_>) -> String {
    let remaining = SMALL.max(MOST_LOOKS * (from.encoded().len() + to.encoded().len()));
    let mut patch = Patch { operations: String::from("["), path: String::new(), remaining };
    patch.change(from, to);
    if patch.operations.ends_with(',') {
        patch.operations.pop();
    }
    patch.operations.push(']');
    patch.operations
}

struct Patch {
    /// Each operation ends with a comma.
    operations: String,
    /// The path, escaped for a JSON text.
    path: String,
    /// The remaining bytes of the work limit.
    remaining: usize,
}

/// The reason to replace a value as a whole.
enum Whole {
    Shorter,
    NotCompared,
}

impl Patch {
    fn change(&mut self, from: Value<'_>, to: Value<'_>) {
        if from.encoded() == to.encoded() {
            return;
        }
        let (start, path) = (self.operations.len(), self.path.len());
        let most = start + path + to.encoded().len();
        let whole = match (from.kind(), to.kind()) {
            _ if !self.look_through(from, to) => Err(Whole::NotCompared),
            (Kind::Object, Kind::Object) if path == 0 => self.change_object(from, to, usize::MAX),
            (Kind::Object, Kind::Object) => self.change_object(from, to, most + SLACK),
            (Kind::Array, Kind::Array) => self.change_array(from, to, most),
            _ => Err(Whole::Shorter),
        };
        let is_replaced = match whole {
            Ok(()) => false,
            Err(Whole::Shorter) => true,
            Err(Whole::NotCompared) => !is_same(from, to),
        };
        if whole.is_err() {
            self.operations.truncate(start);
            self.path.truncate(path);
        }
        if is_replaced {
            self.push("replace", Some(to));
        }
    }

    fn change_object(&mut self, from: Value<'_>, to: Value<'_>, most: usize) -> Result<(), Whole> {
        let before = sorted_members(from);
        let place_of = |name: &str| before.binary_search_by_key(&name, |(name, _)| *name);
        let mut stays = vec![false; before.len()];
        for place in members(to).filter_map(|(name, _)| place_of(name).ok()) {
            stays[place] = true;
        }
        for (name, _) in members(from).filter(|(name, _)| place_of(name).is_ok_and(|at| !stays[at]))
        {
            self.within(&escaped(name), most, |patch| patch.push("remove", None))?;
        }
        for (name, value) in members(to) {
            self.within(&escaped(name), most, |patch| match place_of(name) {
                Ok(place) => patch.change(before[place].1, value),
                Err(_) => patch.push("add", Some(value)),
            })?;
        }
        Ok(())
    }

    /// Keeps equal elements at both ends. Changes those between in place, then adds or removes the
    /// rest.
    fn change_array(&mut self, from: Value<'_>, to: Value<'_>, most: usize) -> Result<(), Whole> {
        let (before, after) = (elements(from)?, elements(to)?);
        let is_alike = |(one, other): &(&Value<'_>, &Value<'_>)| one.encoded() == other.encoded();
        let first = before.iter().zip(&after).take_while(is_alike).count();
        let (before, after) = (&before[first..], &after[first..]);
        let last = before.iter().rev().zip(after.iter().rev()).take_while(is_alike).count();
        let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
        let changed = before.len().min(after.len());
        for (place, (old, new)) in before.iter().zip(after).enumerate() {
            self.within(&(first + place).to_string(), most, |patch| patch.change(*old, *new))?;
        }
        for place in (changed..before.len()).rev() {
            self.within(&(first + place).to_string(), most, |patch| patch.push("remove", None))?;
        }
        for (place, new) in after.iter().enumerate().skip(changed) {
            self.within(&(first + place).to_string(), most, |patch| patch.push("add", Some(*new)))?;
        }
        Ok(())
    }

    /// Counts both values as work. Returns `false` beyond the limit.
    fn look_through(&mut self, from: Value<'_>, to: Value<'_>) -> bool {
        let rest = self.remaining.checked_sub(from.encoded().len() + to.encoded().len());
        self.remaining = rest.unwrap_or_default();
        rest.is_some()
    }

    fn within(
        &mut self,
        step: &str,
        most: usize,
        work: impl FnOnce(&mut Self),
    ) -> Result<(), Whole> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        work(self);
        self.path.truncate(length);
        if self.operations.len() > most { Err(Whole::Shorter) } else { Ok(()) }
    }

    fn push(&mut self, operation: &str, value: Option<Value<'_>>) {
        let _ = write!(self.operations, "{{\"op\":\"{operation}\",\"path\":\"{}\"", self.path);
        if let Some(value) = value {
            self.operations.push_str(",\"value\":");
            self.operations.push_str(value.encoded());
        }
        self.operations.push_str("},");
    }
}

fn members(object: Value<'_>) -> impl Iterator<Item = (&str, Value<'_>)> {
    object.entries().into_iter().flatten()
}

fn sorted_members(object: Value<'_>) -> Vec<(&str, Value<'_>)> {
    let mut sorted: Vec<_> = members(object).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    sorted
}

fn elements(array: Value<'_>) -> Result<Vec<Value<'_>>, Whole> {
    let elements: Vec<_> = array.elements().into_iter().flatten().take(MOST_ELEMENTS + 1).collect();
    if elements.len() > MOST_ELEMENTS { Err(Whole::NotCompared) } else { Ok(elements) }
}

/// Returns `true` if two values differ at most in the order of members. Such values have equal
/// lengths, which quickly excludes most others.
fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    if one.encoded() == other.encoded() {
        return true;
    }
    if one.encoded().len() != other.encoded().len() {
        return false;
    }
    match (one.kind(), other.kind()) {
        (Kind::Object, Kind::Object) => {
            let (one, other) = (sorted_members(one), sorted_members(other));
            one.len() == other.len()
                && one.iter().zip(&other).all(|((name, value), (other_name, other_value))| {
                    name == other_name && is_same(*value, *other_value)
                })
        }
        (Kind::Array, Kind::Array) => {
            let mut others = other.elements().into_iter().flatten();
            one.elements()
                .into_iter()
                .flatten()
                .all(|element| others.next().is_some_and(|other| is_same(element, other)))
                && others.next().is_none()
        }
        _ => false,
    }
}

/// Adds the escaping of a JSON Pointer (RFC 6901 section 3) to that of a JSON text.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::json_patch;
    use crate::Members;

    fn patch(from: &str, to: &str) -> String {
        let read = |text: &str| Members::read(text.as_bytes()).unwrap().unwrap();
        let (from, to) = (read(from), read(to));
        let [from, to] = [&from, &to].map(|of| crate::Value::from_encoded(of.encoded()));
        json_patch(from, to)
    }

    const LONG: &str = "a string so long that a patch of the rest is shorter than the whole document again, for paths of any length";

    /// Two states and the patch, with `LONG` in the place of a long string. An indented line continues the row before.
    const DIFFERENCES: &str = r#"
{"a":1} => {"a":1} => []
{"a":1,"b":2} => {"b":2,"a":1} => []
{"a":1.0,"l":"LONG"} => {"a":1.00,"l":"LONG"} => [{"op":"replace","path":"/a","value":1.00}]
{"a/b~":1,"l":"LONG"} => {"l":"LONG","ñ\"":2} => [{"op":"remove","path":"/a~1b~0"},{"op":"add","path":"/ñ\"","value":2}]
{"o":{"l":"LONG","x":[1,2,3]}} => {"o":{"l":"LONG","x":[1,7,3]}} => [{"op":"replace","path":"/o/x","value":[1,7,3]}]
{"x":["LONG","a","b"]} => {"x":["LONG","b"]} => [{"op":"remove","path":"/x/1"}]
{"x":["LONG","b"]} => {"x":["a","LONG","b"]} => [{"op":"add","path":"/x/0","value":"a"}]
{"x":{}} => {"x":[]} => [{"op":"replace","path":"/x","value":[]}]
{"a":1,"b":{"c":2,"d":3}} => {"b":{"d":4,"c":2},"e":5}
    => [{"op":"remove","path":"/a"},{"op":"replace","path":"/b/d","value":4},{"op":"add","path":"/e","value":5}]
{"x":[{"a":1,"b":[2]}]} => {"x":[{"b":[2],"a":1}]} => []
"#;

    #[test]
    fn a_patch_contains_the_differences() {
        for row in DIFFERENCES.trim().replace("\n   ", "").lines() {
            let columns = row.split(" => ").map(|text| text.replace("LONG", LONG));
            let [from, to, expected] = <[_; 3]>::try_from(columns.collect::<Vec<_>>()).unwrap();
            assert_eq!(patch(&from, &to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn a_patch_is_no_longer_than_the_whole() {
        let wide = |element: &str| format!(r#"{{"x":[{}]}}"#, vec![element; 30_000].join(","));
        let (from, to) = (wide("1"), wide("2"));
        assert!(patch(&from, &to).len() < to.len() + 100);
        let narrow = |element: &str| {
            format!(r#"{{"{}":[{}]}}"#, "long name".repeat(100), vec![element; 9_000].join(","))
        };
        let (from, to) = (narrow("1"), narrow("2"));
        assert!(patch(&from, &to).len() < to.len() + 2_000);
    }

    #[test]
    fn what_is_very_deep_is_not_taken_apart_to_its_end() {
        let deep = |element: &str| {
            format!(r#"{{"x":{}"{LONG}",{element}{}}}"#, "[".repeat(100), "]".repeat(100))
        };
        let (from, to) = (deep("1"), deep("2"));
        assert!(patch(&from, &to).contains("/0/0/0"), "small values are");
        let wide = vec![format!("\"{LONG}\""); 20_000].join(",");
        let [from, to] = [from, to].map(|text| text.replace(&format!("\"{LONG}\""), &wide));
        let is_whole = patch(&from, &to).starts_with(r#"[{"op":"replace","path":"/x"#);
        assert!(is_whole, "large ones are replaced as a whole");
        assert!(!patch(&from, &to).contains("/0/0/0/0/0/0/0/0/0/0/0/0/0"));
    }

    #[test]
    fn the_order_of_members_is_no_difference_however_large_the_values_are() {
        let nested = |object: &str| {
            let inner = format!("{}{object}{}", "[".repeat(100), "]".repeat(100));
            format!(r#"{{"x":[{inner},{}]}}"#, vec!["1"; 20_000].join(","))
        };
        assert_eq!(patch(&nested(r#"{"a":1,"b":2}"#), &nested(r#"{"b":2,"a":1}"#)), "[]");
        let wide = |names: &mut dyn Iterator<Item = u32>| {
            let members: Vec<_> = names.map(|name| format!("\"{name}\":{name}")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert_eq!(patch(&wide(&mut (0..30_000)), &wide(&mut (0..30_000).rev())), "[]");
        let one_more = patch(&wide(&mut (0..30_000)), &wide(&mut (0..30_001).rev()));
        assert_eq!(one_more, r#"[{"op":"add","path":"/30000","value":30000}]"#);
    }

    #[test]
    fn names_that_are_long_do_not_make_a_patch_many_times_as_long() {
        let members = |value: u32| {
            let members: Vec<_> = (0..1_000).map(|name| format!("\"{name}\":{value}")).collect();
            format!(r#"{{"{}":{{{}}}}}"#, "n".repeat(10_000), members.join(","))
        };
        assert!(patch(&members(1), &members(2)).len() < 25_000);
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            (0..5_i64).prop_map(Into::into),
            "[a-c/~\"ñ]{0,3}".prop_map(Into::into),
            Just(LONG.into()),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map("[a-c/~\"]{0,2}", inner, 0..6)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        /// Another implementation of RFC 6902 makes the one of the other with it.
        #[test]
        fn a_patch_makes_one_of_the_other(from in value(), to in value()) {
            let (mut from, to) = (serde_json::json!({ "x": from }), serde_json::json!({ "x": to }));
            let operations: json_patch::Patch = serde_json::from_str(&patch(&from.to_string(), &to.to_string())).unwrap();
            json_patch::patch(&mut from, &operations).unwrap();
            prop_assert_eq!(from, to);
        }
    }
}
