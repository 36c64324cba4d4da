//! The progress of migrations: the table `schema_steps` has each step that is complete, and the
//! position of a backfill.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, DbErr, Statement};

use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// The complete steps, by migration.
pub(super) struct Done(HashSet<(String, String)>);

impl Done {
    pub async fn read(database: &impl ConnectionTrait) -> Result<Self, DbErr> {
        if !has_table(database, "schema_steps").await? {
            return Ok(Self(HashSet::new()));
        }
        let dialect = Dialect::of(database.get_database_backend());
        let query = "SELECT migration, step FROM schema_steps WHERE is_done = 1";
        let rows = database.query_all_raw(dialect.statement(query, [])).await?;
        let step = |row| Ok((row_mapping::get(row, "migration")?, row_mapping::get(row, "step")?));
        rows.iter().map(step).collect::<Result<_, _>>().map(Self)
    }

    pub fn has(&self, migration: &str, step: &str) -> bool {
        self.0.contains(&(migration.to_owned(), step.to_owned()))
    }
}

/// Returns whether the table exists.
pub(super) async fn has_table(database: &impl ConnectionTrait, table: &str) -> Result<bool, DbErr> {
    let dialect = Dialect::of(database.get_database_backend());
    let found = database.query_one_raw(dialect.statement(dialect.has_table, [table.into()]));
    found.await.map(|row| row.is_some())
}

/// Records a complete step.
pub(super) fn step_done(dialect: &Dialect, migration: &str, step: &str) -> Statement {
    dialect.statement(
        "INSERT INTO schema_steps (migration, step, position, is_done) VALUES ($1, $2, '', 1) \
         ON CONFLICT (migration, step) DO UPDATE SET is_done = 1",
        [migration.into(), step.into()],
    )
}

/// Records the first position of a step, unless it has one.
pub(super) fn begin(dialect: &Dialect, migration: &str, step: &str, position: &str) -> Statement {
    dialect.statement(
        "INSERT INTO schema_steps (migration, step, position, is_done) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING",
        [migration.into(), step.into(), position.into()],
    )
}

/// Advances a step from the position `was`, if it is still there.
pub(super) fn advance(
    dialect: &Dialect,
    [migration, step, was]: [&str; 3],
    position: &str,
    is_done: bool,
) -> Statement {
    // SQLite numbers parameters in the order in which they first appear.
    dialect.statement(
        "UPDATE schema_steps SET position = $1, is_done = $2 \
         WHERE migration = $3 AND step = $4 AND position = $5 AND is_done = 0",
        [position.into(), i64::from(is_done).into(), migration.into(), step.into(), was.into()],
    )
}

/// The position of a step; `None` if it is complete, or has not begun.
pub(super) async fn position(
    database: &impl ConnectionTrait,
    migration: &str,
    step: &str,
) -> Result<Option<String>, DbErr> {
    let dialect = Dialect::of(database.get_database_backend());
    let query =
        "SELECT position FROM schema_steps WHERE migration = $1 AND step = $2 AND is_done = 0";
    let row = database.query_one_raw(dialect.statement(query, [migration.into(), step.into()]));
    row.await?.map(|row| row_mapping::get(&row, "position")).transpose()
}
