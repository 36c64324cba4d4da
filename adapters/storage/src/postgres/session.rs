//! A connection in use: every answer has a limit, and it is known whether something may have been
//! committed.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sea_orm::sea_query::Values;
use sea_orm::sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow};
use sea_orm::sqlx::{
    AssertSqlSafe, Connection as _, Error as SqlxError, Executor as _, query_with, raw_sql,
};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement};
use sea_query_sqlx::SqlxValues;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use tracing::Instrument as _;

use crate::error::{is_connection_lost, is_refusal, is_schema_change};
use crate::postgres::pool::{Lease, Pool};
use crate::postgres::server::{READ_ONLY, require_writes};
use crate::spans;
use crate::write::row::{RowKind, WriteRow};
use crate::write::statements::{POSTGRES, WriteConnection, WriteStatements};

/// The time limit for cleaning an abandoned connection.
const CLEANING: Duration = Duration::from_secs(5);

/// The time limit for a read in progress after another connection was found dead.
const AFTER_A_LOSS: Duration = Duration::from_secs(2);

const COMMIT: &str = "COMMIT";

/// Limits of the answers of the server. When one is reached the connection counts as lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest time that an answer may take.
    pub answer: Duration,
    /// True where an answer is given up soon when another connection was lost, because asking
    /// again does no harm.
    pub can_repeat: bool,
}

/// A connection in use. Each statement is a separate transaction until one is
/// [begun](Self::begin).
pub(crate) struct Session {
    /// `None` when it was lost.
    lease: Mutex<Option<Lease>>,
    pool: Pool,
    timeline: u32,
    limits: Limits,
    is_in_transaction: AtomicBool,
    /// True from a request to its response; stays true if the response was not read.
    is_busy: AtomicBool,
    may_have_committed: AtomicBool,
}

impl Session {
    pub async fn open(pool: &Pool, limits: Limits) -> Result<Self, DbErr> {
        let lease = pool.acquire().await?;
        Ok(Self {
            timeline: lease.timeline,
            lease: Mutex::new(Some(lease)),
            pool: pool.clone(),
            limits,
            is_in_transaction: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
            may_have_committed: AtomicBool::new(false),
        })
    }

    /// The timeline of the server; 0 where the server does not tell.
    pub const fn timeline(&self) -> u32 {
        self.timeline
    }

    /// Opens a session and begins a transaction, which is rolled back unless it is committed.
    pub async fn begin(pool: &Pool, limits: Limits) -> Result<Self, DbErr> {
        let session = Self::open(pool, limits).await?;
        session.begin_with("BEGIN").await?;
        Ok(session)
    }

    /// Begins a transaction with statements without parameters, in one message; and the rows of
    /// each.
    pub async fn begin_with(&self, text: &str) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        self.is_in_transaction.store(true, Ordering::Relaxed);
        self.query_each(text).await
    }

    /// Runs statements without parameters, in one message; and the rows of each.
    pub async fn query_each(&self, text: &str) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        let reply = self.ask(Question::Simple(text)).await.map_err(exec_error)?;
        let results = |rows: Vec<PgRow>| rows.into_iter().map(QueryResult::from).collect();
        Ok(reply.rows.into_iter().map(results).collect())
    }

    /// Runs a whole transaction, in one message; and the rows of each of its statements. One that
    /// fails is rolled back.
    pub async fn run_transaction(&self, text: &str) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        let rows = self.begin_with(text).await?;
        self.is_in_transaction.store(false, Ordering::Relaxed);
        Ok(rows)
    }

    /// Commits the transaction. A `COMMIT` that is cancelled before it begins leaves it open.
    pub async fn commit(&self) -> Result<(), DbErr> {
        self.is_in_transaction.store(false, Ordering::Relaxed);
        let committed = self.execute_unprepared(COMMIT).instrument(spans::commit()).await;
        self.is_in_transaction.store(committed.is_err(), Ordering::Relaxed);
        committed.map(|_| ())
    }

    /// That the server takes writes.
    pub async fn require_writes(&self) -> Result<(), DbErr> {
        let reply = self.ask(Question::Simple(READ_ONLY)).await.map_err(exec_error)?;
        let is_writable = reply.rows.iter().flatten().try_for_each(require_writes);
        if is_writable.is_err() {
            self.lose(&mut *self.lease.lock().await);
        }
        is_writable.map_err(exec_error)
    }

    async fn query(&self, question: Question<'_>) -> Result<Vec<QueryResult>, DbErr> {
        let reply = self.ask(question).await.map_err(query_error)?;
        Ok(reply.rows.into_iter().flatten().map(QueryResult::from).collect())
    }

    fn lose(&self, lease: &mut Option<Lease>) {
        self.pool.losses().note();
        *lease = None;
    }

    /// Returns false when it is certain that nothing was committed: nothing was to be, or the server
    /// says that it rolled back.
    pub fn may_have_committed(&self) -> bool {
        self.may_have_committed.load(Ordering::Relaxed)
    }

    /// Sends something to the server and waits for the end of its answer.
    async fn ask(&self, question: Question<'_>) -> Result<Reply, SqlxError> {
        let mut lease = self.lease.lock().await;
        let Some(Lease { connection, .. }) = lease.as_mut() else {
            return Err(lost(io::ErrorKind::NotConnected, "the connection was lost before"));
        };
        let is_commit = matches!(question, Question::Simple(COMMIT));
        let mut reply = Reply::default();
        self.is_busy.store(true, Ordering::Relaxed);
        let outcome = tokio::select! {
            biased;
            outcome = question.answer(connection, &mut reply) => outcome,
            error = self.give_up() => Err(error),
        };
        self.is_busy.store(false, Ordering::Relaxed);
        let is_rolled_back = match &outcome {
            Ok(()) => false,
            Err(error) if is_commit => is_refusal(error),
            // When the statement itself is done, it is its commit that failed.
            Err(error) => matches!(error, SqlxError::Database(_)) && !reply.is_complete,
        };
        if !is_rolled_back && !self.is_in_transaction.load(Ordering::Relaxed) {
            self.may_have_committed.store(true, Ordering::Relaxed);
        }
        match &outcome {
            Err(error) if is_connection_lost(error) => self.lose(&mut lease),
            Err(error) if is_schema_change(error) => {
                self.pool.losses().note_schema_change();
                self.forget_statements(&mut lease).await;
            }
            _ => {}
        }
        outcome.map(|()| reply)
    }

    /// Drops all prepared statements, so that they are prepared again.
    async fn forget_statements(&self, lease: &mut Option<Lease>) {
        if let Some(Lease { connection, .. }) = lease
            && !matches!(timeout(CLEANING, connection.clear_cached_statements()).await, Ok(Ok(())))
        {
            self.lose(lease);
        }
    }

    /// Returns when the server has had its time to answer.
    async fn give_up(&self) -> SqlxError {
        let another_was_lost = async {
            if !self.limits.can_repeat {
                pending::<()>().await;
            }
            self.pool.losses().next().await;
            sleep(AFTER_A_LOSS).await;
        };
        tokio::select! {
            () = sleep(self.limits.answer) => lost(io::ErrorKind::TimedOut, "no response within the time limit"),
            () = another_was_lost => {
                lost(io::ErrorKind::ConnectionAborted, "no response, and another connection was lost")
            }
        }
    }
}

