//! The steps of migrations that are left, for people.

use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::backfill::ROWS;
use super::progress::{PendingStep, pending};
use super::schema_version::{Access, has_table, is_up_to_date};
use super::{Backfill, Step};
use crate::StoreOptions;
use crate::error::{DbResult, StoreError};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;
use crate::transfer::connect_to_look;

/// Estimates.
const ITEMS_PER_SECOND: i64 = 10_000;
const INDEXED_PER_SECOND: i64 = 200_000;

/// The locks of statements by their beginnings, on `PostgreSQL`.
const LOCKS: [(&str, &str); 8] = [
    ("CREATE TABLE", "none on existing tables"),
    ("CREATE TRIGGER", "SHARE ROW EXCLUSIVE: waits for writes in progress"),
    ("CREATE INDEX", "SHARE: writes wait until it is built"),
    ("ALTER TABLE items VALIDATE", "SHARE UPDATE EXCLUSIVE: reads and writes continue"),
    ("ALTER TABLE", "ACCESS EXCLUSIVE, briefly"),
    ("UPDATE", "rows, briefly"),
    ("DELETE", "rows, briefly"),
    ("INSERT", "rows, briefly"),
];

#[derive(Clone, Debug)]
pub struct MigrationStep {
    pub migration: &'static str,
    pub phase: &'static str,
    pub action: String,
    /// The lock that is taken on `PostgreSQL`.
    pub lock: &'static str,
    /// The seconds that it takes, roughly; `None` for a moment.
    pub seconds: Option<i64>,
}

impl StoreOptions {
    /// Returns the pending steps in their order. Changes nothing.
    pub async fn migration_plan(&self) -> Result<Vec<MigrationStep>, StoreError> {
        let connection = connect_to_look(self).await?;
        is_up_to_date(&connection, Access::Read).await?;
        let items = items(&connection).await?;
        Ok(pending(&connection).await?.iter().flat_map(|step| step_of(step, items)).collect())
    }
}

fn step_of(
    PendingStep { migration, phase, step, .. }: &PendingStep,
    items: i64,
) -> Vec<MigrationStep> {
    let planned = |action, lock, seconds| MigrationStep { migration, phase, action, lock, seconds };
    match step {
        Step::Transaction(statements) => statements
            .split(";\n")
            .map(without_comments)
            .filter(|statement| !statement.is_empty())
            .map(|statement| planned(shortened(&statement), lock(&statement), None))
            .collect(),
        Step::Index(index) => vec![planned(
            format!("CREATE INDEX CONCURRENTLY {} ON {}", index.name, index.on),
            "SHARE UPDATE EXCLUSIVE: reads and writes continue",
            Some(items / INDEXED_PER_SECOND),
        )],
        Step::Backfill(Backfill { set, .. }) => vec![planned(
            format!("UPDATE items SET {set}, {ROWS} rows at a time"),
            "rows, briefly",
            Some(items / ITEMS_PER_SECOND),
        )],
    }
}

fn without_comments(statement: &str) -> String {
    let lines = statement.lines().filter(|line| !line.starts_with("--"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn lock(statement: &str) -> &'static str {
    let known = LOCKS.iter().find(|(beginning, _)| statement.starts_with(beginning));
    known.map_or("its own", |(_, lock)| lock)
}

fn shortened(statement: &str) -> String {
    const LENGTH: usize = 100;
    match statement.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{} …", &statement[..end]),
        None => statement.to_owned(),
    }
}

/// The number of items; 0 if there is no store yet.
async fn items(connection: &DatabaseConnection) -> DbResult<i64> {
    let dialect = Dialect::of(connection.get_database_backend());
    if !has_table(connection, "totals").await? {
        return Ok(0);
    }
    let row = connection
        .query_one_raw(dialect.statement(sql_file!("both/migration/item_count"), []))
        .await?;
    row.map_or(Ok(0), |row| row_mapping::get(&row, "items"))
}
