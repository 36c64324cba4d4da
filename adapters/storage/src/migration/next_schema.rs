//! A schema for tests of upgrades, one version ahead, in builds with the feature `next-schema` and in
//! no others: the time of an item's last write moves to a column of another name.
//!
//! An older service writes only to the old column, so the new one becomes stale. This build
//! therefore writes both and reads the old one. After the older services have ended, the backfill
//! runs again, and only then is the new column declared not null.

use sea_orm::DbBackend;

use super::schema_version::SCHEMA_VERSION;
use super::stages::{Backfill, Index, Migration, Stages, Step, staged};
use crate::sql::dialect::Dialect;

/// True in builds for these tests.
const IS_BUILT: bool = cfg!(feature = "next-schema");

const BACKFILL: Backfill = Backfill {
    set: "written_at = updated_at",
    stale: |dialect| match dialect.backend {
        DbBackend::Sqlite => "written_at IS NOT updated_at",
        _ => "written_at IS DISTINCT FROM updated_at",
    },
};

const INDEX: Index = Index { name: "items_by_creation", on: "items (collection, created_at)" };

/// Declares a column not null in four steps, without a table scan under a lock that blocks other
/// sessions.
const NOT_NULL: [&str; 4] = [
    "ALTER TABLE items ADD CONSTRAINT items_written CHECK (written_at IS NOT NULL) NOT VALID",
    "ALTER TABLE items VALIDATE CONSTRAINT items_written",
    "ALTER TABLE items ALTER COLUMN written_at SET NOT NULL",
    "ALTER TABLE items DROP CONSTRAINT items_written",
];

/// The migration, in builds for these tests.
pub(super) fn migration() -> Option<Migration> {
    IS_BUILT.then(|| staged("m99991231_000000_next_schema", stages))
}

fn stages(dialect: &Dialect) -> Stages {
    let step = |statement: &str| Step::Transaction(vec![statement.to_owned()]);
    let raise =
        |column: &str| step(&format!("UPDATE schema_version SET {column} = {SCHEMA_VERSION}"));
    let (mut contract, is_postgres) =
        (vec![raise("oldest_writer")], dialect.backend == DbBackend::Postgres);
    if is_postgres {
        // Waits for the writes in progress.
        contract.push(step("LOCK TABLE write_fence IN SHARE MODE"));
    }
    contract.push(Step::Backfill(BACKFILL));
    if is_postgres {
        contract.extend(NOT_NULL.map(step));
    }
    Stages {
        expand: vec![
            step("ALTER TABLE items ADD COLUMN written_at BIGINT NULL"),
            Step::Index(INDEX),
            raise("version"),
        ],
        backfill: Some(BACKFILL),
        contract,
    }
}

/// The second form of `updated_at` behind other columns of `items`: `, written_at`.
pub(crate) fn column() -> &'static str {
    if IS_BUILT { ", written_at" } else { "" }
}

/// Its value behind others.
pub(crate) fn value(value: &str) -> String {
    if IS_BUILT { format!(", {value}") } else { String::new() }
}

/// Its assignment behind others.
pub(crate) fn assignment(value: &str) -> String {
    if IS_BUILT { format!(", written_at = {value}") } else { String::new() }
}