impl Drop for Session {
    /// Gives the connection back, when it is ready for its next use.
    fn drop(&mut self) {
        let Some(mut lease) = self.lease.get_mut().take() else { return };
        let (is_in_transaction, is_busy) =
            (*self.is_in_transaction.get_mut(), *self.is_busy.get_mut());
        if !is_in_transaction && !is_busy {
            return lease.give_back();
        }
        let pool = self.pool.clone();
        let cleaning = async move {
            // It ends what is open, and does no harm where nothing is.
            let cleaned = raw_sql("ROLLBACK").execute(&mut lease.connection);
            if matches!(timeout(CLEANING, cleaned).await, Ok(Ok(_))) {
                lease.give_back();
            } else {
                pool.losses().note();
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(cleaning);
        }
    }
}

#[async_trait]
impl ConnectionTrait for Session {
    fn get_database_backend(&self) -> DbBackend {
        DbBackend::Postgres
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let reply = self.ask(Question::Statement(statement)).await.map_err(exec_error)?;
        Ok(reply.result.into())
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        let reply = self.ask(Question::Simple(text)).await.map_err(exec_error)?;
        Ok(reply.result.into())
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        Ok(self.query_all_raw(statement).await?.into_iter().next())
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.query(Question::Statement(statement)).await
    }
}

#[async_trait]
impl WriteConnection for Session {
    const STATEMENTS: &'static WriteStatements = &POSTGRES;

    async fn query_rows(
        &self,
        kind: RowKind,
        rows: &[WriteRow<'_>],
    ) -> Result<Vec<QueryResult>, DbErr> {
        let arrays = WriteRow::arrays(rows).map_err(query_error)?;
        self.query(Question::Rows(POSTGRES.of_rows(kind), arrays)).await
    }
}

/// Something sent to the server: text without parameters, or a statement that is kept prepared.
enum Question<'a> {
    Simple(&'a str),
    Statement(Statement),
    Rows(&'static str, PgArguments),
}

/// The answer of the server, as far as it has come.
#[derive(Default)]
struct Reply {
    /// The rows of each statement.
    rows: Vec<Vec<PgRow>>,
    result: PgQueryResult,
    is_complete: bool,
}

impl Question<'_> {
    async fn answer(
        self,
        connection: &mut PgConnection,
        reply: &mut Reply,
    ) -> Result<(), SqlxError> {
        let mut results = match self {
            Self::Simple(text) => connection.fetch_many(raw_sql(AssertSqlSafe(text.to_owned()))),
            Self::Statement(Statement { sql, values, .. }) => {
                let values = SqlxValues(values.unwrap_or_else(|| Values(Vec::new())));
                connection.fetch_many(query_with(AssertSqlSafe(sql), values))
            }
            Self::Rows(text, arrays) => connection.fetch_many(query_with(text, arrays)),
        };
        let mut rows = Vec::new();
        while let Some(result) = results.try_next().await? {
            let end = |result| {
                reply.result = result;
                reply.is_complete = true;
                reply.rows.push(std::mem::take(&mut rows));
                None
            };
            let row: Option<PgRow> = result.either(end, Some);
            rows.extend(row);
        }
        Ok(())
    }
}

fn lost(kind: io::ErrorKind, reason: &'static str) -> SqlxError {
    SqlxError::Io(io::Error::new(kind, reason))
}

fn query_error(error: SqlxError) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}

fn exec_error(error: SqlxError) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}
