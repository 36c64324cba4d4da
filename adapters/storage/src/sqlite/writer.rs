//! Writing to an `SQLite` file: group commit. Writes that have queued up share a transaction, and
//! so a flush to the disk.
//!
//! If a write of a batch fails unexpectedly, the batch is rolled back and each of its writes is
//! retried in a separate transaction, so that the failure affects no other write.
//!
//! The writes of a transaction share its time, which is later than that of every earlier transaction,
//! even if the clock goes back: a reader of the changes after a time misses no later commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use application::{RepositoryError, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use sea_orm::Statement;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::cache::write_through_cache::WriteThroughCache;
use crate::error::logged_sqlite;
use crate::metrics::StoreMetrics;
use crate::search_index::progress::Step;
use crate::spans;
use crate::sql::change_log;
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sqlite::checkpoints::Checkpoints;
use crate::sqlite::rows::parameter;
use crate::sqlite::search_index;
use crate::sqlite::totals::Totals;
use crate::sqlite::writes::SqliteWrites;
use crate::write::command::{Answer, Write};
use crate::write::queue::Writer;

/// Why a transaction did not happen.
enum TransactionError {
    /// One of its writes failed.
    Write(rusqlite::Error),
    /// It could not be begun or committed.
    Transaction(rusqlite::Error),
}

impl TransactionError {
    fn logged(&self) -> RepositoryError {
        let (Self::Write(error) | Self::Transaction(error)) = self;
        logged_sqlite(error, "write")
    }
}

/// Executes writes on the only writing connection. It blocks during a transaction, so it runs on a
/// dedicated thread.
#[derive(Clone)]
pub(crate) struct SqliteWriter {
    /// Fair, so that writes and indexing take turns. `None` when it is closed.
    connection: Arc<Mutex<Option<Connection>>>,
    writes: Arc<SqliteWrites>,
    cache: Arc<WriteThroughCache>,
    checkpoints: Checkpoints,
    /// The time of the last transaction in microseconds, or 0 before it is known.
    last: Arc<AtomicI64>,
    metrics: Arc<StoreMetrics>,
}

#[async_trait]
impl Writer for SqliteWriter {
    const DIALECT: &'static Dialect = &SQLITE;

    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
        let asked = Instant::now();
        let answers = match self.connection.lock().await.as_mut() {
            Some(connection) => {
                let had = Instant::now();
                self.metrics.lock_wait.observe(had.duration_since(asked).as_secs_f64());
                let answers = self.transactions(connection, writes);
                self.metrics.lock_held.observe(had.elapsed().as_secs_f64());
                let bytes = writes.iter().map(|write| write.members_length()).sum();
                self.checkpoints.after(writes.len(), bytes, connection);
                answers
            }
            None => vec![Err(RepositoryError::Unavailable); writes.len()],
        };
        for (write, answer) in writes.iter().zip(&answers) {
            self.cache.committed(write, answer);
        }
        answers
    }
}

impl SqliteWriter {
    pub fn new(
        connection: Connection,
        checkpoints: Checkpoints,
        cache: Arc<WriteThroughCache>,
        metrics: &Arc<StoreMetrics>,
    ) -> Self {
        let (connection, writes) =
            (Arc::new(Mutex::new(Some(connection))), Arc::new(SqliteWrites::new()));
        let (last, metrics) = (Arc::new(AtomicI64::new(0)), Arc::clone(metrics));
        Self { connection, writes, cache, checkpoints, last, metrics }
    }

    /// Brings the full-text index up to some more changes.
    pub async fn index(
        &self,
        limit: i64,
        Sequence(up_to): Sequence,
    ) -> Result<Step, RepositoryError> {
        let step = move |connection: &mut Connection| search_index::step(connection, limit, up_to);
        self.between_writes("index", step, |step| step.changes).await
    }

    /// Runs a statement between two transactions; how many rows it wrote.
    pub async fn execute(
        &self,
        step: &'static str,
        Statement { sql, values, .. }: Statement,
    ) -> Result<u64, RepositoryError> {
        let execute = move |connection: &mut Connection| {
            let values = values.into_iter().flatten().map(parameter);
            let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
            connection.prepare_cached(&sql)?.execute(params_from_iter(values))
        };
        let written = self.between_writes(step, execute, |written| *written).await?;
        Ok(u64::try_from(written).unwrap_or(u64::MAX))
    }

