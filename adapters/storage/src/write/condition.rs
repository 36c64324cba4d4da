//! The conditions of writes, with their errors. The SQL file of each kind of write has a `CASE` with
//! them; the first that does not hold determines the error. A test compares files and table.
//!
//! | row | columns |
//! |---|---|
//! | `g` | the row that is given ([`crate::write::row::WriteRow`]) |
//! | `i` | the stored item, `p` its stored parent, `o` the stored item that it continues |
//!
//! A row that does not exist has nulls. A condition that evaluates to null does not hold.

use application::RepositoryError::{self, ItemNotFound, ParentNotFound, VersionConflict};

use crate::write::row::RowKind;

type Condition = (&'static str, RepositoryError);

const READ_SET_HOLDS: Condition = ("g.reads_hold", VersionConflict);

const PARENT_EXISTS: Condition =
    ("g.parent IS NULL OR p.collection = g.parent_collection", ParentNotFound);

const CONTINUED_ITEM_EXISTS: Condition =
    ("g.continues IS NULL OR o.collection = g.collection", ItemNotFound);

/// Uses `max` rather than `EXISTS`, for which `PostgreSQL` may read all changes.
const HAS_A_HISTORY: Condition =
    ("(SELECT max(c.version) FROM changes c WHERE c.item_id = g.id) IS NOT NULL", ItemNotFound);

const IS_ABSENT: Condition = ("i.id IS NULL", VersionConflict);

const IS_IN_SCOPE: Condition =
    ("i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)", ItemNotFound);

const IS_AT_EXPECTED_VERSION: Condition = ("i.version = g.expected", VersionConflict);

const fn conditions(kind: RowKind) -> &'static [Condition] {
    match kind {
        RowKind::Insert => &[READ_SET_HOLDS, PARENT_EXISTS, CONTINUED_ITEM_EXISTS],
        RowKind::Restore => &[READ_SET_HOLDS, PARENT_EXISTS, HAS_A_HISTORY, IS_ABSENT],
        RowKind::Update | RowKind::Delete => &[READ_SET_HOLDS, IS_IN_SCOPE, IS_AT_EXPECTED_VERSION],
    }
}

/// The error of the condition of a number, from 1.
pub(crate) fn error(kind: RowKind, refusal: i64) -> RepositoryError {
    let condition = usize::try_from(refusal - 1).ok().and_then(|at| conditions(kind).get(at));
    condition.map_or(RepositoryError::Corrupt, |(_, error)| *error)
}

#[cfg(test)]
mod tests {
    use application::RepositoryError;

    use super::{conditions, error};
    use crate::sql::dialect::{POSTGRES, SQLITE};
    use crate::write::row::RowKind;
    use crate::write::statements::of_rows;

    #[test]
    fn each_file_decides_the_conditions_of_its_kind() {
        for dialect in [&POSTGRES, &SQLITE] {
            for kind in RowKind::ALL {
                let mut cases = String::from("CASE");
                for (number, (holds, _)) in (1..).zip(conditions(kind)) {
                    cases = format!("{cases} WHEN ({holds}) IS NOT TRUE THEN {number}");
                }
                let file = of_rows(dialect, kind).split_whitespace().collect::<Vec<_>>();
                assert!(
                    file.join(" ").contains(&(cases.clone() + " END")),
                    "{kind:?} lacks {cases}"
                );
            }
        }
        assert_eq!(error(RowKind::Update, 2), RepositoryError::ItemNotFound);
        assert_eq!(error(RowKind::Update, 0), RepositoryError::Corrupt);
        assert_eq!(error(RowKind::Update, 9), RepositoryError::Corrupt);
    }
}
