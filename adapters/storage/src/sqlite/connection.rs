//! The connection that writes to an `SQLite` file. Its methods block, so they run on threads that
//! may ([`blocking`]). A thread per connection, as sqlx has it, must be woken for each statement.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use rusqlite::types::ToSqlOutput;
use rusqlite::{CachedStatement, Connection, Error, OpenFlags, Row, ToSql};
use sea_orm::{Statement, Value, Values};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};
use uuid::Uuid;

use crate::error::{DbResult, of_rusqlite};
use crate::metrics::BUSY_WAITS;
use crate::sql::dialect::{Dialect, SQLITE as DIALECT};
use crate::sql::row_mapping::{self, FromRow};
use crate::sqlite::{BUSY_TIMEOUT, STATEMENTS_KEPT};
use crate::write::connection::{RowAnswer, WriteConnection, of_rows};
use crate::write::row::{RowKind, RowParameters};

const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Caches more pages than others, because it returns to those of its indexes. Another connection
/// copies the log (`sqlite/checkpoints.rs`); a commit does so only if it is long, and truncates it.
const PRAGMAS: &str = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384; \
    PRAGMA wal_autocheckpoint = 32000; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY";

/// Runs work that blocks its thread. Work that has begun ends even if the handle is dropped.
pub(crate) fn blocking<T: Send + 'static>(
    work: impl AsyncFnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let runtime = Handle::current();
    spawn_blocking(move || runtime.block_on(work()))
}

pub(crate) struct WritingConnection {
    connection: Mutex<Connection>,
    /// The time of the last transaction in microseconds; 0 before it is known.
    time: AtomicI64,
}

impl WritingConnection {
    pub fn open(file: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        connection.busy_handler(Some(wait_for_lock))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        connection.execute_batch(PRAGMAS)?;
        Ok(Self { connection: Mutex::new(connection), time: AtomicI64::new(0) })
    }

    /// Begins a transaction of writes, whose time is later than all before.
    pub fn begin_at(&self, asked: Timestamp) -> DbResult<()> {
        let time = asked.as_microsecond().max(self.last_time()? + 1);
        self.begin()?;
        self.time.store(time, Ordering::Relaxed);
        Ok(())
    }

    /// Takes the write lock at once: a transaction that requests it after a read fails at random.
    pub fn begin(&self) -> DbResult<()> {
        // One is open if the writer has panicked.
        self.roll_back();
        self.run("BEGIN IMMEDIATE")
    }

    pub fn commit(&self) -> DbResult<()> {
        self.run("COMMIT").inspect_err(|_| self.roll_back())
    }

    pub fn roll_back(&self) {
        // SQLite itself has rolled back after some errors, such as that of a full disk.
        let is_open = !self.connection.lock().is_autocommit();
        if is_open && let Err(error) = self.run("ROLLBACK") {
            tracing::warn!(%error, "cannot roll a transaction back");
        }
    }

    /// The time of the transaction.
    pub fn time(&self) -> Timestamp {
        Timestamp::from_microsecond(self.time.load(Ordering::Relaxed)).unwrap_or(Timestamp::MAX)
    }

    fn last_time(&self) -> DbResult<i64> {
        match self.time.load(Ordering::Relaxed) {
            0 => {
                let latest = sql_file!("both/read/changes_latest_time");
                let connection = self.connection.lock();
                let latest =
                    connection.query_row(latest, [], |row| row.get::<_, Option<i64>>("time"));
                latest.map(Option::unwrap_or_default).map_err(of_rusqlite)
            }
            time => Ok(time),
        }
    }

    /// Makes sure that later transactions have later times.
    pub fn close_timestamp(&self, time: Timestamp) -> DbResult<()> {
        let time = self.last_time()?.max(time.as_microsecond());
        self.time.store(time, Ordering::Relaxed);
        Ok(())
    }

    /// Executes a statement to its end. Returns the number of rows written.
    fn execute_each(
        &self,
        Statement { sql, values, .. }: Statement,
        row: impl FnMut(&Row<'_>) -> DbResult<()>,
    ) -> DbResult<u64> {
        let Values(values) = values.unwrap_or(Values(Vec::new()));
        let connection = self.connection.lock();
        let mut statement = connection.prepare_cached(&sql).map_err(of_rusqlite)?;
        bind(&mut statement, |name| parameter(&values, name))?;
        execute(&mut statement, row)?;
        Ok(connection.changes())
    }

    /// Runs a statement without parameters, which may return rows.
    pub fn run(&self, text: &str) -> DbResult<()> {
        let connection = self.connection.lock();
        let mut statement = connection.prepare_cached(text).map_err(of_rusqlite)?;
        execute(&mut statement, |_| Ok(()))
    }

    pub fn close(self) -> Result<(), Error> {
        self.connection.into_inner().close().map_err(|(_, error)| error)
    }
}

/// Waits while another process has the file locked.
fn wait_for_lock(waits: i32) -> bool {
    BUSY_WAITS.fetch_add(1, Ordering::Relaxed);
    sleep(BUSY_PAUSE);
    BUSY_PAUSE * waits.unsigned_abs() < BUSY_TIMEOUT
}

fn bind<'v>(
    statement: &mut CachedStatement<'_>,
    value: impl Fn(&str) -> rusqlite::Result<ToSqlOutput<'v>>,
) -> DbResult<()> {
    for place in 1..=statement.parameter_count() {
        let value = value(statement.parameter_name(place).unwrap_or_default());
        let bound = value.and_then(|value| statement.raw_bind_parameter(place, value));
        bound.map_err(of_rusqlite)?;
    }
    Ok(())
}

