//! `PostgreSQL`: a pool of connections that read, and a small one of connections that write.

mod connections;
mod exclusive_transaction;
mod fence;
mod history_lock;
mod lease;
mod log_position;
mod losses;
mod probe;
mod sample;
mod server;
mod server_process;
mod session;
pub(crate) mod standby;
pub(crate) mod writes;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::{RepositoryError, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use prometheus_client::encoding::DescriptorEncoder;
use sea_orm::sqlx::{Connection as _, Error as SqlxError, raw_sql};
use sea_orm::{
    ConnAcquireErr, ConnectOptions, ConnectionTrait, DatabaseConnection, DatabaseTransaction,
    DbErr, QueryResult, SqlxPostgresConnector, Statement, TransactionTrait,
};
use tokio::time::{sleep, timeout};
use tracing::Instrument as _;

use crate::StoreOptions;
use crate::engine::{ReadEngine, ReadMode, Workers, WriteEngine};
use crate::error::{StoreError, is_lost, logged, needs_new_plan};
use crate::metrics::{OperationKind, Sample, StoreMetrics};
use crate::postgres::connections::{ConnectionOptions, Connections};
use crate::postgres::history_lock::HistoryLock;
use crate::postgres::lease::Lease;
use crate::postgres::losses::Losses;
use crate::postgres::server::{Purpose, Server};
use crate::postgres::session::{Limits, Question};
use crate::postgres::writes::PostgresWriter;
use crate::search_index::progress::Step;
use crate::search_index::step::step;
use crate::spans;
use crate::sql::change_log;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::sql::row_mapping;
use crate::write::command::{Answer, Change, Write};
use crate::write::queue::WriteQueue;

/// Few, so that many reads share a statement; more than one, so that a large page does not hold up
/// the others.
const WORKERS: Workers = Workers { quick: 4, slow: SLOW_CONNECTIONS as usize };

/// Most connections that write: those of the workers, and some for writes of other kinds.
const WRITING_CONNECTIONS: u32 = 4;

/// The number of connections for statements that may take long, if there are enough for all.
const SLOW_CONNECTIONS: u32 = 2;

/// Names the advisory lock under which the schema is prepared, among all that use this database.
const MIGRATION_LOCK: i64 = 0x7072_6f70_6f73_616c;

/// The settings of the transaction that has that lock. It is idle while the schema is changed, and has
/// no snapshot then, which an index that is made would wait for; the server ends it when the machine
/// that it came from is gone.
const LOCK_SETTINGS: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL tcp_keepalives_idle = 10; \
                             SET LOCAL tcp_keepalives_interval = 5; SET LOCAL tcp_keepalives_count = 3";

/// The pause between attempts to get it.
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// A change of the schema waits for its locks no longer than this, since all who come after it wait
/// for it; and it ends when the instance that makes it is stopped. Each statement sees what those it
/// waited for have committed, such as the row of an instance.
const MIGRATION_SETTINGS: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '1min'";

/// An index of many rows takes longer than a role or a database may allow its statements.
const SCHEMA_SETTINGS: &str = "SET statement_timeout = 0; SET lock_timeout = 0";

/// Connections for the schema: the lock, a change, and what is looked at meanwhile.
const SCHEMA_CONNECTIONS: u32 = 3;

/// The longest time to wait for the database's clock to reach a time that was asked for.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Limits of the answers to reads, and to the steps of the full-text index.
const READ: Limits = Limits { answer: Duration::from_secs(30), can_repeat: true };

/// Limits of the answers to what must be quick.
const BRIEF: Limits = Limits { answer: Duration::from_secs(3), can_repeat: true };

/// Limits of the answers to what waits for the fence.
const LOCK: Limits = Limits { answer: Duration::from_secs(12), can_repeat: false };

/// The time after which the connection for the schema is closed.
const IDLE: Duration = Duration::from_secs(10);

/// Connections to a `PostgreSQL` database.
pub(crate) struct Postgres {
    readers: Connections,
    slow_readers: Connections,
    writers: Connections,
    writer: PostgresWriter,
    rows: WriteQueue,
    lease: Arc<Lease>,
    history: Arc<HistoryLock>,
    /// For the schema alone, and so not connected most of the time.
    schema: DatabaseConnection,
}

impl Postgres {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let server = reach(options).await?;
        probe::check(&server, options.acquire_timeout).await?;
        let schema = schema_connection(options, &server).await?;
        let writing = WRITING_CONNECTIONS.min(options.connections / 2).max(1);
        let slow = SLOW_CONNECTIONS.min(options.connections / 4).max(1);
        let reading =
            options.connections.saturating_sub(writing + slow + history_lock::CONNECTIONS).max(1);
        let (server, losses) = (Arc::new(server), Arc::new(Losses::new()));
        let metrics = Arc::<StoreMetrics>::default();
        let connections = |purpose, connections, canceller| {
            Connections::new(ConnectionOptions {
                server: Arc::clone(&server),
                purpose,
                connections,
                canceller,
                losses: Arc::clone(&losses),
                acquire_timeout: options.acquire_timeout,
                metrics: Arc::clone(&metrics),
            })
        };
        let readers = connections(Purpose::Read, reading, None);
        let writers = connections(Purpose::Write, writing, None);
        let slow_readers = connections(Purpose::Search, slow, Some(readers.clone()));
        let locking = connections(Purpose::Read, history_lock::CONNECTIONS, None);
        let history = HistoryLock::new(locking);
        let writer = PostgresWriter { pool: writers.clone(), history: Arc::clone(&history) };
        let rows = WriteQueue::start(writer.clone(), options.acquire_timeout, &metrics);
        let lease = Lease::new(writers.clone());
        Ok(Self { readers, slow_readers, writers, writer, rows, lease, history, schema })
    }

