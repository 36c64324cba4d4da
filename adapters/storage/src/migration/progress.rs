//! The progress of migrations: `schema_steps` has complete steps, and positions of backfills.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, Statement};

use super::schema_version::has_table;
use super::{MIGRATIONS, Step};
use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::get;

pub(super) struct PendingStep {
    pub migration: &'static str,
    pub phase: &'static str,
    /// Its name in `schema_steps`.
    pub name: String,
    pub step: Step,
}

pub(super) async fn pending(database: &impl ConnectionTrait) -> DbResult<Vec<PendingStep>> {
    let dialect = Dialect::of(database.get_database_backend());
    let mut done = HashSet::new();
    if has_table(database, "schema_steps").await? {
        for row in
            database.query_all_raw(dialect.statement(sql_file!("both/migration/steps"), [])).await?
        {
            done.insert((get::<String>(&row, "migration")?, get::<String>(&row, "step")?));
        }
    }
    let steps = MIGRATIONS.iter().flat_map(|migration| {
        (0..).zip((migration.steps)(dialect)).map(|(number, (phase, step)): (u32, _)| PendingStep {
            migration: migration.name,
            phase,
            name: format!("{phase} {number}"),
            step,
        })
    });
    let is_pending =
        |step: &PendingStep| !done.contains(&(step.migration.to_owned(), step.name.clone()));
    Ok(steps.filter(is_pending).collect())
}

impl PendingStep {
    /// Records the step as complete, or its first position unless it has one.
    pub fn record(&self, dialect: &Dialect, position: &str, is_done: bool) -> Statement {
        let values = [
            self.migration.into(),
            (&*self.name).into(),
            position.into(),
            i64::from(is_done).into(),
        ];
        dialect.statement(sql_file!("both/migration/step_record"), values)
    }

    /// Advances the step from the position `was`, if it is still there.
    pub fn advance(
        &self,
        dialect: &Dialect,
        was: &str,
        position: &str,
        is_done: bool,
    ) -> Statement {
        let (migration, step) = (self.migration.into(), (&*self.name).into());
        let values = [position.into(), i64::from(is_done).into(), migration, step, was.into()];
        dialect.statement(sql_file!("both/migration/step_advance"), values)
    }

    /// The position of the step; `None` if it is complete, or has not begun.
    pub async fn position(&self, database: &impl ConnectionTrait) -> DbResult<Option<String>> {
        let dialect = Dialect::of(database.get_database_backend());
        let values = [self.migration.into(), (&*self.name).into()];
        let row = database
            .query_one_raw(dialect.statement(sql_file!("both/migration/step_position"), values))
            .await?;
        row.map(|row| get(&row, "position")).transpose()
    }
}
