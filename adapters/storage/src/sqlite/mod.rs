//! `SQLite`: a pool of readers and one writer on the same file.

pub(crate) mod checkpoints;
pub(crate) mod connection;
pub(crate) mod file;
pub(crate) mod interruptible;
pub(crate) mod marks;
pub(crate) mod readers;
pub(crate) mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use application::ports::{RepositoryError, Result, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use prometheus_client::encoding::DescriptorEncoder;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sea_orm::{
    ConnectOptions, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult,
    RuntimeErr, SqliteTransactionMode, SqlxSqliteConnector, Statement, TransactionOptions,
    TransactionTrait,
};

use tokio::task::JoinSet;

use crate::StoreOptions;
use crate::cache::write_through::WriteThroughCache;
use crate::engine::{ReadEngine, ReadMode, Workers, WriteEngine};
use crate::error::{DbResult, StoreError, logged};
use crate::metrics::{Sample, StoreMetrics};
use crate::migration::schema_version;
use crate::search_index::step::Step;
use crate::sql::change_log;
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sqlite::checkpoints::Checkpoints;
use crate::sqlite::connection::WritingConnection;
use crate::sqlite::file::{OwnedFile, existing_file, file};
use crate::sqlite::writer::SqliteWriter;
use crate::write::command::{Answer, Write};
use crate::write::queue::WriteQueue;

/// The time that a connection waits for another process that has the file locked.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More prepared statements than this crate has.
pub(crate) const STATEMENTS_KEPT: usize = 256;

/// The page cache of each connection, negative in kibibytes. Connections share the system's cache.
/// The file is not mapped into memory: each connection's mapping counts as the service's memory.
const CACHED_KIBIBYTES: &str = "-2048";

const WATCH_PERIOD: Duration = Duration::from_secs(1);

pub(crate) struct Sqlite {
    readers: DatabaseConnection,
    slow_readers: DatabaseConnection,
    preparing: DatabaseConnection,
    writer: SqliteWriter,
    queue: WriteQueue,
    cache: Arc<WriteThroughCache>,
    file: Arc<OwnedFile>,
    watching: Mutex<JoinSet<()>>,
    history: RwLock<Arc<str>>,
    metrics: Arc<StoreMetrics>,
}

impl Sqlite {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let file = file(&options.url)?;
        let owned = Arc::new(OwnedFile::take(&file)?);
        let connect_error = |error: DbErr| StoreError::open_pool(&file, &error);
        // It comes first: it makes the file and turns the write-ahead log on, which readers cannot.
        let preparing = SqlxSqliteConnector::connect(preparing_options(options))
            .await
            .map_err(connect_error)?;
        begin(&preparing, &owned).await?;
        let readers =
            SqlxSqliteConnector::connect(reader_options(options)).await.map_err(connect_error)?;
        let slow_readers = SqlxSqliteConnector::connect(query_only(options, slow_workers()));
        let slow_readers = slow_readers.await.map_err(connect_error)?;
        let (cache, metrics) = (Arc::new(WriteThroughCache::new()), Arc::<StoreMetrics>::default());
        let connect_error =
            |error: rusqlite::Error| StoreError::Open(file.to_path_buf(), error.to_string());
        let copying = WritingConnection::open(&file).map_err(connect_error)?;
        let checkpoints = Checkpoints::new(copying, &owned, &metrics);
        let connection = WritingConnection::open(&file).map_err(connect_error)?;
        let writer =
            SqliteWriter::new(connection, checkpoints, Arc::clone(&cache), &owned, &metrics);
        let queue = WriteQueue::start(writer.clone(), options.acquire_timeout, &metrics);
        Ok(Self {
            readers,
            slow_readers,
            preparing,
            writer,
            queue,
            cache,
            watching: Mutex::new(watch(Arc::clone(&owned))),
            file: owned,
            history: RwLock::default(),
            metrics,
        })
    }

    /// Runs a read. If the file was replaced meanwhile, the result may be a mixture.
    async fn in_place<T>(&self, read: impl Future<Output = DbResult<T>>) -> DbResult<T> {
        let lost =
            |_| DbErr::Conn(RuntimeErr::Internal("the database file was replaced".to_owned()));
        self.file.require_content().map_err(lost)?;
        let read = read.await;
        self.file.require_content().map_err(lost)?;
        read
    }
}

/// Gives a file that was copied over the served one a new history, before its mark is replaced.
async fn begin(preparing: &DatabaseConnection, file: &OwnedFile) -> DbResult<()> {
    if file.was_replaced() {
        let has_history =
            SQLITE.statement(sql_file!("sqlite/migration/has_table"), ["history".into()]);
        if preparing.query_one_raw(has_history).await?.is_some() {
            preparing.execute_unprepared(sql_file!("sqlite/transfer/history_renew")).await?;
            tracing::warn!("the database file was replaced: it has a new history");
        }
    }
    let mark = file.next_mark().map_err(|error| DbErr::Custom(error.to_string()))?;
    preparing.execute_unprepared(&format!("PRAGMA user_version = {mark}")).await?;
    preparing.execute_unprepared("PRAGMA wal_checkpoint(PASSIVE)").await?;
    // From now on it has no earlier mark.
    let _ = file.require_content();
    Ok(())
}

/// Looks at the file again and again, because reads from memory do not.
fn watch(file: Arc<OwnedFile>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while file.require_in_place().is_ok() {
            tokio::time::sleep(WATCH_PERIOD).await;
        }
    });
    tasks
}

