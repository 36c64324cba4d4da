//! The steps of migrations that are left, for people.

use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

use super::MIGRATIONS;
use super::backfill::ROWS;
use super::progress::{Done, has_table};
use super::runner::{BACKFILL, key};
use super::schema_version::{self, Access};
use super::stages::{Backfill, Migration, Step};
use crate::error::StoreError;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// Items that are filled in within a second, about: a batch of rows, and a pause as long.
const ITEMS_PER_SECOND: i64 = 10_000;

/// Items that an index is made of within a second, about.
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

/// A step of a migration.
#[derive(Clone, Debug)]
pub struct MigrationStep {
    /// The name of the migration.
    pub migration: &'static str,
    /// `expand`, `backfill` or `contract`.
    pub phase: &'static str,
    /// The description of the step.
    pub action: String,
    /// The lock that is taken where several services share a database, and who waits for it.
    pub lock: &'static str,
    /// The seconds that it takes, roughly; `None` for a moment.
    pub seconds: Option<i64>,
}

/// The steps that are left, in their order.
pub(crate) async fn steps(
    connection: &DatabaseConnection,
) -> Result<Vec<MigrationStep>, StoreError> {
    schema_version::is_up_to_date(connection, Access::Read).await?;
    let dialect = Dialect::of(connection.get_database_backend());
    let done = Done::read(connection).await.map_err(StoreError::schema)?;
    let items = items(connection).await.map_err(StoreError::schema)?;
    let mut planned = Vec::new();
    for migration in MIGRATIONS {
        let stages = (migration.stages)(dialect);
        let mut plan = |phase, steps: &[Step]| {
            for (number, step) in steps.iter().enumerate() {
                if !done.has(migration.name, &key(phase, number)) {
                    planned.extend(step_of(migration, phase, step, items));
                }
            }
        };
        plan("expand", &stages.expand);
        if let Some(backfill) = stages.backfill
            && !done.has(migration.name, BACKFILL)
        {
            plan(BACKFILL, &[Step::Backfill(backfill)]);
        }
        plan("contract", &stages.contract);
    }
    Ok(planned)
}

fn step_of(
    migration: &Migration,
    phase: &'static str,
    step: &Step,
    items: i64,
) -> Vec<MigrationStep> {
    let planned = |action, lock, seconds| MigrationStep {
        migration: migration.name,
        phase,
        action,
        lock,
        seconds,
    };
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

/// A statement in one line.
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

/// The number of items, 0 where there is no store yet.
async fn items(connection: &DatabaseConnection) -> Result<i64, DbErr> {
    let dialect = Dialect::of(connection.get_database_backend());
    if !has_table(connection, "totals").await? {
        return Ok(0);
    }
    let row = connection.query_one_raw(dialect.statement(sql_file!("both/item_count"), [])).await?;
    row.map_or(Ok(0), |row| row_mapping::get(&row, "items"))
}
