//! The names of members in filters, orders and lists of fields.
//!
//! Lists are split at commas after decoding, because most clients encode a comma between names. So
//! a member with a comma in its name works in filters, but not in `sort` or `fields`.

use application::query::Subject;
use domain::{Fields, nearest};

use super::error::{fix, invalid, quoted};
use crate::groups::Group;
use crate::problem::Result;

/// In characters.
pub const MOST_VALUE: usize = 1_000;

/// In characters.
pub const MOST_IN_NAMES: usize = 2_000;

/// These names mean the times in `_meta`. Members with the same names cannot be filtered or sorted.
pub const TIMES: [(&str, Subject); 2] =
    [("created_at", Subject::CreatedAt), ("updated_at", Subject::UpdatedAt)];

pub fn split<'a>(
    parameter: &str,
    written: &'a str,
    most: usize,
) -> Result<impl Iterator<Item = &'a str>> {
    if written.split(',').count() > most || written.chars().count() > MOST_IN_NAMES {
        return Err(invalid(format!(
            "`{parameter}` takes at most {most} names and {MOST_IN_NAMES} characters in total."
        )));
    }
    Ok(written.split(','))
}

pub fn subject(
    group: Group,
    parameter: &str,
    name: &str,
    others: &[(&'static str, Subject)],
) -> Result<Subject> {
    if let Some((_, other)) = others.iter().find(|(known, _)| *known == name) {
        return Ok(other.clone());
    }
    let item = group.item_name;
    if name.is_empty() {
        return Err(invalid(format!(
            "`{parameter}` contains an empty name. Name a member of {item}."
        )));
    }
    if name.chars().count() > MOST_VALUE {
        return Err(invalid(format!(
            "`{parameter}` contains a name of more than {MOST_VALUE} characters."
        )));
    }
    let Fields::Typed(fields) = group.collection.spec().fields else {
        return Ok(Subject::Member { name: name.into(), kind: None });
    };
    if let Some(field) = fields.iter().find(|field| field.name == name) {
        return Ok(Subject::Member { name: name.into(), kind: Some(field.kind) });
    }
    let known = fields.iter().map(|field| field.name).chain(others.iter().map(|(name, _)| *name));
    let fix =
        fix(nearest(name, known), || "See the list of fields in the documentation.".to_owned());
    let name = quoted(name);
    Err(invalid(format!("Unknown field {name} of {item} in `{parameter}`. {fix}")))
}
