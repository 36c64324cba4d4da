//! The names of what items hold, as filters, orders and lists of fields use them.
//!
//! Lists of names are parted by commas, which are parted after decoding: most clients encode a
//! comma that stands between two names. So a member with a comma in its name can be filtered by,
//! but neither sorted by nor picked.

use std::sync::Arc;

use application::query::Subject;
use domain::proposal::Field;
use domain::{Fields, nearest};

use super::fault::{fix, invalid, quoted};
use crate::groups::Group;
use crate::problem::Problem;

/// Most characters of a value, and of a name.
pub const MOST_VALUE: usize = 1_000;

/// The times of an item, which stand in `_meta`. A member that has one of these names cannot be
/// filtered or sorted by.
pub const TIMES: [(&str, Subject); 2] =
    [("created_at", Subject::CreatedAt), ("updated_at", Subject::UpdatedAt)];

/// Most characters of a list of names.
pub const MOST_IN_NAMES: usize = 2_000;

/// The names of a list.
///
/// # Errors
/// 400 for more than `most`, or a list that is too long.
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

/// The names a group's items know.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    fields: Fields,
    item: &'static str,
}

impl Names {
    /// Those of a group.
    pub const fn of(group: Group) -> Self {
        Self { fields: group.collection.spec().fields, item: group.item_name }
    }

    /// The member or the time that a parameter names.
    ///
    /// # Errors
    /// 400 for a name that is empty or too long, or that no item can have.
    pub fn subject(self, parameter: &str, name: &str) -> Result<Subject, Problem> {
        if let Some((_, time)) = TIMES.iter().find(|(known, _)| *known == name) {
            return Ok(time.clone());
        }
        self.member(parameter, name, &TIMES.map(|(name, _)| name))
    }

    /// The member that a parameter names, which might have named `others` as well.
    ///
    /// # Errors
    /// 400 for a name that is empty or too long, or that no item can have.
    pub fn member(
        self,
        parameter: &str,
        name: &str,
        others: &[&'static str],
    ) -> Result<Subject, Problem> {
        if name.is_empty() {
            return Err(invalid(format!(
                "`{parameter}` has an empty name in it; name a member of {}.",
                self.item
            )));
        }
        if name.chars().count() > MOST_VALUE {
            return Err(invalid(format!(
                "`{parameter}` has a name of more than {MOST_VALUE} characters."
            )));
        }
        let kind = match self.fields {
            Fields::Open(_) => None,
            Fields::Typed(fields) => {
                let field = fields.iter().find(|field| field.name == name);
                Some(field.ok_or_else(|| self.unknown(fields, parameter, name, others))?.kind)
            }
        };
        Ok(Subject::Member { name: Arc::from(name), kind })
    }

    fn unknown(
        self,
        fields: &[Field],
        parameter: &str,
        name: &str,
        others: &[&'static str],
    ) -> Problem {
        let known = fields.iter().map(|field| field.name).chain(others.iter().copied());
        let fix = fix(nearest(name, known), || {
            "see the list of its fields in the documentation.".to_owned()
        });
        invalid(format!(
            "`{parameter}` names {}, and {} has no such field; {fix}",
            quoted(name),
            self.item
        ))
    }
}
