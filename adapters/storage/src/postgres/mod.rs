//! `PostgreSQL`: a pool of connections that read, and a small one of connections that write.

pub(crate) mod batch;
pub(crate) mod idempotency;
pub(crate) mod read_set;
pub(crate) mod search_index;
pub(crate) mod writes;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::RepositoryError;
use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{Connection, Error as SqlxError};
use sea_orm::{
    ConnectOptions, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult,
    SqlxPostgresConnector, Statement, TransactionTrait,
};

use crate::StoreOptions;
use crate::engine::Engine;
use crate::error::{StoreError, is_lost, logged};
use crate::postgres::writes::{PostgresWrites, acquire_commit_lock};
use crate::search_index::progress::Step;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::sql::idempotency::FORGET;
use crate::write::batch::RowWrite;
use crate::write::command::{Answer, Change, Write};
use crate::write::queue::{WriteQueue, Writer};

/// Few, so that many reads share a statement; more than one, so that a large page does not hold up
/// the others.
const WORKERS: usize = 4;

/// Statements that insert and update at the same time. They take turns in any case, and one takes
/// more writes than two.
const WRITE_WORKERS: usize = 1;

/// Most connections that write: those of the workers, and some for writes of other kinds, which all
/// take turns.
const WRITING_CONNECTIONS: u32 = 4;

/// The settings of connections that write: the plan of a statement is made once. The statements
/// look for items by their identifiers only, so that the one good plan uses the indexes however
/// small the tables are when it is made. What is read under the commit lock must be as the holder
/// before left it, whatever the database's own default is.
const WRITING_SETTINGS: [(&str, &str); 5] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("default_transaction_isolation", "read committed"),
];

/// Names the advisory lock under which the schema is prepared, among all that use this database.
const MIGRATION_LOCK: i64 = 0x7072_6f70_6f73_616c;

/// A connection idle for this long may have been cut by something in between, so it is tried before
/// it is used.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

/// The time after a loss in which a connection may still come back into the pool that had been in
/// use at the time.
const SETTLING: Duration = Duration::from_secs(1);

/// Statements a connection keeps prepared: more than this crate has.
const STATEMENTS_KEPT: usize = 256;

/// Connections to a `PostgreSQL` database.
pub(crate) struct Postgres {
    readers: DatabaseConnection,
    losses: Arc<Losses>,
    writer: PostgresWriter,
    rows: WriteQueue,
}

/// Does writes on any connection that writes. One whose connection was lost may have happened, so
/// it is not done again.
#[derive(Clone)]
struct PostgresWriter {
    pool: DatabaseConnection,
    losses: Arc<Losses>,
    writes: Arc<PostgresWrites>,
}

#[async_trait]
impl Writer for PostgresWriter {
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
        let rows: Vec<_> = writes
            .iter()
            .filter_map(|Write { change, metadata }| match change {
                Change::Row(row) => Some(RowWrite { row, metadata }),
                _ => None,
            })
            .collect();
        let answers = self.writes.perform_rows(&self.pool, &rows).await;
        if answers.contains(&Err(RepositoryError::Unavailable)) {
            self.losses.note();
        }
        answers
    }
}

impl PostgresWriter {
    async fn alone(&self, write: &Write) -> Answer {
        self.writes
            .perform(&self.pool, write)
            .await
            .unwrap_or_else(|error| Err(self.failed(&error, "write")))
    }

    fn failed(&self, error: &DbErr, step: &'static str) -> RepositoryError {
        if is_lost(error) {
            self.losses.note();
        }
        logged(error, step)
    }
}

impl Postgres {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let target = reach(options).await?;
        let losses = Arc::new(Losses::default());
        let connect_error = |error: DbErr| StoreError::connect(target.clone(), &error);
        let writing = WRITING_CONNECTIONS.min(options.connections / 2).max(1);
        let reading = options.connections.saturating_sub(writing).max(1);
        let settings = pool_options(options, reading, &[], &losses);
        let readers = SqlxPostgresConnector::connect(settings).await.map_err(connect_error)?;
        let settings = pool_options(options, writing, &WRITING_SETTINGS, &losses);
        let pool = SqlxPostgresConnector::connect(settings).await.map_err(connect_error)?;
        let writer = PostgresWriter {
            pool,
            losses: Arc::clone(&losses),
            writes: Arc::new(PostgresWrites::new()),
        };
        let rows = WriteQueue::start(writer.clone(), WRITE_WORKERS, options.acquire_timeout);
        Ok(Self { readers, losses, writer, rows })
    }
}