#[async_trait]
impl ReadEngine for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.metrics
    }

    fn workers(&self) -> Workers {
        Workers { quick: processors(), slow: slow_workers() }
    }

    async fn read(&self, statement: Statement, mode: ReadMode) -> DbResult<Vec<QueryResult>> {
        if mode.is_slow {
            return self.in_place(interruptible::read(&self.slow_readers, statement)).await;
        }
        self.in_place(self.readers.query_all_raw(statement)).await
    }

    fn write_through_cache(&self) -> Option<&Arc<WriteThroughCache>> {
        (!self.file.is_lost()).then_some(&self.cache)
    }

    fn history(&self) -> Arc<str> {
        Arc::clone(&self.history.read())
    }

    /// There is one writer, and its commits are visible at once.
    async fn fence(&self) -> Result<Sequence> {
        last_change(&self.readers).await
    }

    async fn close_timestamp(&self, time: Timestamp) -> Result<()> {
        self.writer.close_timestamp(time).await
    }

    async fn close(&self) {
        self.queue.close().await;
        self.watching.lock().abort_all();
        if self.file.is_lost() {
            // SQLite copies the log into the file when the last connection closes, so one stays
            // open.
            std::mem::forget(self.readers.clone());
            return;
        }
        self.writer.close().await;
        for connection in [&self.readers, &self.slow_readers, &self.preparing] {
            if let Err(error) = connection.close_by_ref().await {
                tracing::warn!(%error, "an SQLite connection did not close cleanly");
            }
        }
        // So that the next process need not wait until all clones of the store are dropped.
        self.file.let_go();
    }
}

#[async_trait]
impl WriteEngine for Sqlite {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        self.metrics().encode_sqlite(encoder)
    }

    async fn sample(&self) -> Result<Sample> {
        Ok(self.file.sample())
    }

    /// A write to a file that was removed would be lost with it.
    async fn write(&self, write: Write) -> Answer {
        self.file.require_in_place()?;
        self.queue.write(write).await
    }

    async fn check_writes(&self) -> Result<()> {
        self.file.require_in_place()?;
        if self.queue.is_alive() { Ok(()) } else { Err(RepositoryError::Unavailable) }
    }

    async fn begin_history(&self) -> Result<(), StoreError> {
        let id = schema_version::history(&self.readers).await?;
        *self.history.write() = id.into();
        Ok(())
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.readers
    }

    fn most_waiting(&self) -> i64 {
        50_000
    }

    async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step> {
        self.writer.index(limit, up_to).await
    }

    async fn execute(&self, step: &'static str, statement: Statement) -> Result<u64> {
        self.file.require_in_place()?;
        self.writer.execute(step, statement).await
    }

    /// It has the write lock from the start, and this process alone has the file.
    async fn begin_migration(&self) -> DbResult<DatabaseTransaction> {
        self.in_place(async { Ok(()) }).await?;
        let mode = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        self.preparing.begin_with_options(mode).await
    }
}

pub(crate) async fn last_change(connection: &DatabaseConnection) -> Result<Sequence> {
    change_log::last(connection).await.map_err(|error| logged(&error, "fence"))
}

fn reader_options(options: &StoreOptions) -> ConnectOptions {
    // Items, totals and pages have separate workers; one more connection serves all other reads.
    let wanted = 3 * processors() + 1;
    query_only(options, wanted.min(usize::try_from(options.connections).unwrap_or(wanted)))
}

fn query_only(options: &StoreOptions, connections: usize) -> ConnectOptions {
    let mut readers = pool_options(options, u32::try_from(connections).unwrap_or(u32::MAX));
    readers.map_sqlx_sqlite_opts(|file| common(file).pragma("query_only", "ON"));
    readers
}

fn preparing_options(options: &StoreOptions) -> ConnectOptions {
    let mut preparing = pool_options(options, 1);
    preparing.map_sqlx_sqlite_opts(|file| {
        let file = common(file).pragma("wal_autocheckpoint", "32000");
        file.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full)
    });
    preparing
}

/// More statements than processors at a time gain nothing: SQLite reads within this process.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 16))
}

/// Half of the processors are left to quick reads and to writes.
fn slow_workers() -> usize {
    processors() / 2
}

/// Connects while another process may serve the file. Never creates it, even with `mode=rwc`.
pub(crate) async fn connect_to_look(
    options: &StoreOptions,
    connections: u32,
    settings: fn(SqliteConnectOptions) -> SqliteConnectOptions,
) -> Result<DatabaseConnection, StoreError> {
    let file = existing_file(&options.url)?;
    let mut pool = pool_options(options, connections);
    pool.map_sqlx_sqlite_opts(move |file| settings(common(file).create_if_missing(false)));
    let connection = SqlxSqliteConnector::connect(pool).await;
    connection.map_err(|error| StoreError::open_pool(&file, &error))
}

fn pool_options(options: &StoreOptions, connections: u32) -> ConnectOptions {
    let mut pool = ConnectOptions::new(options.url.as_str());
    pool.max_connections(connections.max(1)).min_connections(connections.max(1));
    pool.acquire_timeout(options.acquire_timeout).idle_timeout(None).max_lifetime(None);
    pool.test_before_acquire(false).sqlx_logging(false);
    pool
}

fn common(file: SqliteConnectOptions) -> SqliteConnectOptions {
    file.busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(STATEMENTS_KEPT)
        .pragma("cache_size", CACHED_KIBIBYTES)
}
