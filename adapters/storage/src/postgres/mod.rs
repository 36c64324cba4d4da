//! `PostgreSQL`: a pool of connections that read, and a small one of connections that write.

mod connections;
mod fence;
mod history_lock;
mod lease;
mod losses;
mod probe;
mod readers;
mod server;
mod session;
pub(crate) mod standby;
pub(crate) mod writes;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::ports::{RepositoryError, Result, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use prometheus_client::encoding::DescriptorEncoder;
use sea_orm::sqlx::postgres::PgPoolOptions;
use sea_orm::sqlx::{Error as SqlxError, raw_sql};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult,
    SqlxPostgresConnector, Statement, TransactionTrait,
};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::Instrument as _;

use crate::StoreOptions;
use crate::engine::{ReadEngine, ReadMode, Workers, WriteEngine};
use crate::error::{DbResult, StoreError, logged};
use crate::metrics::{OperationKind, Sample, StoreMetrics};
use crate::postgres::connections::Connections;
use crate::postgres::history_lock::HistoryLock;
use crate::postgres::lease::Lease;
use crate::postgres::readers::{READ, Readers, WORKERS, twice_if_lost};
use crate::postgres::server::{Purpose, Server};
use crate::postgres::session::{Effect, Limits};
use crate::postgres::writes::PostgresWriter;
use crate::search_index::step::{self, Step};
use crate::spans;
use crate::sql::change_log;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::sql::row_mapping::{count, get, not_understood, timestamp};
use crate::write::command::{Answer, Change, Write};
use crate::write::queue::WriteQueue;

/// Most connections that write: one for the worker of the queue, the others for other writes.
const WRITING_CONNECTIONS: u32 = 4;

/// The advisory lock under which the schema is prepared.
const MIGRATION_LOCK: i64 = 0x7072_6f70_6f73_616c;

const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// An index of many rows takes longer than a role or a database may allow its statements. The
/// transaction with the lock is idle during the change, and has no snapshot, for which a new index
/// would wait; the server ends it when its machine is gone. A statement sees the commits that it
/// waited for, such as the row of an instance.
const SCHEMA_SETTINGS: &str = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET tcp_keepalives_idle = 10; \
                               SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET default_transaction_isolation = 'read committed'";

/// A schema change waits only briefly for its locks, because all later transactions wait behind it.
/// It ends when its instance is stopped.
const MIGRATION_SETTINGS: &str =
    "SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '1min'";

/// Connections for the schema: the lock, a change, and look-ups meanwhile.
const SCHEMA_CONNECTIONS: u32 = 3;

const IDLE: Duration = Duration::from_secs(10);

/// The longest time to wait for the database's clock to reach a requested time.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

const READS_ACROSS_A_RESTORE: u32 = 3;

/// A statement that fails if the server takes no writes: a standby, or a read-only database.
const REQUIRE_WRITES: &str = "SELECT FROM schema_version WHERE FALSE FOR SHARE";

pub(crate) struct Postgres {
    server: Arc<Server>,
    readers: Readers,
    writer: PostgresWriter,
    queue: WriteQueue,
    lease: Arc<Lease>,
    /// Not connected most of the time.
    schema: DatabaseConnection,
    /// Keep the lease and the lock of the history.
    tasks: Mutex<JoinSet<()>>,
}

impl Postgres {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let server = Arc::new(reach(options).await?);
        probe::check(&server).await?;
        let schema = schema_connection(&server);
        let writing = WRITING_CONNECTIONS.min(options.connections / 2).max(1);
        let pool = Connections::new(&server, Purpose::Write, writing, None);
        let others = writing + history_lock::CONNECTIONS;
        let readers = Readers::new(&server, options.connections, others);
        let locking = Connections::new(&server, Purpose::Read, history_lock::CONNECTIONS, None);
        let history = Arc::new(HistoryLock::new(locking));
        let lease = Arc::new(Lease::new(Arc::clone(&pool)));
        let writer = PostgresWriter { pool, history };
        let queue = WriteQueue::start(writer.clone(), options.acquire_timeout, &server.metrics);
        let (kept, mut tasks) = (Arc::clone(&lease), JoinSet::new());
        tasks.spawn(async move { kept.keep().await });
        let tasks = Mutex::new(tasks);
        Ok(Self { server, readers, writer, queue, lease, schema, tasks })
    }

    async fn one(&self, pool: &Arc<Connections>, text: &str) -> DbResult<QueryResult> {
        let rows = pool.query(Limits::BRIEF, POSTGRES.statement(text, [])).await?;
        rows.into_iter().next().ok_or_else(|| DbErr::RecordNotFound("a row".to_owned()))
    }
}