#[async_trait]
impl Engine for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn workers(&self) -> usize {
        WORKERS
    }

    /// A read whose connection was lost, as all are when the server restarts, is done once more on
    /// another.
    async fn read(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        match self.readers.query_all_raw(statement.clone()).await {
            Err(error) if is_lost(&error) => {
                tracing::info!(%error, "a connection was lost; reading again on another");
                self.losses.note();
                self.readers.query_all_raw(statement).await
            }
            done => done,
        }
    }

    async fn write(&self, write: Write) -> Answer {
        match write.change {
            Change::Row(_) => self.rows.write(write).await,
            _ => self.writer.alone(&write).await,
        }
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.readers
    }

    fn most_waiting(&self) -> i64 {
        20_000
    }

    async fn index(&self, limit: i64) -> Result<Step, RepositoryError> {
        let step = async {
            let transaction = self.readers.begin().await?;
            let step = search_index::step(&transaction, limit).await?;
            transaction.commit().await?;
            Ok(step)
        };
        step.await.map_err(|error: DbErr| logged(&error, "index"))
    }

    /// The statement is a transaction of its own.
    async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError> {
        acquire_commit_lock(&self.writer.pool, time)
            .await
            .map(|_| ())
            .map_err(|error| self.writer.failed(&error, "close_timestamp"))
    }

    async fn forget_requests(&self, now: Timestamp, limit: i64) -> Result<u64, RepositoryError> {
        let forget = POSTGRES.statement(FORGET, [now.as_microsecond().into(), limit.into()]);
        match self.writer.pool.execute_raw(forget).await {
            Ok(done) => Ok(done.rows_affected()),
            Err(error) => Err(self.writer.failed(&error, "forget")),
        }
    }

    async fn begin_migration(&self) -> Result<DatabaseTransaction, DbErr> {
        let transaction = self.readers.begin().await?;
        let lock = POSTGRES.statement("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK.into()]);
        transaction.execute_raw(lock).await?;
        Ok(transaction)
    }

    async fn close(&self) {
        self.rows.close().await;
        for connections in [&self.readers, &self.writer.pool] {
            if let Err(error) = connections.close_by_ref().await {
                tracing::warn!(%error, "the PostgreSQL connections did not close cleanly");
            }
        }
    }
}

/// Connects once, and returns the name of the database for messages. A pool tries again until it
/// has no time left, and conceals why; here the cause is reported at once, unless it goes away by
/// itself.
async fn reach(options: &StoreOptions) -> Result<String, StoreError> {
    const STARTING_UP: &str = "57P03";
    const TOO_MANY_CONNECTIONS: &str = "53300";
    let parsed: PgConnectOptions = options
        .url
        .parse()
        .map_err(|error: SqlxError| StoreError::InvalidUrl(error.to_string()))?;
    let database = parsed.get_database().unwrap_or("postgres");
    let target = format!("{database} at {}:{}", parsed.get_host(), parsed.get_port());
    let connecting = PgConnection::connect_with(&parsed);
    match tokio::time::timeout(options.acquire_timeout, connecting).await {
        Ok(Ok(connection)) => {
            if let Err(error) = connection.close().await {
                tracing::debug!(%error, "a PostgreSQL connection did not close cleanly");
            }
        }
        Ok(Err(SqlxError::Database(error)))
            if matches!(error.code().as_deref(), Some(STARTING_UP | TOO_MANY_CONNECTIONS)) => {}
        Ok(Err(error)) => return Err(StoreError::connect(target, &error)),
        Err(_) => {
            let time = options.acquire_timeout;
            return Err(StoreError::connect(target, &format!("no answer within {time:?}")));
        }
    }
    Ok(target)
}

/// A connection that is not the service's, for those who only look.
pub(crate) async fn single_connection(
    options: &StoreOptions,
) -> Result<DatabaseConnection, StoreError> {
    let target = reach(options).await?;
    let connection =
        SqlxPostgresConnector::connect(pool_options(options, 1, &[], &Arc::default())).await;
    connection.map_err(|error| StoreError::connect(target, &error))
}

/// When a connection was last found dead. Where one is, the others that were open then may be as
/// well; so they are tried before they are used, and no others: a ping before every use would
/// double the round trips.
#[derive(Default)]
struct Losses(Mutex<Option<Instant>>);

impl Losses {
    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Returns whether a connection that is so old, and has been idle for so long, may be dead.
    fn is_suspect(&self, age: Duration, idle_for: Duration) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = last.map(|last| last.elapsed());
        idle_for >= TRUSTED_FOR
            || since.is_some_and(|since| age >= since && idle_for + SETTLING >= since)
    }
}

fn pool_options(
    options: &StoreOptions,
    connections: u32,
    settings: &'static [(&'static str, &'static str)],
    losses: &Arc<Losses>,
) -> ConnectOptions {
    let mut pool = ConnectOptions::new(options.url.as_str());
    pool.max_connections(connections).min_connections(1).acquire_timeout(options.acquire_timeout);
    pool.test_before_acquire(false).sqlx_logging(false);
    pool.map_sqlx_postgres_opts(|server| {
        let server = server.statement_cache_capacity(STATEMENTS_KEPT);
        if settings.is_empty() { server } else { server.options(settings.iter().copied()) }
    });
    let losses = Arc::clone(losses);
    pool.map_sqlx_postgres_before_acquire(move |connection, use_so_far| {
        let is_suspect = losses.is_suspect(use_so_far.age, use_so_far.idle_for);
        Box::pin(async move {
            if is_suspect {
                connection.ping().await?;
            }
            Ok(true)
        })
    });
    pool
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Losses, TRUSTED_FOR};

    const OLD: Duration = Duration::from_mins(1);
    const BRIEF: Duration = Duration::from_millis(1);

    #[test]
    fn connections_older_than_a_loss_are_suspect() {
        let losses = Losses::default();
        assert!(!losses.is_suspect(OLD, BRIEF));
        losses.note();
        assert!(losses.is_suspect(OLD, BRIEF));
        std::thread::sleep(BRIEF * 5);
        assert!(!losses.is_suspect(BRIEF, Duration::ZERO), "it was opened after the loss");
    }

    #[test]
    fn connections_long_idle_are_suspect() {
        assert!(Losses::default().is_suspect(OLD, TRUSTED_FOR));
    }
}
