//! The remarks of a response beside the item, such as the warnings of rules, for a request that is
//! sent again.

use crate::sql::dialect::Dialect;

pub(super) fn statements(_: &Dialect) -> Vec<String> {
    vec!["ALTER TABLE idempotency_keys ADD COLUMN remarks TEXT NOT NULL DEFAULT ''".to_owned()]
}
