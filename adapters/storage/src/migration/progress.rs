//! The progress of migrations: the table `schema_steps` has each step that is complete, and the
//! position of a backfill.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Statement};

use crate::sql::dialect::Dialect;

/// The complete steps, by migration.
pub(super) struct Done(HashSet<(String, String)>);

impl Done {
    pub async fn read(database: &impl ConnectionTrait) -> Result<Self, DbErr> {
        if !has_table(database, "schema_steps").await? {
            return Ok(Self(HashSet::new()));
        }
        let done = steps(database).await?.into_iter().filter(|step| step.is_done == 1);
        Ok(Self(done.map(|step| (step.migration, step.step)).collect()))
    }

    pub fn has(&self, migration: &str, step: &str) -> bool {
        self.0.contains(&(migration.to_owned(), step.to_owned()))
    }
}

/// A row of `schema_steps`.
#[derive(FromQueryResult)]
struct RecordedStep {
    migration: String,
    step: String,
    position: String,
    is_done: i32,
}

async fn steps(database: &impl ConnectionTrait) -> Result<Vec<RecordedStep>, DbErr> {
    let dialect = Dialect::of(database.get_database_backend());
    let rows = database.query_all_raw(dialect.statement(sql_file!("both/steps"), [])).await?;
    rows.iter().map(|row| RecordedStep::from_query_result(row, "")).collect()
}

/// Returns whether the table exists.
pub(super) async fn has_table(database: &impl ConnectionTrait, table: &str) -> Result<bool, DbErr> {
    let dialect = Dialect::of(database.get_database_backend());
    let found =
        database.query_one_raw(dialect.statement(sql_file!(dialect, "has_table"), [table.into()]));
    found.await.map(|row| row.is_some())
}

/// Records a complete step.
pub(super) fn step_done(dialect: &Dialect, migration: &str, step: &str) -> Statement {
    record(dialect, [migration, step, ""], 1)
}

/// Records the first position of a step, unless it has one.
pub(super) fn begin(dialect: &Dialect, migration: &str, step: &str, position: &str) -> Statement {
    record(dialect, [migration, step, position], 0)
}

fn record(dialect: &Dialect, [migration, step, position]: [&str; 3], is_done: i64) -> Statement {
    let values = [migration.into(), step.into(), position.into(), is_done.into()];
    dialect.statement(sql_file!("both/step_record"), values)
}

/// Advances a step from the position `was`, if it is still there.
pub(super) fn advance(
    dialect: &Dialect,
    [migration, step, was]: [&str; 3],
    position: &str,
    is_done: bool,
) -> Statement {
    let is_done = i64::from(is_done).into();
    let values = [position.into(), is_done, migration.into(), step.into(), was.into()];
    dialect.statement(sql_file!("both/step_advance"), values)
}

/// The position of a step; `None` if it is complete, or has not begun.
pub(super) async fn position(
    database: &impl ConnectionTrait,
    migration: &str,
    step: &str,
) -> Result<Option<String>, DbErr> {
    let begun = steps(database)
        .await?
        .into_iter()
        .find(|begun| begun.migration == migration && begun.step == step && begun.is_done == 0);
    Ok(begun.map(|begun| begun.position))
}
