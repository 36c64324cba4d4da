//! A connection in use. Answers have time limits, and it is known if something may be committed.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sea_orm::sea_query::Values;
use sea_orm::sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow};
use sea_orm::sqlx::{
    AssertSqlSafe, Error as SqlxError, Executor as _, IntoArguments, Postgres, SqlSafeStr as _,
    SqlStr, query_with, raw_sql,
};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr,
    Statement,
};
use sea_query_sqlx::SqlxValues;
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;

use crate::error::DbResult;
use crate::spans;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::sql::row_mapping::FromRow;
use crate::write::connection::{RowAnswer, WriteConnection, of_rows};
use crate::write::row::{RowKind, RowParameters};

/// Limits of the answers of the server. When one is reached the connection counts as lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub answer: Duration,
    /// True if asking again does no harm: then the loss of another connection shortens the wait.
    pub can_repeat: bool,
}

impl Limits {
    pub const BRIEF: Self = Self { answer: Duration::from_secs(3), can_repeat: true };

    /// For writes and the fence. The server's limit for locks is shorter.
    pub const LOCK: Self = Self { answer: Duration::from_secs(12), can_repeat: false };
}

/// A connection in use. A statement is a transaction unless one is open. Dropping this rolls back.
pub(crate) struct Session {
    pub questions: mpsc::Sender<Asked>,
    /// The timeline of the server, when the connection is open; 0 if it is unknown.
    pub timeline: oneshot::Receiver<u32>,
    pub may_have_committed: AtomicBool,
}

pub(crate) type Asked = (Question, oneshot::Sender<ServerAnswer>);

pub(crate) struct Question {
    pub effect: Effect,
    text: SqlStr,
    /// `None` if the text may be several statements, which are one transaction unless one is open.
    arguments: Option<PgArguments>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    Begin,
    Commit,
}

/// The answer of the server, as far as it has come.
#[derive(Default)]
pub(crate) struct Reply {
    /// The rows of each statement that is done.
    pub rows: Vec<Vec<PgRow>>,
    result: PgQueryResult,
}

pub(crate) struct ServerAnswer {
    pub result: Result<Reply, SqlxError>,
    pub may_have_committed: bool,
}

impl Session {
    /// Runs statements without parameters in one message. Returns the rows of each.
    pub async fn run(
        &self,
        effect: Effect,
        text: impl Into<String>,
    ) -> DbResult<Vec<Vec<QueryResult>>> {
        let reply = self.ask(Question::simple(effect, text)).await.map_err(database_error)?;
        let results = |rows: Vec<PgRow>| rows.into_iter().map(QueryResult::from).collect();
        Ok(reply.rows.into_iter().map(results).collect())
    }

    pub async fn commit(&self) -> DbResult<()> {
        self.run(Effect::Commit, "COMMIT").instrument(spans::commit()).await.map(drop)
    }

    async fn rows(&self, question: Question) -> DbResult<Vec<QueryResult>> {
        self.ask(question).await.map(Reply::all_rows).map_err(database_error)
    }

    /// Runs the last statement. The connection does not wait for the caller to take the answer.
    pub async fn query_last(self, statement: Statement) -> DbResult<Vec<QueryResult>> {
        let answer = self.send(Question::of(statement)).await.map_err(database_error)?;
        // Without the receiver the connection would not be opened.
        let Self { questions, timeline: _timeline, .. } = self;
        drop(questions);
        let reply = answer.await.map_err(gone).and_then(|answer| answer.result);
        reply.map(Reply::all_rows).map_err(database_error)
    }

    /// Returns true if a commit may have taken effect.
    pub fn may_have_committed(&self) -> bool {
        self.may_have_committed.load(Ordering::Relaxed)
    }

    async fn ask(&self, question: Question) -> Result<Reply, SqlxError> {
        let answer = self.send(question).await?.await;
        if answer.as_ref().map_or(true, |answer| answer.may_have_committed) {
            self.may_have_committed.store(true, Ordering::Relaxed);
        }
        answer.map_err(gone)?.result
    }

