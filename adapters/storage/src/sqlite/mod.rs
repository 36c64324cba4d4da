//! `SQLite`: a pool of readers and one writer on the same file.
//!
//! The writer uses a separate driver (`rusqlite`, over the same library): it executes a whole
//! transaction on its own thread, while sea-orm's driver would switch threads for every statement.

pub(crate) mod checkpoints;
pub(crate) mod file;
pub(crate) mod interruptible;
pub(crate) mod judgement;
pub(crate) mod read_set;
pub(crate) mod readers;
pub(crate) mod rows;
pub(crate) mod search_index;
pub(crate) mod totals;
pub(crate) mod writer;
pub(crate) mod writes;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use application::{RepositoryError, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use prometheus_client::encoding::DescriptorEncoder;
use rusqlite::OpenFlags;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sea_orm::{
    ConnectOptions, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult,
    SqliteTransactionMode, SqlxSqliteConnector, Statement, TransactionOptions, TransactionTrait,
};

use crate::StoreOptions;
use crate::cache::write_through_cache::WriteThroughCache;
use crate::engine::Engine;
use crate::error::{StoreError, logged};
use crate::metrics::{BUSY_WAITS, Sample, StoreMetrics};
use crate::search_index::progress::Step;
use crate::sql::change_log;
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sqlite::checkpoints::Checkpoints;
use crate::sqlite::file::{OwnedFile, existing_file, file};
use crate::sqlite::interruptible::Interruptible;
use crate::sqlite::writer::SqliteWriter;
use crate::write::command::{Answer, Write};
use crate::write::queue::WriteQueue;

/// The time that a connection waits for another process that has the file locked.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two attempts of the connection that writes.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Statements a connection keeps prepared: more than this crate has.
const STATEMENTS_KEPT: usize = 256;

/// The page cache of each connection in kibibytes; negative, as the pragma requires. All connections
/// share the cache of the operating system. The file is not mapped into memory: every connection
/// would have its own mapping, and each counts as memory of the service.
const CACHED_KIBIBYTES: &str = "-2048";

/// The settings of the writer's connection. It keeps more pages, because it goes back to those of
/// its indexes again and again. The write-ahead log is copied into the file by another
/// (`sqlite/checkpoints.rs`), and within a commit only if it still becomes long. Afterwards it is
/// truncated to `journal_size_limit`.
const WRITER_PRAGMAS: [(&str, &str); 6] = [
    ("synchronous", "FULL"),
    ("foreign_keys", "ON"),
    ("cache_size", "-16384"),
    ("wal_autocheckpoint", "32000"),
    ("journal_size_limit", "67108864"),
    ("temp_store", "MEMORY"),
];

/// An open `SQLite` file.
pub(crate) struct Sqlite {
    readers: DatabaseConnection,
    slow_readers: Interruptible,
    /// Where the schema is prepared.
    preparing: DatabaseConnection,
    writer: SqliteWriter,
    queue: WriteQueue,
    cache: Arc<WriteThroughCache>,
    file: OwnedFile,
    metrics: Arc<StoreMetrics>,
}

impl Sqlite {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let file = file(&options.url)?;
        let owned = OwnedFile::take(&file)?;
        let connect_error = |error: DbErr| StoreError::open_pool(&file, &error);
        // It comes first: it makes the file and turns the write-ahead log on, which readers cannot.
        let preparing = SqlxSqliteConnector::connect(preparing_options(options))
            .await
            .map_err(connect_error)?;
        let readers =
            SqlxSqliteConnector::connect(reader_options(options)).await.map_err(connect_error)?;
        let slow_readers = SqlxSqliteConnector::connect(query_only(options, slow_workers()));
        let slow_readers =
            Interruptible { connections: slow_readers.await.map_err(connect_error)? };
        let (cache, metrics) = (Arc::new(WriteThroughCache::new()), Arc::<StoreMetrics>::default());
        let [connection, copying] = [writing_connection(&file), writing_connection(&file)];
        let connect_error = |error: rusqlite::Error| StoreError::open(&file, &error);
        let checkpoints = Checkpoints::new(copying.map_err(connect_error)?, &metrics);
        let connection = connection.map_err(connect_error)?;
        let writer = SqliteWriter::new(connection, checkpoints, Arc::clone(&cache), &metrics);
        let queue = WriteQueue::start_thread(writer.clone(), options.acquire_timeout, &metrics)
            .map_err(StoreError::Thread)?;
        Ok(Self { readers, slow_readers, preparing, writer, queue, cache, file: owned, metrics })
    }
}

