//! JSON: an object per line, or an array of objects.

use std::io;
use std::sync::Arc;

use application::table::Column;
use application::{ImportRow, ItemContent, RowContent};
use bytes::Bytes;
use domain::json::{JsonError, Kind, MAX_DEPTH, push_string, read_within};
use domain::{Collection, Members, Pointer, Violation};

use super::csv::BOM;
use super::{malformed_file, members_of, require_rows, versioned};
use crate::hal::close_object;
use crate::problem::Result;

const ARRAY_DEPTH: usize = 1;

/// Writes items as lines. Values keep their text; so do names, except those of leading columns.
pub fn rows(
    collection: Collection,
    history: &str,
    fields: Option<&[Arc<str>]>,
    items: &[ItemContent],
) -> io::Result<Vec<u8>> {
    let mut out = String::new();
    let is_shown =
        |name: &str| fields.is_none_or(|fields| fields.iter().any(|field| **field == *name));
    for item in items {
        let members = members_of(item)?;
        out.push('{');
        let mut push = |name: &str, json: &str| {
            push_string(&mut out, name);
            out.extend([":", json, ","]);
        };
        for column in Column::leading(collection) {
            match column {
                Column::Id => push("id", &format!("\"{}\"", item.id)),
                Column::Version => {
                    push(&column.name(collection), &format!("\"{}\"", versioned(item, history)));
                }
                Column::Parent | Column::Member { .. } => {
                    if let Some(parent) = item.parent {
                        push(&column.name(collection), &format!("\"{parent}\""));
                    }
                }
            }
        }
        for (name, value) in members.iter().filter(|(name, _)| is_shown(name)) {
            push(&Column::name_in_json(collection, &name), value.encoded());
        }
        close_object(&mut out);
        out.push('\n');
    }
    Ok(out.into_bytes())
}

/// Skips empty lines but counts them.
pub fn read_lines(collection: Collection, body: &Bytes) -> Result<Vec<ImportRow>> {
    let body = body.strip_prefix(BOM.as_bytes()).unwrap_or(body);
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(body.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        require_rows(rows.len() + 1)?;
        rows.push(row(collection, (number, Some(number)), Members::read(line)));
    }
    Ok(rows)
}

fn row(
    collection: Collection,
    (number, line): (u64, Option<u64>),
    read: Result<Option<Members>, JsonError>,
) -> ImportRow {
    let refused = |code, detail| Err(Violation::new(Pointer::root(), code, detail));
    let content = match read {
        Ok(Some(object)) => RowContent::of_object(&object, |name| Column::named(collection, name)),
        Ok(None) => refused("not_an_object", "The row must be a JSON object.".to_owned()),
        Err(error) => refused("malformed_json", format!("The row is not valid JSON: {error}.")),
    };
    ImportRow { number, line, content }
}

pub fn read_array(collection: Collection, body: &Bytes) -> Result<Vec<ImportRow>> {
    let read = read_within(body, MAX_DEPTH + ARRAY_DEPTH)
        .map_err(|error| malformed_file(format!("The file is not valid JSON: {error}.")))?;
    let elements = match read.value().kind() {
        Kind::Array => read.value().elements(),
        _ => None,
    };
    let Some(elements) = elements else {
        let detail = "The file must be a JSON array. To send one object per line, use `application/x-ndjson`.";
        return Err(malformed_file(detail));
    };
    let mut rows = Vec::new();
    for (number, element) in (1..).zip(elements) {
        require_rows(rows.len() + 1)?;
        rows.push(row(collection, (number, None), Members::from_value(element)));
    }
    Ok(rows)
}