#[async_trait]
impl ReadEngine for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.server.metrics
    }

    fn workers(&self) -> Workers {
        WORKERS
    }

    /// Reads again if the database may have been restored meanwhile.
    async fn read(&self, statement: Statement, mode: ReadMode) -> DbResult<Vec<QueryResult>> {
        self.lease.require_reads()?;
        for _ in 0..READS_ACROSS_A_RESTORE {
            let held = self.writer.history.held().await?;
            let done = self.readers.read(&statement, mode).await;
            if self.writer.history.is_held(held) {
                return done;
            }
        }
        Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    fn losses(&self) -> u64 {
        self.server.losses.count()
    }

    fn history(&self) -> Arc<str> {
        self.writer.history.id()
    }

    fn has_history(&self) -> bool {
        self.writer.history.has()
    }

    fn timeline(&self) -> u32 {
        self.server.timeline()
    }

    /// Visible numbers, and those below them, were drawn before, by writes that hold the fence.
    async fn fence(&self) -> Result<Sequence> {
        let passed = async {
            let session = self.writer.pool.session(Limits::LOCK).await?;
            let last = change_log::last(&session).await?;
            session.run(Effect::None, fence::PASS).await?;
            Ok(last)
        };
        passed.await.map_err(|error: DbErr| logged(&error, "fence"))
    }

    /// Waits for a time that the database's clock has not reached yet, if it is near.
    async fn close_timestamp(&self, time: Timestamp) -> Result<()> {
        loop {
            let close = async {
                let session = self.writer.pool.session(Limits::LOCK).await?;
                let closed = session.run(Effect::Begin, fence::BEGIN_SETTLED).await?;
                // Makes sure that the closed time is on disk.
                session.commit().await?;
                fence::time(&closed)
            };
            let now = close.await.map_err(|error| logged(&error, "close_timestamp"))?;
            let ahead = time.duration_since(now);
            if !ahead.is_positive() {
                return Ok(());
            }
            match Duration::try_from(ahead) {
                Ok(ahead) if ahead <= LONGEST_WAIT => sleep(ahead).await,
                _ => {
                    tracing::warn!(%ahead, "the requested time is in the future of the database clock");
                    return Err(RepositoryError::Unavailable);
                }
            }
        }
    }

    async fn close(&self) {
        self.queue.close().await;
        // Bound, so that the lock of the tasks is released.
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
        self.lease.end().await;
        self.writer.history.pool.close().await;
        self.readers.close().await;
        self.writer.pool.close().await;
        if let Err(error) = self.schema.close_by_ref().await {
            tracing::warn!(%error, "the PostgreSQL connections did not close cleanly");
        }
    }
}

