//! Checks at start: some engines and poolers speak PostgreSQL's protocol and behave differently.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::ConnectionTrait as _;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Connection as _, Error as SqlxError, Row as _, raw_sql};
use tokio::time::{sleep, timeout};

use crate::error::{DbResult, StoreError, is_contended, is_lost};
use crate::postgres::connections::Connections;
use crate::postgres::server::{Purpose, Server, settings_lost, silence, verify};
use crate::postgres::session::{Effect, Limits};
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping::{first, get};

/// Conditions and reasons of refusals. Known engines first: they may not understand the others.
const FLAWS: [(&str, &str); 4] = [
    (
        "SELECT version() LIKE 'CockroachDB%'",
        "CockroachDB has no table locks, and its advisory locks have no effect",
    ),
    (
        "SELECT version() LIKE '%-YB-%'",
        "YugabyteDB does not make a write wait for the lock of a table",
    ),
    (
        "SELECT to_regproc('citus_version') IS NOT NULL",
        "Citus numbers and locks the rows of each node separately",
    ),
    (
        r#"SELECT CAST('{"b":1.0,"a":1}' AS "json")::text <> '{"b":1.0,"a":1}'"#,
        "its type json does not preserve members as sent",
    ),
];

const LOCK: &str = "SELECT pg_try_advisory_xact_lock(8245931991)";

/// Begins a transaction that holds the fence as a write does.
const WRITE: &str = "BEGIN; DELETE FROM write_fence WHERE FALSE";

/// Ends with an error while a write holds the fence.
const PASS: &str = "BEGIN; SET LOCAL lock_timeout = '100ms'; LOCK TABLE write_fence IN SHARE MODE";

const NEXT: &str = "SELECT nextval('write_clock') AS next";

/// Checks for another server process: a pooler in transaction mode may keep the same one by chance.
const ROUNDS: u32 = 3;

const PAUSE: Duration = Duration::from_millis(10);

type Reason = Option<&'static str>;

pub(crate) async fn check(server: &Server) -> Result<(), StoreError> {
    let found = timeout(server.acquire_timeout, flaw(server)).await;
    match found.unwrap_or_else(|_| Err(silence())) {
        Ok(None) => Ok(()),
        Ok(Some(flaw)) => Err(StoreError::Unsuitable(server.target(), flaw)),
        Err(SqlxError::Io(error)) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            tracing::warn!(%error, "no server accepts writes");
            Ok(())
        }
        Err(error) => Err(start_error(server, &error).await),
    }
}

/// The error of a failed connection. Another engine may not know the settings.
pub(crate) async fn start_error(server: &Server, error: &SqlxError) -> StoreError {
    let without_settings =
        async { known_flaw(&mut PgConnection::connect_with(server.options()).await?).await };
    if let SqlxError::Database(_) | SqlxError::Configuration(_) = error
        && let Ok(Ok(Some(flaw))) = timeout(Limits::BRIEF.answer, without_settings).await
    {
        return StoreError::Unsuitable(server.target(), flaw);
    }
    match error {
        SqlxError::Configuration(_) => StoreError::Settings(server.target(), settings(server)),
        error => StoreError::connect(server.target(), error),
    }
}

async fn flaw(server: &Server) -> Result<Reason, SqlxError> {
    let (mut one, _) = server.connect(Purpose::Write).await?;
    let known = known_flaw(&mut one).await?;
    if known.is_some() {
        return Ok(known);
    }
    let (mut other, _) = server.connect(Purpose::Write).await?;
    for _ in 0..ROUNDS {
        let own = process(&mut one).await?;
        // A pooler takes a connection back a moment after it has answered.
        sleep(PAUSE).await;
        run(&mut other, "BEGIN").await?;
        // A pooler in transaction mode now uses another connection, with another client's settings.
        verify(&mut one, Purpose::Write).await?;
        if process(&mut one).await? != own {
            return Err(settings_lost("it changes its server process"));
        }
        run(&mut other, "ROLLBACK").await?;
    }
    run(&mut other, "BEGIN").await?;
    run(&mut one, "BEGIN").await?;
    let are_both_locked = is_true(&mut other, LOCK).await? && is_true(&mut one, LOCK).await?;
    Ok(are_both_locked.then_some("its advisory locks have no effect"))
}

async fn known_flaw(connection: &mut PgConnection) -> Result<Reason, SqlxError> {
    for (condition, flaw) in FLAWS {
        if is_true(connection, condition).await? {
            return Ok(Some(flaw));
        }
    }
    Ok(None)
}

/// Checks the clock and the fence of writes. The schema must be there.
pub(crate) async fn check_schema(
    writers: &Arc<Connections>,
    readers: &Arc<Connections>,
) -> Result<(), StoreError> {
    match schema_flaw(writers, readers).await {
        Ok(Some(flaw)) => Err(StoreError::Unsuitable(writers.server.target(), flaw)),
        // A server that cannot be written to now is not written to.
        Ok(None) | Err(_) => Ok(()),
    }
}

async fn schema_flaw(writers: &Arc<Connections>, readers: &Arc<Connections>) -> DbResult<Reason> {
    let one = writers.session(Limits::BRIEF).await?;
    let other = readers.session(Limits::BRIEF).await?;
    let mut numbers = Vec::new();
    for session in [&one, &other, &one] {
        let rows = session.query_all_raw(POSTGRES.statement(NEXT, [])).await?;
        numbers.push(get::<i64>(first(&rows)?, "next")?);
    }
    // If each connection has numbers in store, times and the change log have no order.
    if !numbers.is_sorted() {
        return Ok(Some("its sequences assign numbers per connection, not in one order"));
    }
    one.run(Effect::Begin, WRITE).await?;
    match other.run(Effect::Begin, PASS).await {
        Err(error) if is_contended(&error) => Ok(None),
        Err(error) if is_lost(&error) => Err(error),
        _ => Ok(Some("a lock of a table does not wait for a write in progress")),
    }
}

async fn run(connection: &mut PgConnection, text: &'static str) -> Result<(), SqlxError> {
    raw_sql(text).execute(connection).await.map(drop)
}

async fn process(connection: &mut PgConnection) -> Result<i32, SqlxError> {
    raw_sql("SELECT pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

async fn is_true(connection: &mut PgConnection, query: &'static str) -> Result<bool, SqlxError> {
    raw_sql(query).fetch_one(connection).await?.try_get(0)
}

fn settings(server: &Server) -> String {
    let user = server.options().get_username().replace('"', "\"\"");
    let set = Purpose::Write
        .settings()
        .map(|(name, value)| format!("ALTER ROLE \"{user}\" SET {name} = '{value}'"));
    set.collect::<Vec<_>>().join("; ")
}