    /// Runs a read, again if the database may have been restored meanwhile.
    async fn in_one_history<T, F: Future<Output = Result<T, DbErr>>>(
        &self,
        read: impl Fn() -> F,
    ) -> Result<T, DbErr> {
        self.lease.require_reads()?;
        for _ in 0..READS_ACROSS_A_RESTORE {
            let held = self.history.held().await?;
            let done = twice_if_lost(&read).await;
            if self.history.is_held(held) {
                return done;
            }
        }
        Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    async fn read_once(
        &self,
        statement: Statement,
        mode: ReadMode,
    ) -> Result<Vec<QueryResult>, DbErr> {
        let readers = if mode.is_slow { &self.slow_readers } else { &self.readers };
        let session = readers.session(READ).await?;
        if mode.is_settled {
            session.begin_with(fence::BEGIN_SETTLED).await?;
        }
        session.query_last(Question::Statement(statement)).await
    }
}

#[async_trait]
impl ReadEngine for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        self.readers.metrics()
    }

    fn workers(&self) -> Workers {
        WORKERS
    }

    async fn read(&self, statement: Statement, mode: ReadMode) -> Result<Vec<QueryResult>, DbErr> {
        self.in_one_history(|| self.read_once(statement.clone(), mode)).await
    }

    fn losses(&self) -> u64 {
        self.readers.losses().count()
    }

    fn history(&self) -> Arc<str> {
        self.history.id()
    }

    fn has_history(&self) -> bool {
        self.history.has()
    }

    fn timeline(&self) -> u32 {
        self.readers.timeline()
    }

    fn commits_in_order(&self) -> bool {
        false
    }

    /// Numbers up to one that is visible were drawn before, by writes that hold the fence.
    async fn fence(&self) -> Result<Sequence, RepositoryError> {
        let passed = async {
            let session = self.writers.session(LOCK).await?;
            let last = session.query_one_raw(change_log::last_statement(&POSTGRES)).await?;
            session.run_transaction(fence::PASS).await?;
            change_log::last_of(last)
        };
        passed.await.map(Sequence).map_err(|error: DbErr| logged(&error, "fence"))
    }

    /// A time that is still to come by the database's clock is waited for, if it is near.
    async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError> {
        loop {
            let close = async {
                let session = self.writers.session(LOCK).await?;
                let closed = session.begin_with(fence::BEGIN_SETTLED).await?;
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
        self.rows.close().await;
        self.lease.end().await;
        self.history.close().await;
        self.slow_readers.close().await;
        self.readers.close().await;
        self.writers.close().await;
        if let Err(error) = self.schema.close_by_ref().await {
            tracing::warn!(%error, "the PostgreSQL connections did not close cleanly");
        }
    }
}

#[async_trait]
impl WriteEngine for Postgres {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let pools =
            [("read", &self.readers), ("search", &self.slow_readers), ("write", &self.writers)];
        let pools = pools.map(|(name, pool)| {
            let (used, idle) = pool.sizes();
            (name, used, idle)
        });
        self.metrics().encode_connections(&pools, self.losses(), encoder)?;
        self.lease.encode(encoder)
    }

    async fn sample(&self) -> Result<Sample, RepositoryError> {
        let sampled = async { sample::take(&self.readers.session(BRIEF).await?).await };
        sampled.await.map_err(|error| logged(&error, "sample"))
    }

    async fn write(&self, write: Write) -> Answer {
        self.lease.require_writes().await?;
        if matches!(write.change, Change::Row(_)) {
            return self.rows.write(write).await;
        }
        let (began, span) = (Instant::now(), spans::write(&POSTGRES));
        let answer = self.writer.write_alone(&write).instrument(span).await;
        self.metrics().operation(OperationKind::Write).observe(began.elapsed().as_secs_f64());
        answer
    }

    /// The server is asked on a connection that writes, because that may go to another one than
    /// those that read, or to one that takes no writes any more.
    async fn check_writes(&self) -> Result<(), RepositoryError> {
        let check = async { self.writers.session(BRIEF).await?.require_writes().await };
        check.await.map_err(|error| logged(&error, "check_writes"))?;
        self.history.held().await.map_err(|error| logged(&error, "check_writes"))?;
        self.lease.require_writes().await?;
        if self.rows.is_alive() { Ok(()) } else { Err(RepositoryError::Unavailable) }
    }

    async fn check_schema(&self) -> Result<(), StoreError> {
        probe::check_schema(&self.writers, &self.readers).await
    }

    async fn begin_history(&self) -> Result<(), StoreError> {
        self.history.begin().await
    }

    /// The server is asked on a connection that writes, as it is the log of the writes.
    async fn log_position(&self) -> Result<(u32, u64), RepositoryError> {
        let position = async { log_position::read(&self.writers.session(BRIEF).await?).await };
        position.await.map_err(|error| logged(&error, "log_position"))
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.schema
    }

    fn most_waiting(&self) -> i64 {
        20_000
    }

    async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step, RepositoryError> {
        self.lease.require_writes().await?;
        let _writing = self.history.write().await.map_err(|error| logged(&error, "index"))?;
        let step = twice_if_lost(async || {
            let transaction = self.readers.begin(READ).await?;
            let done = step(&transaction, limit, up_to).await?;
            transaction.commit().await?;
            Ok(done)
        });
        step.await.map_err(|error: DbErr| logged(&error, "index"))
    }

    async fn now(&self, _here: Timestamp) -> Result<Timestamp, RepositoryError> {
        let now = async {
            let now = POSTGRES.statement(sql_file!("postgres/now"), []);
            let rows = self.readers.query(BRIEF, now).await?;
            rows.first().map_or(Ok(0), |row| row_mapping::get(row, "now"))
        };
        let now = now.await.map_err(|error: DbErr| logged(&error, "now"))?;
        Timestamp::from_microsecond(now).map_err(|_| RepositoryError::Corrupt)
    }

    async fn execute(
        &self,
        step: &'static str,
        statement: Statement,
    ) -> Result<u64, RepositoryError> {
        self.lease.require_writes().await?;
        let _writing = self.history.write().await.map_err(|error| logged(&error, step))?;
        let done = async { self.writers.session(LOCK).await?.execute_raw(statement).await };
        done.await.map(|done| done.rows_affected()).map_err(|error| logged(&error, step))
    }

    /// Each attempt is a separate transaction. Another session that builds an index waits for all
    /// transactions with an older snapshot, so a transaction that waits for its lock would deadlock.
    async fn lock_schema(&self) -> Result<Option<DatabaseTransaction>, DbErr> {
        let lock = "SELECT pg_try_advisory_xact_lock($1) AS is_ours";
        let lock = POSTGRES.statement(lock, [MIGRATION_LOCK.into()]);
        for attempt in 0_u64.. {
            let transaction = self.schema.begin().await?;
            transaction.execute_unprepared(LOCK_SETTINGS).await?;
            let row = transaction.query_one_raw(lock.clone()).await?;
            if row.map_or(Ok(false), |row| row_mapping::get(&row, "is_ours"))? {
                return Ok(Some(transaction));
            }
            transaction.rollback().await?;
            if attempt == 10 {
                tracing::info!("another process is changing the schema; waiting for it to finish");
            }
            sleep(LOCK_PAUSE).await;
        }
        Ok(None)
    }

    async fn begin_migration(&self) -> Result<DatabaseTransaction, DbErr> {
        let transaction = self.schema.begin().await?;
        transaction.execute_unprepared(MIGRATION_SETTINGS).await?;
        Ok(transaction)
    }
}

