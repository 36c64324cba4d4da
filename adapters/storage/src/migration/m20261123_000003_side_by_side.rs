//! Tables by which versions of the service know of each other on one database: the steps of
//! migrations that are done, and the instances that run. The version of the schema stays: who has
//! not heard of these tables does not miss them.

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
