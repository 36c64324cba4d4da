//! Group commit: writes that have queued up share a transaction, and so a flush to the disk. If one
//! fails unexpectedly, each is retried in a separate transaction, so that no other is affected.

use std::sync::Arc;
use std::time::Instant;

use application::ports::{RepositoryError, Result, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::{DbErr, Statement};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

use crate::cache::write_through::WriteThroughCache;
use crate::error::{DbResult, logged};
use crate::metrics::StoreMetrics;
use crate::search_index::step::{self, Step};
use crate::spans;
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sqlite::checkpoints::Checkpoints;
use crate::sqlite::connection::{WritingConnection, blocking};
use crate::sqlite::file::OwnedFile;
use crate::write::batch::together;
use crate::write::command::{Answer, Write};
use crate::write::connection::WriteConnection as _;
use crate::write::queue::Writer;
use crate::write::read_set::{CurrentReads, looks};
use crate::write::statements::{write_alone, write_rows};

/// The transaction was rolled back.
enum TransactionError {
    Write(DbErr),
    /// It could not be begun or committed.
    Transaction(DbErr),
}

impl TransactionError {
    fn logged(&self) -> RepositoryError {
        let (Self::Write(error) | Self::Transaction(error)) = self;
        logged(error, "write")
    }
}

#[derive(Clone)]
pub(crate) struct SqliteWriter {
    /// Fair, so that writes and indexing take turns. `None` when it is closed.
    connection: Arc<Mutex<Option<WritingConnection>>>,
    cache: Arc<WriteThroughCache>,
    checkpoints: Checkpoints,
    file: Arc<OwnedFile>,
    metrics: Arc<StoreMetrics>,
}

#[async_trait]
impl Writer for SqliteWriter {
    const DIALECT: &'static Dialect = &SQLITE;

    fn start(worker: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        blocking(async move || worker.await)
    }

    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
        let asked = Instant::now();
        let connection = self.connection.lock().await;
        let Ok(connection) = self.open(&connection) else {
            return vec![Err(RepositoryError::Unavailable); writes.len()];
        };
        let _forgetting = ForgetOnPanic(&self.cache);
        let had = Instant::now();
        self.metrics.lock_wait.observe(had.duration_since(asked).as_secs_f64());
        let mut answers = Vec::with_capacity(writes.len());
        while let rest @ [_, ..] = &writes[answers.len()..] {
            let rows = rest.iter().take_while(|write| write.row().is_some()).count();
            answers.extend(self.transactions(connection, &rest[..rows.max(1)]).await);
        }
        self.metrics.lock_held.observe(had.elapsed().as_secs_f64());
        let rows = writes.iter().flat_map(|write| write.rows());
        let bytes = rows.map(|row| row.members.len()).sum();
        self.checkpoints.after(writes.len(), bytes, connection);
        if self.file.require_content().is_err() {
            answers.fill(Err(RepositoryError::Unavailable));
        }
        self.cache.committed(writes, &answers);
        answers
    }
}

impl SqliteWriter {
    pub fn new(
        connection: WritingConnection,
        checkpoints: Checkpoints,
        cache: Arc<WriteThroughCache>,
        file: &Arc<OwnedFile>,
        metrics: &Arc<StoreMetrics>,
    ) -> Self {
        let connection = Arc::new(Mutex::new(Some(connection)));
        let (file, metrics) = (Arc::clone(file), Arc::clone(metrics));
        Self { connection, cache, checkpoints, file, metrics }
    }