/// The attempts of a read during a restore.
const READS_ACROSS_A_RESTORE: u32 = 3;

/// Connections may have statements that were prepared before the schema was changed: each is found out
/// once.
const MOST_STALE: u32 = 64;

/// Runs a read. Retries it once on another connection if its own was lost, as after a restart of the
/// server, and again while a statement must be prepared again.
async fn twice_if_lost<T, F: Future<Output = Result<T, DbErr>>>(
    read: impl Fn() -> F,
) -> Result<T, DbErr> {
    let mut was_lost = false;
    for _ in 0..MOST_STALE {
        match read().await {
            Err(error) if is_lost(&error) && !was_lost => {
                tracing::info!(%error, "a connection was lost; retrying the read on another");
                was_lost = true;
            }
            Err(error) if needs_new_plan(&error) => {
                tracing::info!(%error, "the schema changed; retrying the read");
            }
            done => return done,
        }
    }
    read().await
}

/// Connects once. A pool tries again until it has no time left, and conceals why; here the cause is
/// reported at once, unless it goes away by itself.
async fn reach(options: &StoreOptions) -> Result<Server, StoreError> {
    const STARTING_UP: &str = "57P03";
    const TOO_MANY_CONNECTIONS: &str = "53300";
    let server = Server::parse(&options.url)?;
    let target = || server.target();
    match timeout(options.acquire_timeout, server.connect(Purpose::Read)).await {
        Ok(Ok((connection, timeline))) => {
            server.set_timeline(timeline);
            if let Err(error) = connection.close().await {
                tracing::debug!(%error, "a PostgreSQL connection did not close cleanly");
            }
        }
        Ok(Err(SqlxError::Database(error)))
            if matches!(error.code().as_deref(), Some(STARTING_UP | TOO_MANY_CONNECTIONS)) => {}
        Ok(Err(error)) => return Err(probe::start_error(&server, &error).await),
        Err(_) => {
            let time = options.acquire_timeout;
            return Err(StoreError::connect(target(), &format!("no response within {time:?}")));
        }
    }
    Ok(server)
}

/// A connection that is not the service's, for those who only look.
pub(crate) async fn single_connection(
    options: &StoreOptions,
) -> Result<DatabaseConnection, StoreError> {
    let server = reach(options).await?;
    schema_connection(options, &server).await
}

/// A connection of the object-relational mapper's own pool, which is opened when it is used.
async fn schema_connection(
    options: &StoreOptions,
    server: &Server,
) -> Result<DatabaseConnection, StoreError> {
    let current = server.options().clone();
    let mut pool = ConnectOptions::new(options.url.as_str());
    pool.max_connections(SCHEMA_CONNECTIONS)
        .min_connections(0)
        .acquire_timeout(options.acquire_timeout);
    pool.idle_timeout(IDLE).connect_lazy(true).sqlx_logging(false);
    pool.map_sqlx_postgres_opts(move |_| current.clone());
    pool.map_sqlx_postgres_pool_opts(|options| {
        options.after_connect(|connection, _| {
            Box::pin(async { raw_sql(SCHEMA_SETTINGS).execute(connection).await.map(drop) })
        })
    });
    let connection = SqlxPostgresConnector::connect(pool).await;
    connection.map_err(|error| StoreError::connect(server.target(), &error))
}