    async fn send(&self, question: Question) -> Result<oneshot::Receiver<ServerAnswer>, SqlxError> {
        let (reply, answer) = oneshot::channel();
        self.questions.send((question, reply)).await.map_err(gone)?;
        Ok(answer)
    }
}

impl Reply {
    fn all_rows(self) -> Vec<QueryResult> {
        self.rows.into_iter().flatten().map(QueryResult::from).collect()
    }
}

impl Question {
    fn simple(effect: Effect, text: impl Into<String>) -> Self {
        Self { effect, text: AssertSqlSafe(text.into()).into_sql_str(), arguments: None }
    }

    fn of(Statement { sql, values, .. }: Statement) -> Self {
        let values = SqlxValues(values.unwrap_or_else(|| Values(Vec::new())));
        let arguments: PgArguments = IntoArguments::<Postgres>::into_arguments(values);
        let text = AssertSqlSafe(sql).into_sql_str();
        Self { effect: Effect::None, text, arguments: Some(arguments) }
    }

    pub async fn answer(
        self,
        connection: &mut PgConnection,
        reply: &mut Reply,
    ) -> Result<(), SqlxError> {
        let mut results = match self.arguments {
            Some(arguments) => connection.fetch_many(query_with(self.text, arguments)),
            None => connection.fetch_many(raw_sql(self.text)),
        };
        let mut rows = Vec::new();
        while let Some(result) = results.try_next().await? {
            let end = |result| {
                reply.result = result;
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

    async fn execute_raw(&self, statement: Statement) -> DbResult<ExecResult> {
        let reply = self.ask(Question::of(statement)).await.map_err(database_error)?;
        Ok(reply.result.into())
    }

    async fn execute_unprepared(&self, text: &str) -> DbResult<ExecResult> {
        let reply = self.ask(Question::simple(Effect::None, text)).await.map_err(database_error)?;
        Ok(reply.result.into())
    }

    async fn query_one_raw(&self, statement: Statement) -> DbResult<Option<QueryResult>> {
        Ok(self.query_all_raw(statement).await?.into_iter().next())
    }

    async fn query_all_raw(&self, statement: Statement) -> DbResult<Vec<QueryResult>> {
        self.rows(Question::of(statement)).await
    }
}

#[async_trait]
impl WriteConnection for Session {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    async fn query<T: FromRow>(&self, statement: Statement) -> DbResult<Vec<T>> {
        typed(&self.query_all_raw(statement).await?)
    }

    async fn execute(&self, statement: Statement) -> DbResult<u64> {
        self.execute_raw(statement).await.map(|done| done.rows_affected())
    }

    async fn write(&self, kind: RowKind, rows: &[RowParameters<'_>]) -> DbResult<Vec<RowAnswer>> {
        let text = of_rows(&POSTGRES, kind).into_sql_str();
        let arguments = Some(RowParameters::arrays(rows).map_err(database_error)?);
        let answers = self.rows(Question { effect: Effect::None, text, arguments }).await?;
        answers.iter().map(|row| RowAnswer::of(row, kind != RowKind::Delete)).collect()
    }
}

pub(super) fn typed<T: FromRow>(rows: &[QueryResult]) -> DbResult<Vec<T>> {
    rows.iter().map(T::from_row).collect()
}

pub(super) fn lost(
    kind: io::ErrorKind,
    reason: impl Into<Box<dyn Error + Send + Sync>>,
) -> SqlxError {
    SqlxError::Io(io::Error::new(kind, reason))
}

fn gone<T>(_: T) -> SqlxError {
    lost(io::ErrorKind::NotConnected, "the connection was lost before")
}

pub(super) fn database_error(error: SqlxError) -> DbErr {
    match error {
        SqlxError::PoolTimedOut => DbErr::ConnectionAcquire(ConnAcquireErr::Timeout),
        error => DbErr::Query(RuntimeErr::SqlxError(error.into())),
    }
}
