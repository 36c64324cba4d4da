//! Removal of the bodies of superseded versions: the change records the time of the removal, and a
//! separate row records the progress. Older services can run until the first body is removed.

use crate::sql::dialect::Dialect;

/// The version of the schema from which on a change without members need not be a deletion.
pub(crate) const RETENTION_SCHEMA: i32 = 5;

pub(crate) fn statements(_: &Dialect) -> Vec<String> {
    vec![
        "ALTER TABLE changes ADD COLUMN removed_at BIGINT NULL".to_owned(),
        "CREATE TABLE compaction (policy TEXT NOT NULL, sequence BIGINT NOT NULL PRIMARY KEY, begins_at BIGINT NOT NULL, \
         holder TEXT NOT NULL, held_until BIGINT NOT NULL)"
            .to_owned(),
        "INSERT INTO compaction VALUES ('', 0, 0, '', 0)".to_owned(),
        format!("UPDATE schema_version SET version = {RETENTION_SCHEMA}"),
    ]
}