#[async_trait]
impl WriteEngine for Postgres {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let pools = [
            ("read", self.readers.quick.sizes()),
            ("search", self.readers.slow.sizes()),
            ("write", self.writer.pool.sizes()),
        ];
        self.metrics().encode_connections(&pools, self.losses(), encoder)?;
        self.lease.encode(encoder)
    }

    async fn sample(&self) -> Result<Sample> {
        let sampled = async {
            let sizes = POSTGRES.statement(sql_file!("postgres/servers/sizes"), []);
            let sizes = self.readers.quick.query(Limits::BRIEF, sizes).await?;
            let size = |row: &QueryResult| Ok((get(row, "part")?, count(row, "bytes")?));
            let sizes = sizes.iter().map(size).collect::<DbResult<_>>()?;
            let followers =
                self.one(&self.readers.quick, sql_file!("postgres/servers/replicas")).await?;
            let lag = Duration::from_micros(count(&followers, "lag")?);
            Ok(Sample {
                sizes,
                replicas: Some((count(&followers, "replicas")?, lag)),
                ..Sample::default()
            })
        };
        sampled.await.map_err(|error: DbErr| logged(&error, "sample"))
    }

    async fn write(&self, write: Write) -> Answer {
        self.lease.require_writes().await?;
        if matches!(write.change, Change::Row(_)) {
            return self.queue.write(write).await;
        }
        let (began, span) = (Instant::now(), spans::write(&POSTGRES));
        let answer = self.writer.write_alone(&write).instrument(span).await;
        self.metrics().operation(OperationKind::Write).observe(began.elapsed().as_secs_f64());
        answer
    }

    /// Asks on a connection that writes: it may lead to another server than reads, or a standby.
    async fn check_writes(&self) -> Result<()> {
        let check = async {
            let check = POSTGRES.statement(REQUIRE_WRITES, []);
            self.writer.pool.query(Limits::BRIEF, check).await?;
            self.writer.history.held().await
        };
        check.await.map_err(|error| logged(&error, "check_writes"))?;
        self.lease.require_writes().await?;
        if self.queue.is_alive() { Ok(()) } else { Err(RepositoryError::Unavailable) }
    }

    async fn check_schema(&self) -> Result<(), StoreError> {
        probe::check_schema(&self.writer.pool, &self.readers.quick).await
    }

    async fn begin_history(&self) -> Result<(), StoreError> {
        if self.writer.history.is_kept() {
            return Ok(());
        }
        let session = self.writer.history.take().await?;
        let history = Arc::clone(&self.writer.history);
        self.tasks.lock().spawn(async move { history.keep(session).await });
        Ok(())
    }

    /// Asks on a connection that writes: the log is that of its server.
    async fn log_position(&self) -> Result<(u32, u64)> {
        let position = async {
            let row =
                self.one(&self.writer.pool, sql_file!("postgres/servers/log_position")).await?;
            let timeline = u32::try_from(count(&row, "timeline")?);
            let timeline = timeline.map_err(|error| not_understood("timeline", error))?;
            Ok((timeline, count(&row, "position")?))
        };
        position.await.map_err(|error: DbErr| logged(&error, "log_position"))
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.schema
    }

    fn most_waiting(&self) -> i64 {
        20_000
    }

    async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step> {
        self.lease.require_writes().await?;
        let _writing =
            self.writer.history.write().await.map_err(|error| logged(&error, "index"))?;
        let step = twice_if_lost(async || {
            let transaction = self.readers.quick.session(READ).await?;
            transaction.run(Effect::Begin, "BEGIN").await?;
            let done = step::index(&transaction, limit, up_to).await?;
            transaction.commit().await?;
            Ok(done)
        });
        step.await.map_err(|error: DbErr| logged(&error, "index"))
    }

    async fn now(&self, _here: Timestamp) -> Result<Timestamp> {
        let now = self.one(&self.readers.quick, sql_file!("postgres/write/now")).await;
        now.and_then(|row| timestamp(&row, "now")).map_err(|error| logged(&error, "now"))
    }

    async fn execute(&self, step: &'static str, statement: Statement) -> Result<u64> {
        self.lease.require_writes().await?;
        let _writing = self.writer.history.write().await.map_err(|error| logged(&error, step))?;
        let done =
            async { self.writer.pool.session(Limits::LOCK).await?.execute_raw(statement).await };
        done.await.map(|done| done.rows_affected()).map_err(|error| logged(&error, step))
    }

    /// Each attempt is a separate transaction. Another session that builds an index waits for all
    /// older snapshots, so a transaction that waits for that session's lock would deadlock.
    async fn lock_schema(&self) -> DbResult<Option<DatabaseTransaction>> {
        let lock = "SELECT pg_try_advisory_xact_lock($1) AS is_ours";
        let lock = POSTGRES.statement(lock, [MIGRATION_LOCK.into()]);
        let mut attempt = 0_u64;
        loop {
            let transaction = self.schema.begin().await?;
            let row = transaction.query_one_raw(lock.clone()).await?;
            if row.map_or(Ok(false), |row| get(&row, "is_ours"))? {
                return Ok(Some(transaction));
            }
            transaction.rollback().await?;
            attempt += 1;
            if attempt == 10 {
                tracing::info!("another process is changing the schema; waiting for it to finish");
            }
            sleep(LOCK_PAUSE).await;
        }
    }

    async fn begin_migration(&self) -> DbResult<DatabaseTransaction> {
        let transaction = self.schema.begin().await?;
        transaction.execute_unprepared(MIGRATION_SETTINGS).await?;
        Ok(transaction)
    }
}

/// Connects once, and reports the cause of an error at once, unless it goes away by itself.
async fn reach(options: &StoreOptions) -> Result<Server, StoreError> {
    let server = Server::parse(&options.url, options, Arc::default())?;
    match server.connect(Purpose::Read).await {
        Err(SqlxError::Database(error)) if error.is_transient_in_connect_phase() => Ok(server),
        Err(error) => Err(probe::start_error(&server, &error).await),
        Ok(_) => Ok(server),
    }
}

pub(crate) async fn single_connection(
    options: &StoreOptions,
) -> Result<DatabaseConnection, StoreError> {
    Ok(schema_connection(&reach(options).await?))
}

/// Connections of the driver's own pool, which are opened when they are used.
fn schema_connection(server: &Server) -> DatabaseConnection {
    let pool = PgPoolOptions::new()
        .max_connections(SCHEMA_CONNECTIONS)
        .acquire_timeout(server.acquire_timeout)
        .idle_timeout(IDLE)
        .after_connect(|connection, _| {
            Box::pin(async { raw_sql(SCHEMA_SETTINGS).execute(connection).await.map(drop) })
        });
    let pool = pool.connect_lazy_with(server.options().clone());
    SqlxPostgresConnector::from_sqlx_postgres_pool(pool)
}