    /// Waits for the transaction in progress; later transactions have later times than `time`.
    pub async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError> {
        let connection = self.connection.lock().await;
        let connection = connection.as_ref().ok_or(RepositoryError::Unavailable)?;
        let last =
            self.last_time(connection).map_err(|error| logged_sqlite(&error, "close_timestamp"))?;
        self.last.store(last.max(time.as_microsecond()), Ordering::Relaxed);
        Ok(())
    }

    /// Runs other work on the writing connection; `written` returns the number of rows written.
    async fn between_writes<T: Send + 'static>(
        &self,
        step: &'static str,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
        written: impl FnOnce(&T) -> usize + Send + 'static,
    ) -> Result<T, RepositoryError> {
        let mut connection = Arc::clone(&self.connection).lock_owned().await;
        let checkpoints = self.checkpoints.clone();
        let done = spawn_blocking(move || {
            let connection = connection.as_mut()?;
            let done = work(connection);
            checkpoints.after(done.as_ref().map_or(0, written), 0, connection);
            Some(done)
        });
        let done = done.await.ok().flatten().ok_or(RepositoryError::Unavailable)?;
        done.map_err(|error| logged_sqlite(&error, step))
    }

    /// Closes the connection after the transaction in progress.
    pub async fn close(&self) {
        self.checkpoints.close().await;
        let connection = self.connection.lock().await.take();
        if let Some(Err((_, error))) = connection.map(Connection::close) {
            tracing::warn!(%error, "the writing SQLite connection did not close cleanly");
        }
    }

    /// Does the writes in one transaction or, if one of them fails, in one each.
    fn transactions(&self, connection: &mut Connection, writes: &[&Write]) -> Vec<Answer> {
        match self.transaction(connection, writes) {
            Ok(answers) => answers,
            Err(TransactionError::Write(error)) if writes.len() > 1 => {
                tracing::warn!(%error, writes = writes.len(), "a write failed; retrying its batch one by one");
                self.metrics.retries.one_by_one.inc_by(writes.len() as u64);
                let alone = |write: &&Write| match self.transaction(connection, &[*write]) {
                    Ok(mut answers) => answers.pop().unwrap_or(Err(RepositoryError::Corrupt)),
                    Err(error) => Err(error.logged()),
                };
                writes.iter().map(alone).collect()
            }
            Err(error) => vec![Err(error.logged()); writes.len()],
        }
    }

    /// A transaction that is dropped is rolled back.
    fn transaction(
        &self,
        connection: &mut Connection,
        writes: &[&Write],
    ) -> Result<Vec<Answer>, TransactionError> {
        // It has the write lock from the start: one that reads first and asks for it later fails at
        // random.
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(TransactionError::Transaction)?;
        let mut totals = Totals::default();
        let time = self.time(&transaction, writes).map_err(TransactionError::Transaction)?;
        let answers = self
            .writes
            .perform(&transaction, writes, time, &mut totals)
            .map_err(TransactionError::Write)?;
        totals.add(&transaction).map_err(TransactionError::Write)?;
        let committed = spans::commit().in_scope(|| transaction.commit());
        committed.map_err(TransactionError::Transaction)?;
        Ok(answers)
    }

    /// The time of a transaction.
    fn time(&self, connection: &Connection, writes: &[&Write]) -> rusqlite::Result<Timestamp> {
        let last = self.last_time(connection)?;
        let asked = writes.iter().map(|write| write.metadata.time).max().unwrap_or_default();
        let time = asked.as_microsecond().max(last + 1);
        self.last.store(time, Ordering::Relaxed);
        // A stored time is always valid, and increments do not reach the end of the calendar.
        Ok(Timestamp::from_microsecond(time).unwrap_or(Timestamp::MAX))
    }

    /// The time after which the next transaction has its own.
    fn last_time(&self, connection: &Connection) -> rusqlite::Result<i64> {
        match self.last.load(Ordering::Relaxed) {
            0 => {
                let latest: Option<i64> =
                    connection.query_row(&change_log::latest_time(), [], |row| row.get(0))?;
                Ok(latest.unwrap_or_default())
            }
            last => Ok(last),
        }
    }
}
