//! A connection in use: every answer has a limit, and it is known whether something may have been
//! committed.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sea_orm::sea_query::Values;
use sea_orm::sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow};
use sea_orm::sqlx::{AssertSqlSafe, Error as SqlxError, Executor as _, query_with, raw_sql};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr,
    Statement,
};
use sea_query_sqlx::SqlxValues;
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;

use crate::error::is_refusal;
use crate::postgres::server::require_writable;
use crate::spans;
use crate::sql::dialect::POSTGRES;
use crate::write::row::{RowKind, WriteRow};
use crate::write::statements::{WriteConnection, of_rows};

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
/// begun. Dropping it cancels the statement in progress and rolls the transaction back.
pub(crate) struct Session {
    questions: mpsc::Sender<Asked>,
    timeline: u32,
    is_in_transaction: AtomicBool,
    may_have_committed: AtomicBool,
}

/// A question with its reply.
pub(crate) type Asked = (Question, oneshot::Sender<Answer>);

/// Something sent to the server.
pub(crate) enum Question {
    /// Statements without parameters in one message.
    Simple(Effect, String),
    Statement(Statement),
    /// A statement over rows.
    Rows(&'static str, PgArguments),
    /// A check that the server takes writes.
    RequireWrites,
}

/// The effect of a message on the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    Begin,
    Commit,
    /// Begins and ends a transaction.
    Whole,
}

/// The answer of the server, as far as it has come.
#[derive(Default)]
pub(crate) struct Reply {
    /// The rows of each statement.
    rows: Vec<Vec<PgRow>>,
    result: PgQueryResult,
    is_complete: bool,
}

/// The outcome of a question.
pub(crate) struct Answer {
    pub result: Result<Reply, SqlxError>,
    /// True if nothing was sent, or the server says that it rolled back.
    is_rolled_back: bool,
}

impl Session {
    pub const fn new(questions: mpsc::Sender<Asked>, timeline: u32) -> Self {
        let (is_in_transaction, may_have_committed) =
            (AtomicBool::new(false), AtomicBool::new(false));
        Self { questions, timeline, is_in_transaction, may_have_committed }
    }

    /// The timeline of the server; 0 where the server does not tell.
    pub const fn timeline(&self) -> u32 {
        self.timeline
    }

    /// Begins a transaction with statements without parameters, in one message; and the rows of
    /// each.
    pub async fn begin_with(&self, text: &str) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        self.is_in_transaction.store(true, Ordering::Relaxed);
        self.query_texts(Effect::Begin, text).await
    }

    /// Runs statements without parameters, in one message; and the rows of each.
    pub async fn query_each(&self, text: &str) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        self.query_texts(Effect::None, text).await
    }

    /// Runs a whole transaction, in one message; and the rows of each of its statements. One that
    /// fails is rolled back.
    pub async fn run_transaction(&self, text: &str) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        self.query_texts(Effect::Whole, text).await
    }

    /// Commits the transaction.
    pub async fn commit(&self) -> Result<(), DbErr> {
        self.is_in_transaction.store(false, Ordering::Relaxed);
        let commit = self.query_texts(Effect::Commit, "COMMIT").instrument(spans::commit());
        commit.await.map(drop)
    }

    /// That the server takes writes.
    pub async fn require_writes(&self) -> Result<(), DbErr> {
        self.ask(Question::RequireWrites).await.map(drop).map_err(exec_error)
    }

    async fn query_texts(
        &self,
        effect: Effect,
        text: &str,
    ) -> Result<Vec<Vec<QueryResult>>, DbErr> {
        let question = Question::Simple(effect, text.to_owned());
        let reply = self.ask(question).await.map_err(exec_error)?;
        let results = |rows: Vec<PgRow>| rows.into_iter().map(QueryResult::from).collect();
        Ok(reply.rows.into_iter().map(results).collect())
    }

    async fn query(&self, question: Question) -> Result<Vec<QueryResult>, DbErr> {
        self.ask(question).await.map(Reply::all_rows).map_err(query_error)
    }

    /// Asks the last question of the session: its connection is free when the answer is there.
    pub async fn query_last(self, question: Question) -> Result<Vec<QueryResult>, DbErr> {
        let (reply, answer) = oneshot::channel();
        let sent = self.questions.send((question, reply)).await;
        drop(self);
        let answer = if sent.is_ok() { answer.await.ok() } else { None };
        let reply = answer.ok_or_else(gone).and_then(|answer| answer.result);
        reply.map(Reply::all_rows).map_err(query_error)
    }

    /// Returns false when it is certain that nothing was committed: nothing was to be, or the server
    /// says that it rolled back.
    pub fn may_have_committed(&self) -> bool {
        self.may_have_committed.load(Ordering::Relaxed)
    }

    /// Sends something to the server and waits for the end of its answer.
    async fn ask(&self, question: Question) -> Result<Reply, SqlxError> {
        let (reply, answer) = oneshot::channel();
        let is_whole = question.effect() == Effect::Whole;
        self.questions.send((question, reply)).await.map_err(|_| gone())?;
        let answered = answer.await;
        let is_rolled_back = answered.as_ref().is_ok_and(|answer| answer.is_rolled_back);
        let is_open = self.is_in_transaction.load(Ordering::Relaxed) || is_whole;
        if !is_rolled_back && !is_open {
            self.may_have_committed.store(true, Ordering::Relaxed);
        }
        answered.map_err(|_| gone())?.result
    }
}

