//! Executes the pending steps of migrations. Statements and the record of their step are one
//! transaction, so an interrupted run continues at the first step without a record.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, Statement};
use tokio::time::sleep;

use super::progress::pending;
use super::schema_version::{Access, check_tables, has_table, is_up_to_date};
use super::{BACKFILL, CONTRACT, EXPAND, Index, Step, backfill, proposals_view};
use crate::engine::WriteEngine;
use crate::error::{DbResult, StoreError, is_contended};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// The maximum number of attempts, with pauses in which readers run.
const ATTEMPTS: u32 = 12;
const PAUSE: Duration = Duration::from_millis(500);

enum Change<'a> {
    /// Statements, and the one that records the step.
    Step(&'a str, Statement),
    Index(Index),
    CheckTables,
    View,
}

pub(crate) struct Runner<'a>(pub &'a dyn WriteEngine);

impl Runner<'_> {
    pub async fn expand(&self) -> Result<(), StoreError> {
        let database = self.0.schema();
        // Checked without the lock first, which would wait for any other migration.
        if !is_up_to_date(database, Access::Write).await? {
            let lock = self.0.lock_schema().await?;
            if !is_up_to_date(database, Access::Write).await? {
                self.run(EXPAND).await?;
            }
            release(lock).await?;
        }
        self.change(&Change::CheckTables).await?;
        if !proposals_view::is_complete(database, self.0.dialect()).await? {
            let lock = self.0.lock_schema().await?;
            self.change(&Change::View).await?;
            release(lock).await?;
        }
        Ok(())
    }

    pub async fn fill_in(&self) -> Result<(), StoreError> {
        self.run(BACKFILL).await.map(drop)
    }

    /// Removes the parts that only older versions use. Returns the number of migrations.
    pub async fn contract(&self) -> Result<usize, StoreError> {
        if !is_up_to_date(self.0.schema(), Access::Write).await? {
            return Err(StoreError::NotExpanded);
        }
        self.fill_in().await?;
        let lock = self.0.lock_schema().await?;
        let contracted = self.run(CONTRACT).await?;
        release(lock).await?;
        Ok(contracted)
    }

    /// Executes the pending steps of a phase. Returns the number of their migrations.
    async fn run(&self, phase: &str) -> Result<usize, StoreError> {
        let pending = pending(self.0.schema()).await?;
        let mut migrations = Vec::new();
        for step in pending.iter().filter(|step| step.phase == phase) {
            let note = step.record(self.0.dialect(), "", true);
            match &step.step {
                Step::Transaction(statements) => {
                    self.change(&Change::Step(statements, note)).await?;
                }
                Step::Index(index) => {
                    self.change(&Change::Index(*index)).await?;
                    self.change(&Change::Step("", note)).await?;
                }
                Step::Backfill(backfill) => {
                    let filled = backfill::run(self.0, step, *backfill).await;
                    filled.map_err(|_| StoreError::Unfilled)?;
                }
            }
            tracing::info!(migration = step.migration, step = step.name, "schema migrated");
            migrations.push(step.migration);
        }
        migrations.dedup();
        Ok(migrations.len())
    }

    /// Retries a change while others hold locks against it. An attempt waits briefly, because later
    /// sessions wait behind it.
    async fn change(&self, change: &Change<'_>) -> Result<(), StoreError> {
        let mut attempts = 1;
        loop {
            match self.attempt(change).await {
                Err(StoreError::Database(error)) if !is_contended(&error) => {
                    return Err(StoreError::Schema(error));
                }
                Err(StoreError::Database(error)) if attempts == ATTEMPTS => {
                    return Err(StoreError::Locked(error));
                }
                Err(StoreError::Database(error)) => {
                    tracing::info!(%error, attempts, "the schema change is blocked by the lock of another session; retrying");
                    attempts += 1;
                    sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }

    async fn attempt(&self, change: &Change<'_>) -> Result<(), StoreError> {
        if let Change::Index(index) = change {
            return Ok(self.make_index(*index).await?);
        }
        let transaction = self.0.begin_migration().await?;
        match change {
            Change::Step(statements, note) => {
                transaction.execute_unprepared(statements).await?;
                transaction.execute_raw(note.clone()).await?;
            }
            Change::View => proposals_view::refresh(&transaction, self.0.dialect()).await?,
            Change::CheckTables => check_tables(&transaction).await?,
            Change::Index(_) => {}
        }
        refuse_older_instances(&transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// On `PostgreSQL`, does not block writers. An index left incomplete is created again.
    async fn make_index(&self, Index { name, on }: Index) -> DbResult<()> {
        let dialect = self.0.dialect();
        if dialect.backend == DbBackend::Sqlite {
            let transaction = self.0.begin_migration().await?;
            let create = format!("CREATE INDEX IF NOT EXISTS {name} ON {on}");
            transaction.execute_unprepared(&create).await?;
            return transaction.commit().await;
        }
        let database = self.0.schema();
        let state = dialect.statement(sql_file!("postgres/migration/index_state"), [name.into()]);
        let found = database.query_one_raw(state).await?;
        match found.map(|row| row_mapping::get(&row, "is_valid")).transpose()? {
            Some(true) => return Ok(()),
            Some(false) => {
                let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS {name}");
                database.execute_unprepared(&drop).await?;
            }
            None => {}
        }
        let create = format!("CREATE INDEX CONCURRENTLY {name} ON {on}");
        database.execute_unprepared(&create).await.map(drop)
    }
}

async fn release(lock: Option<DatabaseTransaction>) -> DbResult<()> {
    match lock {
        Some(lock) => lock.commit().await,
        None => Ok(()),
    }
}

async fn refuse_older_instances(transaction: &DatabaseTransaction) -> Result<(), StoreError> {
    let dialect = Dialect::of(transaction.get_database_backend());
    if dialect.backend == DbBackend::Sqlite || !has_table(transaction, "service_instances").await? {
        return Ok(());
    }
    let older = dialect.statement(sql_file!("postgres/migration/older_instance"), []);
    let Some(row) = transaction.query_one_raw(older).await? else { return Ok(()) };
    Err(StoreError::OlderInstance {
        address: row_mapping::get(&row, "address")?,
        id: row_mapping::get(&row, "id")?,
        version: row_mapping::get(&row, "schema_version")?,
        seconds: row_mapping::get(&row, "seconds")?,
    })
}
