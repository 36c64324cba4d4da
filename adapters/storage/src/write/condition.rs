//! The conditions of writes. Each is stated here, once; the engines execute them.
//!
//! A condition is an SQL expression over rows that every engine provides under these names:
//!
//! | row | columns |
//! |---|---|
//! | `g` | what the write is given: `id`, `collection`, `parent`, and where they are used `parent_collection`, `continues`, `expected`, `reads_hold`, `now` |
//! | `i` | the stored item, `p` its stored parent, `o` the stored item that it continues: rows of `items` |
//! | `k` | the row of `idempotency_keys` of the same request |
//!
//! A row that is not there has nulls. `PostgreSQL` locks the rows and provides those of their columns
//! that its statements name (`found` and `related` in `postgres/row_writes.rs`, `found` in
//! `postgres/writes.rs`): a condition on another column adds it there. To add a condition, add it
//! here, to the kinds of writes that it is of, and to
//! `tests/tests/repository/model/judgement.rs`.

use application::RepositoryError;

/// A condition, and the error where it does not hold. One that evaluates to null does not hold.
#[derive(Debug)]
pub(crate) struct Condition {
    holds: &'static str,
    refusal: RepositoryError,
}

const KEY_IS_NEW: Condition = Condition {
    holds: "k.expires_at IS NULL OR k.expires_at <= g.now",
    refusal: RepositoryError::AnsweredBefore,
};

const READ_SET_HOLDS: Condition =
    Condition { holds: "g.reads_hold", refusal: RepositoryError::VersionConflict };

const PARENT_EXISTS: Condition = Condition {
    holds: "g.parent IS NULL OR p.collection = g.parent_collection",
    refusal: RepositoryError::ParentNotFound,
};

const CONTINUED_ITEM_EXISTS: Condition = Condition {
    holds: "g.continues IS NULL OR o.collection = g.collection",
    refusal: RepositoryError::ItemNotFound,
};

/// Uses `max` rather than `EXISTS`, for which `PostgreSQL` may read all changes.
const HAS_A_HISTORY: Condition = Condition {
    holds: "(SELECT max(c.version) FROM changes c WHERE c.item_id = g.id) IS NOT NULL",
    refusal: RepositoryError::ItemNotFound,
};

const IS_ABSENT: Condition =
    Condition { holds: "i.id IS NULL", refusal: RepositoryError::VersionConflict };

const IS_IN_SCOPE: Condition = Condition {
    holds: "i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)",
    refusal: RepositoryError::ItemNotFound,
};

const IS_AT_EXPECTED_VERSION: Condition =
    Condition { holds: "i.version = g.expected", refusal: RepositoryError::VersionConflict };

/// The conditions of a kind of write. The first one that fails determines the error.
#[derive(Debug)]
pub(crate) struct Conditions(&'static [Condition]);

pub(crate) static INSERT: Conditions =
    Conditions(&[READ_SET_HOLDS, PARENT_EXISTS, CONTINUED_ITEM_EXISTS]);

pub(crate) static RESTORE: Conditions =
    Conditions(&[READ_SET_HOLDS, PARENT_EXISTS, HAS_A_HISTORY, IS_ABSENT]);

pub(crate) static UPDATE_OR_DELETE: Conditions =
    Conditions(&[READ_SET_HOLDS, IS_IN_SCOPE, IS_AT_EXPECTED_VERSION]);

impl Conditions {
    /// The conditions with, before them, that of a request with an idempotency key.
    fn numbered(&self, has_key: bool) -> impl Iterator<Item = (i64, &Condition)> {
        let of_key = has_key.then_some((0, &KEY_IS_NEW));
        of_key.into_iter().chain((1..).zip(self.0))
    }

    /// The number of the first condition that does not hold, as SQL; null where all hold.
    pub fn refusal(&self, has_key: bool) -> String {
        let case = |(number, Condition { holds, .. }): (i64, &Condition)| {
            format!(" WHEN ({holds}) IS NOT TRUE THEN {number}")
        };
        format!("CAST(CASE{} END AS BIGINT)", self.numbered(has_key).map(case).collect::<String>())
    }

    /// The error of the condition of a number.
    pub fn error(&self, refusal: i64) -> RepositoryError {
        let condition = self.numbered(true).find(|(number, _)| *number == refusal);
        condition.map_or(RepositoryError::Corrupt, |(_, condition)| condition.refusal)
    }
}

#[cfg(test)]
mod tests {
    use application::RepositoryError;

    use super::{INSERT, RESTORE, UPDATE_OR_DELETE};

    #[test]
    fn the_number_of_a_condition_is_that_of_its_error() {
        for conditions in [&INSERT, &RESTORE, &UPDATE_OR_DELETE] {
            let numbers = conditions.numbered(true).map(|(number, _)| number).collect::<Vec<_>>();
            assert_eq!(numbers, (0..numbers.len().try_into().unwrap()).collect::<Vec<_>>());
            for (number, condition) in conditions.numbered(true) {
                assert_eq!(conditions.error(number), condition.refusal);
            }
        }
        assert_eq!(UPDATE_OR_DELETE.error(99), RepositoryError::Corrupt);
    }

    #[test]
    fn a_request_without_a_key_asks_for_none() {
        assert!(INSERT.refusal(true).contains("k.expires_at"));
        assert!(!INSERT.refusal(false).contains("k.expires_at"));
    }
}
