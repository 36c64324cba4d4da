//! The column for the programme that a proposal names becomes one for what an item of any
//! collection refers to: score sheets, files and cash programmes refer to a proposal.

use sea_orm::DbBackend;

use crate::sql::dialect::Dialect;

/// The key of such an item's `proposal_id` is in the column `subject`. An identifier is a UUID of
/// version 7 in lower case.
const FILL: [&str; 2] = [
    "UPDATE items SET reference_0 = unhex(subject, '-') \
     WHERE collection IN ('gadscores', 'files', 'cashprogram') \
     AND subject LIKE '________-____-7___-____-____________' AND length(unhex(subject, '-')) = 16 \
     AND subject NOT GLOB '*[A-F]*'",
    "UPDATE items SET reference_0 = subject::uuid \
     WHERE collection IN ('gadscores', 'files', 'cashprogram') \
     AND subject ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$'",
];

pub(super) fn statements(dialect: &Dialect) -> Vec<String> {
    let rename = |table| format!("ALTER TABLE {table} RENAME COLUMN program TO reference_0");
    let fill = FILL[usize::from(dialect.backend != DbBackend::Sqlite)];
    vec![rename("items"), rename("idempotency_keys"), fill.to_owned()]
}
