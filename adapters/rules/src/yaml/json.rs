//! A value as compact JSON text.

use domain::json::push_string;

use super::{Content, Node, Scalar, ScalarKind};
use crate::error::Location;

/// Appends the value, every digit of a number kept. What a place cannot say in JSON is told with
/// it.
pub(crate) fn write_json(
    node: &Node,
    most_bytes: usize,
    out: &mut String,
) -> Result<(), (Location, String)> {
    // Aliases let a short text stand for a long one.
    if out.len() > most_bytes {
        return Err((
            node.place,
            format!("the items of all cases together are larger than {most_bytes} bytes"),
        ));
    }
    match &node.content {
        Content::Scalar(scalar) => {
            write_scalar(scalar, out).map_err(|reason| (node.place, reason))?;
        }
        Content::List(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(element, most_bytes, out)?;
            }
            out.push(']');
        }
        Content::Mapping(entries) => {
            out.push('{');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, &entry.key);
                out.push(':');
                write_json(&entry.value, most_bytes, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_scalar(scalar: &Scalar, out: &mut String) -> Result<(), String> {
    match scalar.kind() {
        ScalarKind::Null => out.push_str("null"),
        ScalarKind::Boolean => out.push_str(&scalar.text.to_ascii_lowercase()),
        ScalarKind::Number => out.push_str(&scalar.text),
        ScalarKind::OddNumber => {
            return Err(format!(
                "JSON does not write a number as `{}`; write it as JSON does, or in quotes if it is a string",
                scalar.text
            ));
        }
        ScalarKind::String => push_string(out, &scalar.text),
    }
    Ok(())
}
