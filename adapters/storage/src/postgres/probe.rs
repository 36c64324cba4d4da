//! Checks at start that nothing will go wrong silently: some engines and poolers speak the protocol of
//! `PostgreSQL` and do something else.

use std::io;
use std::time::Duration;

use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Connection as _, Error as SqlxError, Row as _, raw_sql};
use sea_orm::{ConnectionTrait as _, DbErr};
use tokio::time::{sleep, timeout};

use crate::error::{StoreError, is_contended, is_lost};
use crate::postgres::connections::Connections;
use crate::postgres::server::{Purpose, Server, settings_lost, verify};
use crate::postgres::session::{Limits, Session};
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// Members whose order and digits must be kept.
const JSON: &str = r#"SELECT CAST('{"b":1.0,"a":1}' AS "json")::text = '{"b":1.0,"a":1}'"#;

const VERSION: &str = "SELECT version()";

const HAS_CITUS: &str = "SELECT to_regproc('citus_version') IS NOT NULL";

/// Returns false where another has the lock.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(8245931991)";

const HAS_CLOCK: &str = "SELECT to_regclass('write_clock') IS NOT NULL AS found";

/// Holds the fence as a write does.
const WRITE: &str = "DELETE FROM write_fence WHERE FALSE";

/// Ends with an error while a write holds the fence.
const PASS: &str = "SET LOCAL lock_timeout = '100ms'; LOCK TABLE write_fence IN SHARE MODE";

const NEXT: &str = "SELECT nextval('write_clock') AS next";

/// How many times to check whether a connection changes its server process while another is in a
/// transaction. A pooler in transaction mode may keep the same process by chance.
const ROUNDS: u32 = 3;

/// The pause for a pooler to take a connection back.
const PAUSE: Duration = Duration::from_millis(10);

const LIMITS: Limits = Limits { answer: Duration::from_secs(5), can_repeat: true };

/// Checks a server that takes writes; another one is not written to.
pub(crate) async fn check(server: &Server, limit: Duration) -> Result<(), StoreError> {
    match timeout(limit, flaw(server)).await {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(flaw))) => Err(StoreError::Unsuitable(server.target(), flaw)),
        Ok(Err(error)) if is_read_only(&error) => {
            tracing::warn!(%error, "no server accepts writes");
            Ok(())
        }
        Ok(Err(error)) => Err(start_error(server, &error).await),
        Err(_) => Err(StoreError::connect(server.target(), &"no response within the time limit")),
    }
}

/// The line for the operator about a connection that could not be made. Another engine may know none
/// of the settings.
pub(crate) async fn start_error(server: &Server, error: &SqlxError) -> StoreError {
    if let SqlxError::Database(_) | SqlxError::Configuration(_) = error
        && let Ok(Ok(Some(name))) = timeout(LIMITS.answer, name_without_settings(server)).await
    {
        return StoreError::Unsuitable(server.target(), name);
    }
    match error {
        SqlxError::Configuration(_) => StoreError::Settings(server.target(), settings(server)),
        error => StoreError::connect(server.target(), error),
    }
}

/// The reason why the engine must not be used, if there is one.
async fn flaw(server: &Server) -> Result<Option<&'static str>, SqlxError> {
    let (mut one, _) = server.connect(Purpose::Write).await?;
    if let Some(name) = foreign_engine(&mut one).await? {
        return Ok(Some(name));
    }
    let (mut other, _) = server.connect(Purpose::Write).await?;
    if !is_true(&mut one, JSON).await? {
        return Ok(Some("its type json does not preserve members as sent"));
    }
    for _ in 0..ROUNDS {
        let own = backend(&mut one).await?;
        // A pooler takes a connection back a moment after it has answered.
        sleep(PAUSE).await;
        begin(&mut other).await?;
        // A pooler in transaction mode now uses another server connection for this one, with the
        // settings of its previous client.
        verify(&mut one, Purpose::Write).await?;
        if backend(&mut one).await? != own {
            return Err(settings_lost(Purpose::Write));
        }
        raw_sql("ROLLBACK").execute(&mut other).await?;
    }
    begin(&mut other).await?;
    begin(&mut one).await?;
    let (other_locked, one_locked) =
        (is_true(&mut other, LOCK).await?, is_true(&mut one, LOCK).await?);
    Ok((other_locked && one_locked).then_some("its advisory locks have no effect"))
}