impl Reply {
    fn all_rows(self) -> Vec<QueryResult> {
        self.rows.into_iter().flatten().map(QueryResult::from).collect()
    }
}

impl Answer {
    pub fn new(result: Result<(), SqlxError>, reply: Reply, effect: Effect) -> Self {
        let is_rolled_back = match &result {
            Ok(()) => false,
            Err(error) if effect == Effect::Commit => is_refusal(error),
            // When the statement itself is done, it is its commit that failed.
            Err(error) => matches!(error, SqlxError::Database(_)) && !reply.is_complete,
        };
        Self { result: result.map(|()| reply), is_rolled_back }
    }

    /// The answer if there is no connection.
    pub const fn not_sent(error: SqlxError) -> Self {
        Self { result: Err(error), is_rolled_back: true }
    }
}

impl Question {
    pub const fn effect(&self) -> Effect {
        match self {
            Self::Simple(effect, _) => *effect,
            _ => Effect::None,
        }
    }

    pub async fn answer(
        self,
        connection: &mut PgConnection,
        reply: &mut Reply,
    ) -> Result<(), SqlxError> {
        let mut results = match self {
            Self::Simple(_, text) => connection.fetch_many(raw_sql(AssertSqlSafe(text))),
            Self::Statement(Statement { sql, values, .. }) => {
                let values = SqlxValues(values.unwrap_or_else(|| Values(Vec::new())));
                connection.fetch_many(query_with(AssertSqlSafe(sql), values))
            }
            Self::Rows(text, arrays) => connection.fetch_many(query_with(text, arrays)),
            Self::RequireWrites => return require_writable(connection).await,
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
        let question = Question::Simple(Effect::None, text.to_owned());
        let reply = self.ask(question).await.map_err(exec_error)?;
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
    async fn query_rows(
        &self,
        kind: RowKind,
        rows: &[WriteRow<'_>],
    ) -> Result<Vec<QueryResult>, DbErr> {
        let arrays = WriteRow::arrays(rows).map_err(query_error)?;
        self.query(Question::Rows(of_rows(&POSTGRES, kind), arrays)).await
    }
}

/// The error of a connection that is closed because the server does not answer.
pub(super) fn lost(kind: io::ErrorKind, reason: &'static str) -> SqlxError {
    SqlxError::Io(io::Error::new(kind, reason))
}

fn gone() -> SqlxError {
    lost(io::ErrorKind::NotConnected, "the connection was lost before")
}

pub(super) fn query_error(error: SqlxError) -> DbErr {
    match error {
        // No connection was lost.
        SqlxError::PoolTimedOut => DbErr::ConnectionAcquire(ConnAcquireErr::Timeout),
        error => DbErr::Query(RuntimeErr::SqlxError(error.into())),
    }
}

fn exec_error(error: SqlxError) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}