#[async_trait]
impl Engine for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.metrics
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        self.metrics().encode_sqlite(encoder)
    }

    async fn sample(&self) -> Result<Sample, RepositoryError> {
        Ok(self.file.sample())
    }

    fn workers(&self) -> usize {
        processors()
    }

    async fn read(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.readers.query_all_raw(statement).await
    }

    fn slow_workers(&self) -> usize {
        slow_workers()
    }

    async fn read_slowly(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.slow_readers.read(statement).await
    }

    /// A write to a file that was removed would be lost with it.
    async fn write(&self, write: Write) -> Answer {
        self.file.require_in_place()?;
        self.queue.write(write).await
    }

    async fn check_writes(&self) -> Result<(), RepositoryError> {
        self.file.require_in_place()?;
        if self.queue.is_alive() { Ok(()) } else { Err(RepositoryError::Unavailable) }
    }

    fn write_through_cache(&self) -> Option<&Arc<WriteThroughCache>> {
        Some(&self.cache)
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.readers
    }

    fn most_waiting(&self) -> i64 {
        50_000
    }

    async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step, RepositoryError> {
        self.writer.index(limit, up_to).await
    }

    fn commits_in_order(&self) -> bool {
        true
    }

    /// There is one writer, and what it commits is visible at once.
    async fn fence(&self) -> Result<Sequence, RepositoryError> {
        last_change(&self.readers).await
    }

    async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError> {
        self.writer.close_timestamp(time).await
    }

    async fn execute(
        &self,
        step: &'static str,
        statement: Statement,
    ) -> Result<u64, RepositoryError> {
        self.file.require_in_place()?;
        self.writer.execute(step, statement).await
    }

    /// It has the write lock from the start, and this process alone has the file.
    async fn begin_migration(&self) -> Result<DatabaseTransaction, DbErr> {
        let mode = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        self.preparing.begin_with_options(mode).await
    }

    async fn close(&self) {
        self.queue.close().await;
        self.writer.close().await;
        for connection in [&self.readers, &self.slow_readers.connections, &self.preparing] {
            if let Err(error) = connection.close_by_ref().await {
                tracing::warn!(%error, "an SQLite connection did not close cleanly");
            }
        }
        // The next process need not wait until the last who knows of this store has forgotten it.
        self.file.let_go();
    }
}

/// The number of the last change.
pub(crate) async fn last_change(
    connection: &DatabaseConnection,
) -> Result<Sequence, RepositoryError> {
    let row = connection.query_one_raw(change_log::last_statement(&SQLITE)).await;
    let last = row.and_then(change_log::last_of);
    last.map(Sequence).map_err(|error| logged(&error, "fence"))
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
        common(file).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full)
    });
    preparing
}

/// The connection of the writer. One thread at a time uses it, so it needs no mutex. Sorts and
/// statement journals stay in memory.
pub(crate) fn writing_connection(file: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_handler(Some(wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    for (name, value) in WRITER_PRAGMAS {
        connection.pragma_update(None, name, value)?;
    }
    Ok(connection)
}

/// Waits a moment for another connection that has the file locked, if there is time left.
fn wait_for_lock(attempts: i32) -> bool {
    BUSY_WAITS.fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(BUSY_PAUSE);
    BUSY_PAUSE * attempts.unsigned_abs() < BUSY_TIMEOUT
}

/// More statements than processors at a time gain nothing: SQLite reads within this process.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 16))
}

/// Half of the processors are left to what is read quickly, and to writes.
fn slow_workers() -> usize {
    processors() / 2
}

/// Opens read-only connections to a file while another process may serve it. They never create the
/// file, even if the URL permits that.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Duration;

    use crate::metrics::BUSY_WAITS;

    #[test]
    fn a_write_waits_for_a_lock_and_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let other = rusqlite::Connection::open(&file).unwrap();
        other
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (b); BEGIN IMMEDIATE")
            .unwrap();
        let before = BUSY_WAITS.load(Ordering::Relaxed);
        let ending = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            other.execute_batch("COMMIT")
        });
        let connection = super::writing_connection(&file).unwrap();
        connection.execute_batch("INSERT INTO a VALUES (1)").unwrap();
        ending.join().unwrap().unwrap();
        assert!(BUSY_WAITS.load(Ordering::Relaxed) > before);
    }
}
