//! The interface of a database. A standby, or a file that another process serves, is only read.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use application::ports::{RepositoryError, Result, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use prometheus_client::encoding::DescriptorEncoder;
use sea_orm::{DatabaseConnection, DatabaseTransaction, QueryResult, Statement, Value};
use tracing::Instrument as _;

use crate::cache::write_through::WriteThroughCache;
use crate::error::{DbResult, StoreError, logged, read_only};
use crate::metrics::{OperationKind, Sample, StoreMetrics};
use crate::search_index::step::Step;
use crate::spans;
use crate::sql::dialect::Dialect;
use crate::write::command::{Answer, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReadMode {
    /// True for a statement that may take long, on a connection that others do not wait for.
    pub is_slow: bool,
    /// True for a state without writes in progress: later writes have later times than its rows.
    pub is_settled: bool,
}

impl ReadMode {
    pub const QUICK: Self = Self { is_slow: false, is_settled: false };
    pub const SLOW: Self = Self { is_slow: true, is_settled: false };
}

/// The numbers of concurrent statements per kind of read. Other reads share the next statements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workers {
    pub quick: usize,
    pub slow: usize,
}

#[async_trait]
pub(crate) trait ReadEngine: Send + Sync {
    fn dialect(&self) -> &'static Dialect;

    fn metrics(&self) -> &Arc<StoreMetrics>;

    fn workers(&self) -> Workers;

    /// Runs a read-only statement. Dropping the future cancels a slow one.
    async fn read(&self, statement: Statement, mode: ReadMode) -> DbResult<Vec<QueryResult>>;

    /// The items known to be current without a query, if this process alone writes to the store.
    fn write_through_cache(&self) -> Option<&Arc<WriteThroughCache>> {
        None
    }

    /// Changes when a connection is lost or opened: values cached before may be of a lost history.
    fn losses(&self) -> u64 {
        0
    }

    /// The server's timeline, which changes on a failover; 0 for an engine without timelines.
    fn timeline(&self) -> u32 {
        0
    }

    /// The id of the history that the database holds, which is the same on every timeline.
    fn history(&self) -> Arc<str> {
        Arc::default()
    }

    /// Returns false while the database may be restored.
    fn has_history(&self) -> bool {
        true
    }

    /// Waits for the writes in progress. Later commits have greater numbers than the returned one.
    async fn fence(&self) -> Result<Sequence> {
        Err(logged(&read_only(), "fence"))
    }

    /// Makes every later commit have a time after this one.
    async fn close_timestamp(&self, _time: Timestamp) -> Result<()> {
        Err(logged(&read_only(), "close_timestamp"))
    }

    /// Waits for the writes in progress and closes all connections.
    async fn close(&self);
}

impl dyn ReadEngine {
    /// Runs a statement and reads its rows. Traces and measures it, and logs its error.
    pub async fn query<T>(
        &self,
        step: &'static str,
        mode: ReadMode,
        statement: Statement,
        read_rows: impl FnOnce(&[QueryResult]) -> DbResult<T> + Send,
    ) -> Result<T> {
        let (began, span) = (Instant::now(), spans::read(self.dialect(), step));
        let rows = self.read(statement, mode).instrument(span).await;
        let kind = if mode.is_slow { OperationKind::SlowRead } else { OperationKind::Read };
        self.metrics().operation(kind).observe(began.elapsed().as_secs_f64());
        rows.and_then(|rows| read_rows(&rows)).map_err(|error| logged(&error, step))
    }
}

#[async_trait]
pub(crate) trait WriteEngine: ReadEngine {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result;

    async fn sample(&self) -> Result<Sample>;

    /// Does a write, whole or not at all; it is on disk when this returns `Ok`.
    async fn write(&self, write: Write) -> Answer;

    async fn check_writes(&self) -> Result<()>;

    /// The time of the clock that timestamps writes: the database's, or this machine's (`here`).
    async fn now(&self, here: Timestamp) -> Result<Timestamp> {
        Ok(here)
    }

    /// Fails if writes would go wrong silently on the schema.
    async fn check_schema(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Reads the history's id, and notices from now on if it changes. Needs an up-to-date schema.
    async fn begin_history(&self) -> Result<(), StoreError>;

    /// Returns the timeline and a log position after every write acknowledged before the call.
    async fn log_position(&self) -> Result<(u32, u64)> {
        Err(RepositoryError::Unavailable)
    }

    fn schema(&self) -> &DatabaseConnection;

    /// The number of changes that may wait for the index during writes: those of a few seconds.
    fn most_waiting(&self) -> i64;

    /// Indexes at most `limit` more changes for full-text searches, up to the change `up_to`.
    async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step>;

    /// Runs a write outside the queue. Returns the number of rows written.
    async fn execute(&self, step: &'static str, statement: Statement) -> Result<u64>;

    /// Locks the schema for a transaction that must do nothing else; `None` if no lock is needed.
    async fn lock_schema(&self) -> DbResult<Option<DatabaseTransaction>> {
        Ok(None)
    }

    /// A transaction that changes the schema, and waits only briefly for locks.
    async fn begin_migration(&self) -> DbResult<DatabaseTransaction>;
}

#[derive(Clone)]
pub(crate) struct Database {
    pub reader: Arc<dyn ReadEngine>,
    writer: Option<Arc<dyn WriteEngine>>,
}

impl Database {
    pub fn new<E: WriteEngine + 'static>(engine: E) -> Self {
        let engine = Arc::new(engine);
        Self { reader: Arc::<E>::clone(&engine), writer: Some(engine) }
    }

    pub fn read_only(reader: Arc<dyn ReadEngine>) -> Self {
        Self { reader, writer: None }
    }

    pub fn writer(&self) -> Result<&Arc<dyn WriteEngine>> {
        self.writer.as_ref().ok_or(RepositoryError::Unavailable)
    }

    pub async fn execute<const N: usize>(
        &self,
        step: &'static str,
        text: &str,
        values: [Value; N],
    ) -> Result<u64> {
        let writer = self.writer()?;
        writer.execute(step, writer.dialect().statement(text, values)).await
    }
}