/// The parameter of a name such as `$1`.
pub(crate) fn parameter<'v>(values: &'v [Value], name: &str) -> rusqlite::Result<ToSqlOutput<'v>> {
    let number = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
    match number.and_then(|number| values.get(number - 1)) {
        Some(Value::BigInt(value)) => value.to_sql(),
        Some(Value::Double(value)) => value.to_sql(),
        Some(Value::String(value)) => value.to_sql(),
        Some(Value::Uuid(value)) => value.to_sql(),
        Some(Value::Bytes(value)) => value.to_sql(),
        other => Err(Error::ToSqlConversionFailure(format!("no parameter: {other:?}").into())),
    }
}

/// Executes a statement to its end.
fn execute(
    statement: &mut CachedStatement<'_>,
    mut row: impl FnMut(&Row<'_>) -> DbResult<()>,
) -> DbResult<()> {
    let mut rows = statement.raw_query();
    while let Some(next) = rows.next().map_err(of_rusqlite)? {
        row(next)?;
    }
    Ok(())
}

#[async_trait]
impl WriteConnection for WritingConnection {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn query<T: FromRow>(&self, statement: Statement) -> DbResult<Vec<T>> {
        let mut rows = Vec::new();
        self.execute_each(statement, |row| T::from_row(row).map(|row| rows.push(row)))?;
        Ok(rows)
    }

    async fn execute(&self, statement: Statement) -> DbResult<u64> {
        self.execute_each(statement, |_| Ok(()))
    }

    async fn write(&self, kind: RowKind, rows: &[RowParameters<'_>]) -> DbResult<Vec<RowAnswer>> {
        let connection = self.connection.lock();
        write_rows(&connection, kind, rows, self.time.load(Ordering::Relaxed))
    }
}

type Scopes = BTreeMap<(&'static str, Uuid), (i64, i64)>;

/// Executes the statements of a kind for each row. Only the first one returns rows: it decides.
fn write_rows(
    connection: &Connection,
    kind: RowKind,
    rows: &[RowParameters<'_>],
    time: i64,
) -> DbResult<Vec<RowAnswer>> {
    let prepare = |text| connection.prepare_cached(text).map_err(of_rusqlite);
    let texts = of_rows(&DIALECT, kind).split(';');
    let mut statements = texts.map(prepare).collect::<DbResult<Vec<_>>>()?;
    let (mut answers, mut scopes) = (Vec::with_capacity(rows.len()), Scopes::new());
    for row in rows {
        let value = |name: &str| if name == ":time" { time.to_sql() } else { row.value(name) };
        let mut answer = None;
        for statement in &mut statements {
            bind(statement, value)?;
            execute(statement, |decided| {
                let decision = RowAnswer::of(decided, kind != RowKind::Delete)?;
                if !decision.is_refused() {
                    count(&mut scopes, kind, decided)?;
                }
                answer = Some(decision);
                Ok(())
            })?;
            if answer.as_ref().is_none_or(RowAnswer::is_refused) {
                break;
            }
        }
        answers.extend(answer);
    }
    let mut add = prepare(sql_file!("sqlite/write/totals"))?;
    for ((collection, parent), (items, writes)) in scopes {
        let _ = add.execute((collection, parent, items, writes)).map_err(of_rusqlite)?;
    }
    Ok(answers)
}

/// Counts a write in its collection and in the part of its parent.
fn count(scopes: &mut Scopes, kind: RowKind, written: &Row<'_>) -> DbResult<()> {
    let added = match kind {
        RowKind::Insert | RowKind::Restore => 1,
        RowKind::Update => 0,
        RowKind::Delete => -1,
    };
    let (collection, parent) =
        (row_mapping::collection(written)?, row_mapping::get(written, "parent")?);
    for scope in [Some(Uuid::nil()), parent].into_iter().flatten() {
        let (items, writes) = scopes.entry((collection.name(), scope)).or_default();
        (*items, *writes) = (*items + added, *writes + 1);
    }
    Ok(())
}
