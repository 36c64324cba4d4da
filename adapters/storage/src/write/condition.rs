//! The conditions of writes, with their errors. The SQL file of each kind of write has a `CASE`
//! with the numbers of those it requires; the first that does not hold determines the error. A test
//! compares the files with this table. The row `g` is given ([`crate::write::row::RowParameters`]), `i`
//! is the stored item, `p` its stored parent, and `o` the stored item that it continues. A missing
//! row has nulls. A null condition does not hold. No condition has `EXISTS`, for which PostgreSQL may
//! read a whole table.

use application::RepositoryError::{self, ItemNotFound, ParentNotFound, VersionConflict};

const CONDITIONS: [(&str, RepositoryError); 7] = [
    ("g.reads_hold", VersionConflict),
    ("g.parent IS NULL OR p.collection = g.parent_collection", ParentNotFound),
    ("g.continues IS NULL OR g.kind = 'restored' OR o.collection = g.collection", ItemNotFound),
    (
        "g.kind = 'created' OR (SELECT max(c.version) FROM changes c WHERE c.item_id = g.id) IS NOT NULL",
        ItemNotFound,
    ),
    (
        "g.kind = 'created' OR (SELECT i.version FROM items i WHERE i.id = g.id) IS NULL",
        VersionConflict,
    ),
    ("i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)", ItemNotFound),
    ("i.version = g.expected", VersionConflict),
];

/// The error of the condition of a number, from 1.
pub(crate) fn error(refusal: i64) -> RepositoryError {
    let condition = usize::try_from(refusal - 1).ok().and_then(|at| CONDITIONS.get(at));
    condition.map_or(RepositoryError::Corrupt, |(_, error)| *error)
}

#[cfg(test)]
mod tests {
    use application::RepositoryError;

    use super::{CONDITIONS, error};
    use crate::sql::dialect::{POSTGRES, SQLITE};
    use crate::write::connection::of_rows;
    use crate::write::row::RowKind;

    #[test]
    fn each_file_decides_the_conditions_of_its_kind() {
        for dialect in [&POSTGRES, &SQLITE] {
            for kind in RowKind::ALL {
                let required: &[usize] = match kind {
                    RowKind::Insert | RowKind::Restore => &[1, 2, 3, 4, 5],
                    RowKind::Update | RowKind::Delete => &[1, 6, 7],
                };
                let mut cases = String::from("CASE");
                for number in required {
                    let (holds, _) = CONDITIONS[number - 1];
                    cases = format!("{cases} WHEN ({holds}) IS NOT TRUE THEN {number}");
                }
                let file = of_rows(dialect, kind).split_whitespace().collect::<Vec<_>>();
                assert!(
                    file.join(" ").contains(&(cases.clone() + " END")),
                    "{kind:?} lacks {cases}"
                );
            }
        }
        assert_eq!(error(6), RepositoryError::ItemNotFound);
        assert_eq!(error(0), RepositoryError::Corrupt);
        assert_eq!(error(9), RepositoryError::Corrupt);
    }
}