    fn open<'a>(
        &self,
        guard: &'a MutexGuard<'_, Option<WritingConnection>>,
    ) -> Result<&'a WritingConnection> {
        self.file.require_content()?;
        guard.as_ref().ok_or(RepositoryError::Unavailable)
    }

    pub async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step> {
        let index = async move |connection: &WritingConnection| {
            connection.begin()?;
            let step = step::index(connection, limit, up_to).await;
            let step = step.inspect_err(|_| connection.roll_back())?;
            connection.commit().map(|()| step)
        };
        self.between_writes("index", index, |step| step.changes).await
    }

    pub async fn execute(&self, step: &'static str, statement: Statement) -> Result<u64> {
        let execute = async move |connection: &WritingConnection| {
            connection.roll_back();
            connection.execute(statement).await
        };
        let rows = |rows: &u64| usize::try_from(*rows).unwrap_or(usize::MAX);
        self.between_writes(step, execute, rows).await
    }

    async fn between_writes<T: Send + 'static>(
        &self,
        step: &'static str,
        work: impl AsyncFnOnce(&WritingConnection) -> DbResult<T> + Send + 'static,
        written: impl FnOnce(&T) -> usize + Send + 'static,
    ) -> Result<T> {
        let this = self.clone();
        let done = blocking(async move || {
            let guard = this.connection.lock().await;
            let connection = this.open(&guard)?;
            let done = work(connection).await;
            this.checkpoints.after(done.as_ref().map_or(0, written), 0, connection);
            done.map_err(|error| logged(&error, step))
        });
        done.await.map_err(|_| RepositoryError::Unavailable)?
    }

    /// Waits for the transaction in progress; later transactions have later times than `time`.
    pub async fn close_timestamp(&self, time: Timestamp) -> Result<()> {
        let guard = self.connection.lock().await;
        let closed = self.open(&guard)?.close_timestamp(time);
        closed.map_err(|error| logged(&error, "close_timestamp"))
    }

    pub async fn close(&self) {
        self.checkpoints.close().await;
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection
            && let Err(error) = connection.close()
        {
            tracing::warn!(%error, "the writing SQLite connection did not close cleanly");
        }
    }

    /// Executes rows in one transaction or, if one fails, in one each. A write of many is alone.
    async fn transactions(&self, connection: &WritingConnection, writes: &[&Write]) -> Vec<Answer> {
        match transaction(connection, writes).await {
            Ok(answers) => answers,
            Err(TransactionError::Write(error)) if writes.len() > 1 => {
                tracing::warn!(%error, writes = writes.len(), "a write failed; retrying its batch one by one");
                self.metrics.retries.one_by_one.inc_by(writes.len() as u64);
                let mut answers = Vec::with_capacity(writes.len());
                for write in writes {
                    match transaction(connection, &[*write]).await {
                        Ok(done) => answers.extend(done),
                        Err(error) => answers.push(Err(error.logged())),
                    }
                }
                answers
            }
            Err(error) => vec![Err(error.logged()); writes.len()],
        }
    }
}

/// Clears the cache if the writer panics: a transaction may be committed whose answers are lost.
struct ForgetOnPanic<'a>(&'a WriteThroughCache);

impl Drop for ForgetOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.forget_all();
        }
    }
}

/// Runs writes in a transaction. A refused row has changed nothing.
async fn transaction(
    connection: &WritingConnection,
    writes: &[&Write],
) -> Result<Vec<Answer>, TransactionError> {
    let asked = writes.iter().map(|write| write.metadata.time).max().unwrap_or_default();
    connection.begin_at(asked).map_err(TransactionError::Transaction)?;
    let done = execute(connection, writes).await;
    let is_kept = |answers: &Vec<Answer>| {
        writes.iter().all(|write| write.row().is_some()) || answers.iter().all(Result::is_ok)
    };
    if done.as_ref().is_ok_and(is_kept) {
        let committed = spans::commit().in_scope(|| connection.commit());
        committed.map_err(TransactionError::Transaction)?;
    } else {
        connection.roll_back();
    }
    done.map_err(TransactionError::Write)
}

async fn execute(connection: &WritingConnection, writes: &[&Write]) -> DbResult<Vec<Answer>> {
    let rows: Vec<_> = writes.iter().filter_map(|write| write.row()).collect();
    let mut answers = Vec::with_capacity(writes.len());
    while let rest @ [_, ..] = &rows[answers.len()..] {
        let together = &rest[..together(rest)];
        let mut current_reads = CurrentReads::default();
        let read_sets = together.iter().map(|write| write.metadata);
        current_reads.find(connection, looks(read_sets)).await?;
        answers.extend(write_rows(connection, together, &current_reads).await?);
    }
    if let ([write], []) = (writes, &rows[..]) {
        let mut current_reads = CurrentReads::default();
        current_reads.find(connection, looks(std::iter::once(&write.metadata))).await?;
        answers.push(write_alone(connection, write, &current_reads, connection.time()).await?);
    }
    Ok(answers)
}
