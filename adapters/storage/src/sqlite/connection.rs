//! The connection that writes to an `SQLite` file.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Error, Executor as _, query_with, raw_sql,
};
use sea_orm::{
    ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement, Values,
};
use sea_query_sqlx::SqlxValues;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::error::is_busy;
use crate::metrics::BUSY_WAITS;
use crate::sql::dialect::SQLITE as DIALECT;
use crate::sql::row_mapping;
use crate::sqlite::{BUSY_TIMEOUT, STATEMENTS_KEPT};
use crate::write::row::{RowKind, RowParameters};
use crate::write::statements::{WriteConnection, of_rows};

const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Caches more pages than others, because it returns to those of its indexes. Another connection
/// copies the log (`sqlite/checkpoints.rs`); a commit does so only if it is long, and truncates it.
const PRAGMAS: [(&str, &str); 6] = [
    ("synchronous", "FULL"),
    ("foreign_keys", "ON"),
    ("cache_size", "-16384"),
    ("wal_autocheckpoint", "32000"),
    ("journal_size_limit", "67108864"),
    ("temp_store", "MEMORY"),
];

const WRITTEN: &str = sql_file!("sqlite/write/written");
const CLOCK: &str = sql_file!("sqlite/write/clock");
const GIVEN: &str = "INSERT INTO given (id, collection, parent, parent_collection, continues, kind, expected, members, reference_0, \
    reference_0_in, key_1, key_2, key_3, key_4, key_5, caller, acting, client, request_id, reads_hold) VALUES ";
const BEGIN: &str = sql_file!("sqlite/write/begin");

/// A connection that one task uses at a time.
pub(crate) struct WritingConnection {
    connection: Mutex<SqliteConnection>,
    is_in_transaction: AtomicBool,
    /// The time asked for by a transaction that begins with its first statement.
    beginning: parking_lot::Mutex<Option<i64>>,
    /// True if the message of the next rows commits the transaction.
    commits_next: AtomicBool,
    /// True after the clock was set to the latest stored time.
    has_time: AtomicBool,
}

