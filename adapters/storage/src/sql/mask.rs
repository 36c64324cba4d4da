//! The visible members of items: each condition of a mask is a column, from the snapshot of the
//! item.

use std::fmt::Write;
use std::sync::Arc;

use application::Reach;
use application::query::Subject;
use domain::proposal::FieldKind;
use domain::{Mask, Predicate};

use crate::sql::json_member::Member;
use crate::sql::predicate::{Row, condition};
use crate::sql::sql_text::SqlText;

pub(crate) type Masked<'a> = Option<&'a Arc<Mask>>;

/// The columns `see_0`, `see_1`, …, each after a comma.
pub(crate) fn columns(sql: &mut SqlText, mask: Masked<'_>, row: &Row) -> String {
    columns_of(sql, mask, |sql, predicate| condition(sql, predicate, row))
}

/// As [`columns`], with other conditions.
pub(crate) fn columns_of(
    sql: &mut SqlText,
    mask: Masked<'_>,
    condition: impl Fn(&mut SqlText, &Predicate) -> String,
) -> String {
    let mut columns = String::new();
    for (number, predicate) in mask.iter().flat_map(|mask| mask.conditions()).enumerate() {
        if predicate.constant().is_none() {
            // Writing to a String cannot fail.
            let _ = write!(columns, ", {} AS see_{number}", condition(sql, predicate));
        }
    }
    columns
}

/// A member as it is visible in a reach. A partly visible one counts as absent.
pub(crate) fn member(
    sql: &mut SqlText,
    reach: &Reach,
    name: &str,
    kind: Option<FieldKind>,
) -> Member {
    let visible = reach.shows(name);
    if visible == Predicate::TRUE {
        return Member::indexed(sql, reach.scope().collection, name, kind);
    }
    let is_visible = condition(sql, &visible, &Row::of("w", "w.members"));
    Member::where_visible(sql, name, kind, &is_visible)
}

pub(crate) fn member_of(sql: &mut SqlText, reach: &Reach, subject: &Subject) -> Option<Member> {
    match subject {
        Subject::Member { name, kind } => Some(member(sql, reach, name, *kind)),
        _ => None,
    }
}