async fn name_without_settings(server: &Server) -> Result<Option<&'static str>, SqlxError> {
    foreign_engine(&mut PgConnection::connect_with(server.options()).await?).await
}

/// The reason why a known engine with the protocol of `PostgreSQL` must not be used.
async fn foreign_engine(connection: &mut PgConnection) -> Result<Option<&'static str>, SqlxError> {
    let version: String = raw_sql(VERSION).fetch_one(&mut *connection).await?.try_get(0)?;
    if version.starts_with("CockroachDB") {
        return Ok(Some("CockroachDB has no table locks, and its advisory locks have no effect"));
    }
    if version.contains("-YB-") {
        return Ok(Some("YugabyteDB does not make a write wait for the lock of a table"));
    }
    let has_citus = is_true(connection, HAS_CITUS).await?;
    Ok(has_citus.then_some("Citus numbers and locks the rows of each node separately"))
}

async fn begin(connection: &mut PgConnection) -> Result<(), SqlxError> {
    raw_sql("BEGIN").execute(connection).await.map(|_| ())
}

/// The process of the server that answers.
async fn backend(connection: &mut PgConnection) -> Result<i32, SqlxError> {
    raw_sql("SELECT pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

async fn is_true(connection: &mut PgConnection, query: &'static str) -> Result<bool, SqlxError> {
    raw_sql(query).fetch_one(connection).await?.try_get::<bool, _>(0)
}

fn is_read_only(error: &SqlxError) -> bool {
    matches!(error, SqlxError::Io(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

/// The statements that give a user the settings.
fn settings(server: &Server) -> String {
    let user = server.user().replace('"', "\"\"");
    let set = Purpose::Write
        .settings()
        .map(|(name, value)| format!("ALTER ROLE \"{user}\" SET {name} = '{value}'"));
    set.collect::<Vec<_>>().join("; ")
}

/// Checks the clock and the fence of writes. The schema must be there.
pub(crate) async fn check_schema(
    writers: &Connections,
    readers: &Connections,
) -> Result<(), StoreError> {
    match flaw_of_schema(writers, readers).await {
        Ok(Some(flaw)) => Err(StoreError::Unsuitable(writers.target(), flaw)),
        // A server that cannot be written to now is not written to.
        Ok(None) | Err(_) => Ok(()),
    }
}

async fn flaw_of_schema(
    writers: &Connections,
    readers: &Connections,
) -> Result<Option<&'static str>, DbErr> {
    let one = writers.session(LIMITS).await?;
    let found = one.query_one_raw(POSTGRES.statement(HAS_CLOCK, [])).await?;
    if !found.map_or(Ok(false), |row| row_mapping::get(&row, "found"))? {
        return Ok(None);
    }
    let other = readers.session(LIMITS).await?;
    // If each connection has numbers in store, times and the change log have no order.
    if ![next(&one).await?, next(&other).await?, next(&one).await?].is_sorted() {
        return Ok(Some("its sequences assign numbers per connection, not in one order"));
    }
    one.begin_with("BEGIN").await?;
    one.query_each(WRITE).await?;
    other.begin_with("BEGIN").await?;
    match other.query_each(PASS).await {
        Err(error) if is_contended(&error) => Ok(None),
        Err(error) if is_lost(&error) => Err(error),
        _ => Ok(Some("a lock of a table does not wait for a write in progress")),
    }
}

async fn next(session: &Session) -> Result<i64, DbErr> {
    let row = session.query_one_raw(POSTGRES.statement(NEXT, [])).await?;
    row.map_or(Ok(0), |row| row_mapping::get(&row, "next"))
}