impl WritingConnection {
    pub async fn open(file: &Path) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new().filename(file).busy_timeout(Duration::ZERO);
        let options = options.statement_cache_capacity(STATEMENTS_KEPT).disable_statement_logging();
        let options =
            PRAGMAS.iter().fold(options, |options, (name, value)| options.pragma(*name, *value));
        let mut connection = options.connect().await?;
        raw_sql(sql_file!("sqlite/write/writer")).execute(&mut connection).await?;
        for kind in [RowKind::Insert, RowKind::Update, RowKind::Delete] {
            raw_sql(of_rows(&DIALECT, kind)).execute(&mut connection).await?;
        }
        Ok(Self {
            connection: Mutex::new(connection),
            is_in_transaction: AtomicBool::new(false),
            beginning: parking_lot::Mutex::default(),
            commits_next: AtomicBool::new(false),
            has_time: AtomicBool::new(false),
        })
    }

    /// Begins a transaction of writes with its first statement. Its time is later than all before.
    pub async fn begin_with_next_statement(&self, asked: Timestamp) -> Result<(), DbErr> {
        self.set_clock().await?;
        *self.beginning.lock() = Some(asked.as_microsecond());
        self.commits_next.store(false, Ordering::Relaxed);
        Ok(())
    }

    pub async fn time(&self) -> Result<Timestamp, DbErr> {
        let rows = self.query_all_raw(DIALECT.statement("SELECT time FROM clock", [])).await?;
        let row = rows.first().ok_or_else(|| DbErr::RecordNotFound("a time".to_owned()))?;
        row_mapping::timestamp(row, "time")
    }

    async fn begin_now(&self) -> Result<(), DbErr> {
        let Some(asked) = self.beginning.lock().take() else { return Ok(()) };
        let begin = DIALECT.statement(BEGIN, [asked.into()]);
        self.begin_with(|| self.query_all_raw(begin.clone())).await.map(drop)
    }

    /// Takes the write lock at once: a transaction that requests it after a read fails at random.
    pub async fn begin(&self) -> Result<(), DbErr> {
        self.begin_with(|| self.execute_unprepared("BEGIN IMMEDIATE")).await.map(drop)
    }

    async fn begin_with<T, F: Future<Output = Result<T, DbErr>>>(
        &self,
        begin: impl Fn() -> F,
    ) -> Result<T, DbErr> {
        if self.is_in_transaction() {
            // The task that began it has panicked.
            self.end("ROLLBACK").await?;
        }
        let started = while_busy(begin).await;
        self.is_in_transaction.store(started.is_ok(), Ordering::Relaxed);
        started
    }

    pub fn commit_next(&self) {
        self.commits_next.store(true, Ordering::Relaxed);
    }

    pub fn is_in_transaction(&self) -> bool {
        self.is_in_transaction.load(Ordering::Relaxed)
    }

    pub async fn commit(&self) -> Result<(), DbErr> {
        let committed = self.end("COMMIT").await;
        if committed.is_err() {
            self.roll_back().await;
        }
        committed
    }

    pub async fn roll_back(&self) {
        if let Err(error) = self.end("ROLLBACK").await {
            // SQLite itself has rolled back after some errors, such as that of a full disk.
            tracing::debug!(%error, "no transaction to roll back");
            self.is_in_transaction.store(false, Ordering::Relaxed);
        }
    }

    async fn end(&self, text: &str) -> Result<(), DbErr> {
        self.execute_unprepared(text).await?;
        self.is_in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    pub async fn close_timestamp(&self, time: Timestamp) -> Result<(), DbErr> {
        self.set_clock().await?;
        let close = sql_file!("sqlite/write/close_timestamp");
        self.execute_raw(DIALECT.statement(close, [time.as_microsecond().into()])).await.map(drop)
    }

    async fn set_clock(&self) -> Result<(), DbErr> {
        if !self.has_time.load(Ordering::Relaxed) {
            self.execute_unprepared(CLOCK).await?;
            self.has_time.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    pub async fn mark(&self, mark: i32) -> Result<(), DbErr> {
        let text = format!("PRAGMA user_version = {mark}");
        while_busy(|| self.execute_unprepared(&text)).await.map(drop)
    }

    pub async fn execute(&self, statement: &Statement) -> Result<u64, DbErr> {
        let done = while_busy(|| self.execute_raw(statement.clone())).await;
        done.map(|done| done.rows_affected())
    }

    pub async fn close(self) -> Result<(), Error> {
        self.connection.into_inner().close().await
    }
}

/// Repeats a step that another process prevents with a lock on the file.
async fn while_busy<T, F: Future<Output = Result<T, DbErr>>>(
    step: impl Fn() -> F,
) -> Result<T, DbErr> {
    let began = Instant::now();
    loop {
        match step().await {
            Err(error) if is_busy(&error) && began.elapsed() < BUSY_TIMEOUT => {
                BUSY_WAITS.fetch_add(1, Ordering::Relaxed);
                sleep(BUSY_PAUSE).await;
            }
            done => return done,
        }
    }
}

fn query_error(error: Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}

#[async_trait]
impl ConnectionTrait for WritingConnection {
    fn get_database_backend(&self) -> DbBackend {
        DbBackend::Sqlite
    }

    async fn execute_raw(
        &self,
        Statement { sql, values, .. }: Statement,
    ) -> Result<ExecResult, DbErr> {
        let values = SqlxValues(values.unwrap_or(Values(Vec::new())));
        let mut connection = self.connection.lock().await;
        let done = connection.execute(query_with(AssertSqlSafe(sql), values)).await;
        done.map(ExecResult::from).map_err(query_error)
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        let mut connection = self.connection.lock().await;
        let done = raw_sql(AssertSqlSafe(text.to_owned())).execute(&mut *connection).await;
        done.map(ExecResult::from).map_err(query_error)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        Ok(self.query_all_raw(statement).await?.into_iter().next())
    }

    async fn query_all_raw(
        &self,
        Statement { sql, values, .. }: Statement,
    ) -> Result<Vec<QueryResult>, DbErr> {
        Box::pin(self.begin_now()).await?;
        let values = SqlxValues(values.unwrap_or(Values(Vec::new())));
        let mut connection = self.connection.lock().await;
        let rows = connection.fetch_all(query_with(AssertSqlSafe(sql), values)).await;
        Ok(rows.map_err(query_error)?.into_iter().map(QueryResult::from).collect())
    }
}

#[async_trait]
impl WriteConnection for WritingConnection {
    async fn query_rows(
        &self,
        kind: RowKind,
        rows: &[RowParameters<'_>],
    ) -> Result<Vec<QueryResult>, DbErr> {
        let beginning = self.beginning.lock().take();
        let begin = if beginning.is_some() { BEGIN } else { "" };
        let step = match kind {
            RowKind::Insert | RowKind::Restore => "insert",
            RowKind::Update => "update",
            RowKind::Delete => "delete",
        };
        let work = format!(";\nINSERT INTO {step}_step VALUES (NULL);\n");
        let commits = self.commits_next.swap(false, Ordering::Relaxed);
        let end = if commits { ";\nCOMMIT" } else { "" };
        let text = [begin, &given(rows.len()), &work, WRITTEN, end].concat();
        let run = async || {
            let mut arguments = SqliteArguments::default();
            let bound = beginning
                .map_or(Ok(()), |asked| sea_orm::sqlx::Arguments::add(&mut arguments, asked))
                .and_then(|()| rows.iter().try_for_each(|row| row.bind(&mut arguments)));
            bound.map_err(|error| query_error(Error::Encode(error)))?;
            let mut connection = self.connection.lock().await;
            let rows =
                connection.fetch_all(query_with(AssertSqlSafe(text.clone()), arguments)).await;
            Ok(rows.map_err(query_error)?.into_iter().map(QueryResult::from).collect())
        };
        let done = if beginning.is_none() { run().await } else { self.begin_with(run).await };
        if commits && done.is_ok() {
            self.is_in_transaction.store(false, Ordering::Relaxed);
        }
        done
    }
}

/// Inserts the next power of two of rows into `given`, so that there are few statements. Parameters
/// without a value are null. They have no numbers: to find one takes longer with more of them.
fn given(rows: usize) -> String {
    let row = format!("({})", ["?"; RowParameters::FIELDS].join(", "));
    format!("{GIVEN}{}", vec![row; rows.next_power_of_two()].join(", "))
}
