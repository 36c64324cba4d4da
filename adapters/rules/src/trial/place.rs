//! Positions in the request.

use domain::json::{Kind, decode};
use domain::{Pointer, Value};
use language::error::Location;

/// Returns line and column after a text, both from 1. Columns count characters.
pub(super) fn in_text(before: &str) -> (u32, u32) {
    let Location { line, column } = Location::START.after(before);
    (line, column)
}

/// Returns the value at a position of compact JSON (one line). For a string, adds the line and
/// column within it.
pub(super) fn in_json(json: Value<'_>, place: Location) -> (Pointer, Option<(u32, u32)>) {
    let column = usize::try_from(place.column).unwrap_or(1);
    let text = json.encoded();
    let byte = text.char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    at_byte(json, byte)
}

/// Descends to the value at a byte. `at` is relative to the current value.
fn at_byte(json: Value<'_>, mut at: usize) -> (Pointer, Option<(u32, u32)>) {
    let (mut pointer, mut value) = (Pointer::root(), json);
    while let Some((step, inner, start)) = part_at(value, at) {
        pointer = match step {
            Step::Member(name) => pointer.member(&name),
            Step::Element(index) => pointer.index(index),
        };
        // The name of a member counts as its value.
        let Some(rest) = at.checked_sub(start) else { return (pointer, None) };
        (value, at) = (inner, rest);
    }
    let is_within = value.kind() == Kind::String && at > 0;
    let before = value.encoded().get(1..at).map(|start| format!("\"{start}\""));
    let before = before.filter(|_| is_within);
    let place =
        before.map(|quoted| in_text(&Value::from_encoded(&quoted).as_string().unwrap_or_default()));
    (pointer, place)
}

enum Step {
    Member(String),
    Element(usize),
}

fn part_at(value: Value<'_>, at: usize) -> Option<(Step, Value<'_>, usize)> {
    // The opening bracket, and a comma after each part.
    let mut start = 1;
    if at == 0 {
        return None;
    }
    for (name, member) in value.entries().into_iter().flatten() {
        let value_start = start + name.len() + "\"\":".len();
        let end = value_start + member.encoded().len();
        if at < end {
            return Some((Step::Member(decode(name).into_owned()), member, value_start));
        }
        start = end + 1;
    }
    for (index, element) in value.elements().into_iter().flatten().enumerate() {
        let end = start + element.encoded().len();
        if at < end {
            return Some((Step::Element(index), element, start));
        }
        start = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use domain::Value;

    use super::{at_byte, in_text};

    #[test]
    fn a_byte_of_json_is_in_a_value() {
        let text = r#"{"a":"x\ny","b/c":[1,{"d":"é\"z"}],"e":{}}"#;
        let json = Value::from_encoded(text);
        for (at, pointer, place) in [
            (text.find("{\"a"), "", None),
            (text.find("a\""), "/a", None),
            (text.find("\"x"), "/a", None),
            (text.find("x\\n"), "/a", Some((1, 1))),
            (text.find("y\""), "/a", Some((2, 1))),
            (text.find("/c"), "/b~1c", None),
            (text.find("1,"), "/b~1c/0", None),
            (text.find("\"z").map(|at| at + 1), "/b~1c/1/d", Some((1, 3))),
            (text.find("{}"), "/e", None),
            (Some(text.len()), "", None),
            (Some(text.len() + 9), "", None),
        ] {
            let at = at.expect("a part of the text");
            let found = at_byte(json, at);
            assert_eq!((found.0.to_string().as_str(), found.1), (pointer, place), "{at}");
        }
        assert_eq!((in_text(""), in_text("é"), in_text("a\n\nbc")), ((1, 1), (1, 2), (3, 3)));
    }
}
