//! The names of what items hold, as filters, orders and lists of fields use them.
//!
//! Names in a list are separated by commas, which are looked for after decoding: most clients
//! encode a comma that stands between two names. So a member with a comma in its name can be
//! filtered by, but neither sorted by nor picked.

use application::query::Subject;
use domain::{Fields, nearest};

use super::error::{fix, invalid, quoted};
use crate::groups::Group;
use crate::problem::Problem;

/// Most characters of a value, and of a name.
pub const MOST_VALUE: usize = 1_000;

/// Most characters of a list of names.
pub const MOST_IN_NAMES: usize = 2_000;

/// The times of an item, which stand in `_meta`. A member that has one of these names cannot be
/// filtered or sorted by.
pub const TIMES: [(&str, Subject); 2] =
    [("created_at", Subject::CreatedAt), ("updated_at", Subject::UpdatedAt)];

/// The names of a list.
pub fn split<'a>(
    parameter: &str,
    written: &'a str,
    most: usize,
) -> Result<impl Iterator<Item = &'a str>, Problem> {
    if written.split(',').count() > most || written.chars().count() > MOST_IN_NAMES {
        return Err(invalid(format!(
            "`{parameter}` takes at most {most} names, and {MOST_IN_NAMES} characters in all."
        )));
    }
    Ok(written.split(','))
}

/// The member that a parameter names, or one of the `others` that it takes as well.
pub fn subject(
    group: Group,
    parameter: &str,
    name: &str,
    others: &[(&'static str, Subject)],
) -> Result<Subject, Problem> {
    if let Some((_, other)) = others.iter().find(|(known, _)| *known == name) {
        return Ok(other.clone());
    }
    let item = group.item_name;
    if name.is_empty() {
        return Err(invalid(format!(
            "`{parameter}` has an empty name in it; name a member of {item}."
        )));
    }
    if name.chars().count() > MOST_VALUE {
        return Err(invalid(format!(
            "`{parameter}` has a name of more than {MOST_VALUE} characters."
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
        fix(nearest(name, known), || "see the list of its fields in the documentation.".to_owned());
    let name = quoted(name);
    Err(invalid(format!("`{parameter}` names {name}, and {item} has no such field; {fix}")))
}
