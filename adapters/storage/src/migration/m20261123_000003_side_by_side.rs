//! Tables for several versions of the service on one database: the completed migration steps and
//! the running instances. The schema version stays the same, because older services do not need
//! these tables.

use crate::sql::dialect::Dialect;

/// Times are microseconds by the database's clock.
pub(super) fn statements(Dialect { without_rowid, .. }: &Dialect) -> Vec<String> {
    vec![
        format!(
            "CREATE TABLE schema_steps (
                migration TEXT NOT NULL,
                step TEXT NOT NULL,
                position TEXT NOT NULL,
                is_done INTEGER NOT NULL,
                PRIMARY KEY (migration, step)
            ){without_rowid}"
        ),
        format!(
            "CREATE TABLE service_instances (
                id TEXT NOT NULL PRIMARY KEY,
                schema_version INTEGER NOT NULL,
                address TEXT NOT NULL,
                seen_at BIGINT NOT NULL
            ){without_rowid}"
        ),
    ]
}
