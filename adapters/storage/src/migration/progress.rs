//! The progress of migrations: `seaql_migrations` names those whose new version may be used,
//! `schema_steps` the steps of those that have several.

use std::collections::HashSet;

use sea_orm::sea_query::OnConflict;
use sea_orm::{ActiveValue, ConnectionTrait, DbErr, EntityTrait, QueryTrait, Schema, Statement};
use sea_orm_migration::seaql_migrations;

use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// Makes the table of migrations.
pub(super) fn prepare(dialect: &Dialect) -> String {
    let mut table = Schema::new(dialect.backend).create_table_from_entity(seaql_migrations::Entity);
    dialect.backend.build(table.if_not_exists()).sql
}

/// The steps that were done before.
pub(super) struct Done {
    migrations: HashSet<String>,
    steps: HashSet<(String, String)>,
}

impl Done {
    pub async fn read(database: &impl ConnectionTrait) -> Result<Self, DbErr> {
        let mut done = Self { migrations: HashSet::new(), steps: HashSet::new() };
        if has_table(database, "seaql_migrations").await? {
            let rows = seaql_migrations::Entity::find().all(database).await?;
            done.migrations = rows.into_iter().map(|row| row.version).collect();
        }
        if has_table(database, "schema_steps").await? {
            let dialect = Dialect::of(database.get_database_backend());
            let query = "SELECT migration, step FROM schema_steps WHERE is_done = 1";
            let rows = database.query_all_raw(dialect.statement(query, [])).await?;
            let step = |row| {
                Ok::<_, DbErr>((
                    row_mapping::get(row, "migration")?,
                    row_mapping::get(row, "step")?,
                ))
            };
            done.steps = rows.iter().map(step).collect::<Result<_, _>>()?;
        }
        Ok(done)
    }

    /// Returns whether the version that a migration makes may be used.
    pub fn is_expanded(&self, migration: &str) -> bool {
        self.migrations.contains(migration)
    }

    pub fn has(&self, migration: &str, step: &str) -> bool {
        self.steps.contains(&(migration.to_owned(), step.to_owned()))
    }
}

/// Returns whether a table is there.
pub(super) async fn has_table(database: &impl ConnectionTrait, table: &str) -> Result<bool, DbErr> {
    let dialect = Dialect::of(database.get_database_backend());
    let found = database.query_one_raw(dialect.statement(dialect.has_table, [table.into()]));
    found.await.map(|row| row.is_some())
}

/// Names a migration as one whose version may be used.
#[expect(clippy::disallowed_methods, reason = "the table wants the time, which nothing reads")]
pub(super) fn expanded(dialect: &Dialect, migration: &str) -> Statement {
    let row = seaql_migrations::ActiveModel {
        version: ActiveValue::Set(migration.to_owned()),
        applied_at: ActiveValue::Set(jiff::Timestamp::now().as_second()),
    };
    let conflict = OnConflict::column(seaql_migrations::Column::Version).do_nothing().to_owned();
    seaql_migrations::Entity::insert(row).on_conflict(conflict).build(dialect.backend)
}

/// Notes that a step is done.
pub(super) fn step_done(dialect: &Dialect, migration: &str, step: &str) -> Statement {
    dialect.statement(
        "INSERT INTO schema_steps (migration, step, position, is_done) VALUES ($1, $2, '', 1) \
         ON CONFLICT (migration, step) DO UPDATE SET is_done = 1",
        [migration.into(), step.into()],
    )
}

/// Notes that a step is begun, at a position, unless it is already.
pub(super) fn begin(dialect: &Dialect, migration: &str, step: &str, position: &str) -> Statement {
    dialect.statement(
        "INSERT INTO schema_steps (migration, step, position, is_done) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING",
        [migration.into(), step.into(), position.into()],
    )
}

/// Moves a step on from the position `was`, if it is still there.
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

/// The position that a step is at; `None` when it is done, or was not begun.
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
