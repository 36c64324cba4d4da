//! Executes the pending steps of the migrations. Each step is atomic and recorded in its own
//! transaction, so a run after an interruption continues at the first step that is not recorded.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, Statement};
use tokio::time::sleep;

use super::backfill::Filling;
use super::progress::{self, Done};
use super::schema_version::{self, Access};
use super::stages::{Index, Migration, Step};
use super::{MIGRATIONS, proposals_view};
use crate::engine::WriteEngine;
use crate::entities;
use crate::error::{StoreError, is_contended};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// The maximum number of attempts at a change that waits for locks of other sessions. Readers run
/// between the attempts.
const ATTEMPTS: u32 = 12;

/// The pause between them.
const PAUSE: Duration = Duration::from_millis(500);

/// The step of a backfill.
pub(super) const BACKFILL: &str = "backfill";

/// A change that waits for locks.
enum Change<'a> {
    /// Statements, and the one that records them as a complete step.
    Step(&'a str, Statement),
    Index(Index),
    /// Looks for tables and columns that are missing.
    Check,
    View,
}

/// The runner of migrations, which brings the schema of a database up to date.
pub(crate) struct Runner<'a>(pub &'a dyn WriteEngine);

impl Runner<'_> {
    /// Adds the tables and columns that this version uses. Older services keep running if the
    /// migrations allow it.
    pub async fn expand(&self) -> Result<(), StoreError> {
        let database = self.0.schema();
        // Looked at first, because even a migration that does nothing needs the right to create
        // tables, and must not wait for one that changes what comes later.
        if !schema_version::is_up_to_date(database, Access::Write).await? {
            let lock = self.0.lock_schema().await.map_err(StoreError::schema)?;
            if !schema_version::is_up_to_date(database, Access::Write).await? {
                self.expand_all().await?;
            }
            release(lock).await?;
        }
        self.change(&Change::Check).await?;
        let is_complete = proposals_view::is_complete(database, self.0.dialect()).await;
        if !is_complete.map_err(StoreError::schema)? {
            let lock = self.0.lock_schema().await.map_err(StoreError::schema)?;
            self.change(&Change::View).await?;
            release(lock).await?;
        }
        Ok(())
    }

    async fn expand_all(&self) -> Result<(), StoreError> {
        let done = Done::read(self.0.schema()).await.map_err(StoreError::schema)?;
        for migration in MIGRATIONS {
            let steps = (migration.stages)(self.0.dialect()).expand;
            if self.steps(migration, "expand", &steps, &done).await? {
                tracing::info!(migration = migration.name, "schema migrated");
            }
        }
        Ok(())
    }

    /// Fills in what is stored already, of migrations that need it.
    pub async fn fill_in(&self) -> Result<(), StoreError> {
        let done = Done::read(self.0.schema()).await.map_err(StoreError::schema)?;
        for migration in MIGRATIONS {
            let backfill = (migration.stages)(self.0.dialect()).backfill;
            if let Some(backfill) = backfill.filter(|_| !done.has(migration.name, BACKFILL)) {
                tracing::info!(migration = migration.name, "migrating stored data");
                let filling = Filling { migration: migration.name, step: BACKFILL, backfill };
                filling.run(self.0).await.map_err(|_| StoreError::Unfilled)?;
                tracing::info!(migration = migration.name, "stored data migrated");
            }
        }
        Ok(())
    }

    /// Takes away what only older versions use, and returns how many migrations did.
    pub async fn contract(&self) -> Result<usize, StoreError> {
        if !schema_version::is_up_to_date(self.0.schema(), Access::Write).await? {
            return Err(StoreError::NotExpanded);
        }
        self.fill_in().await?;
        let lock = self.0.lock_schema().await.map_err(StoreError::schema)?;
        let done = Done::read(self.0.schema()).await.map_err(StoreError::schema)?;
        let mut contracted = 0;
        for migration in MIGRATIONS {
            let steps = (migration.stages)(self.0.dialect()).contract;
            if self.steps(migration, "contract", &steps, &done).await? {
                tracing::info!(migration = migration.name, "schema contracted");
                contracted += 1;
            }
        }
        release(lock).await?;
        Ok(contracted)
    }

    /// Does the pending steps of a phase in their order. Returns whether there were any.
    async fn steps(
        &self,
        migration: &Migration,
        phase: &str,
        steps: &[Step],
        done: &Done,
    ) -> Result<bool, StoreError> {
        let mut is_pending = false;
        for (number, step) in steps.iter().enumerate() {
            let key = key(phase, number);
            if done.has(migration.name, &key) {
                continue;
            }
            is_pending = true;
            let note = progress::step_done(self.0.dialect(), migration.name, &key);
            match step {
                Step::Transaction(statements) => {
                    self.change(&Change::Step(statements, note)).await?;
                }
                Step::Index(index) => {
                    self.change(&Change::Index(*index)).await?;
                    self.change(&Change::Step("", note)).await?;
                }
                Step::Backfill(backfill) => {
                    let filling =
                        Filling { migration: migration.name, step: &key, backfill: *backfill };
                    filling.run(self.0).await.map_err(|_| StoreError::Unfilled)?;
                }
            }
        }
        Ok(is_pending)
    }

    /// Makes a change, and tries again where others hold locks against it. It waits briefly, because
    /// those who come after it wait for it.
    async fn change(&self, change: &Change<'_>) -> Result<(), StoreError> {
        for number in 1..ATTEMPTS {
            match self.attempt(change).await {
                Err(error) if is_contended(&error) => {
                    tracing::info!(%error, number, "the schema change is blocked by the lock of another session; retrying");
                    sleep(PAUSE).await;
                }
                done => return done.map_err(StoreError::schema)?,
            }
        }
        self.attempt(change).await.map_err(|error| {
            let locked = is_contended(&error).then(|| StoreError::locked(&error));
            locked.unwrap_or_else(|| StoreError::schema(error))
        })?
    }

    async fn attempt(&self, change: &Change<'_>) -> Result<Result<(), StoreError>, DbErr> {
        if let Change::Index(index) = change {
            return self.make_index(*index).await.map(Ok);
        }
        let transaction = self.0.begin_migration().await?;
        match change {
            Change::Step(statements, note) => {
                transaction.execute_unprepared(statements).await?;
                transaction.execute_raw(note.clone()).await?;
            }
            Change::View => proposals_view::refresh(&transaction, self.0.dialect()).await?,
            Change::Check => match entities::check(&transaction).await {
                Err(error) if !is_contended(&error) => return Ok(Err(StoreError::tables(error))),
                checked => checked?,
            },
            Change::Index(_) => {}
        }
        if let Some(older) = older_instance(&transaction).await? {
            return Ok(Err(older));
        }
        transaction.commit().await.map(Ok)
    }

    /// On `PostgreSQL`, does not block writers. An index left incomplete is created again.
    async fn make_index(&self, Index { name, on }: Index) -> Result<(), DbErr> {
        let dialect = self.0.dialect();
        if dialect.backend == DbBackend::Sqlite {
            let transaction = self.0.begin_migration().await?;
            let create = format!("CREATE INDEX IF NOT EXISTS {name} ON {on}");
            transaction.execute_unprepared(&create).await?;
            return transaction.commit().await;
        }
        let database = self.0.schema();
        let state = dialect.statement(sql_file!("postgres/index_state"), [name.into()]);
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

/// The key of a step of a phase.
pub(super) fn key(phase: &str, number: usize) -> String {
    format!("{phase} {number}")
}

/// Ends what [`WriteEngine::lock_schema`] began.
async fn release(lock: Option<DatabaseTransaction>) -> Result<(), StoreError> {
    match lock {
        Some(lock) => lock.commit().await.map_err(StoreError::schema),
        None => Ok(()),
    }
}

/// The error where a service runs that is older than the schema allows. An `SQLite` file has one
/// process, which is this one.
async fn older_instance(transaction: &DatabaseTransaction) -> Result<Option<StoreError>, DbErr> {
    let dialect = Dialect::of(transaction.get_database_backend());
    if dialect.backend == DbBackend::Sqlite
        || !progress::has_table(transaction, "service_instances").await?
    {
        return Ok(None);
    }
    let older = dialect.statement(sql_file!("postgres/older_instance"), []);
    let Some(row) = transaction.query_one_raw(older).await? else { return Ok(None) };
    Ok(Some(StoreError::OlderInstance {
        address: row_mapping::get(&row, "address")?,
        id: row_mapping::get(&row, "id")?,
        version: row_mapping::get(&row, "schema_version")?,
        seconds: row_mapping::get(&row, "seconds")?,
    }))
}
