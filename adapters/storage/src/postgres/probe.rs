//! Checks at start that nothing will go wrong silently: some engines and poolers speak the protocol of
//! `PostgreSQL` and do something else.

use std::io;
use std::time::Duration;

use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Error as SqlxError, Row as _, raw_sql};
use sea_orm::{ConnectionTrait as _, DbErr};
use tokio::time::{sleep, timeout};

use crate::error::StoreError;
use crate::postgres::pool::Pool;
use crate::postgres::server::{Purpose, Server, settings_lost, verify};
use crate::postgres::session::{Limits, Session};
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// Members whose order and digits must be kept.
const JSON: &str = r#"SELECT CAST('{"b":1.0,"a":1}' AS "json")::text = '{"b":1.0,"a":1}'"#;

/// Returns false where another has the lock.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(8245931991)";

const HAS_CLOCK: &str = "SELECT to_regclass('write_clock') IS NOT NULL AS found";

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
        Ok(Err(error)) => Err(start_error(server, &error)),
        Err(_) => Err(StoreError::connect(server.target(), &"no response within the time limit")),
    }
}

/// The line for the operator about a connection that could not be made.
pub(crate) fn start_error(server: &Server, error: &SqlxError) -> StoreError {
    match error {
        SqlxError::Configuration(_) => StoreError::Settings(server.target(), settings(server)),
        error => StoreError::connect(server.target(), error),
    }
}

/// The reason why the engine must not be used, if there is one.
async fn flaw(server: &Server) -> Result<Option<&'static str>, SqlxError> {
    let mut one = server.connect(Purpose::Write).await?;
    let mut other = server.connect(Purpose::Write).await?;
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

/// Checks that numbers are handed out in one order: where each connection has some in store, times
/// and the change log would have none. The schema must be there.
pub(crate) async fn check_sequences(writers: &Pool, readers: &Pool) -> Result<(), StoreError> {
    let numbers = async {
        let one = Session::open(writers, LIMITS).await?;
        let found = one.query_one_raw(POSTGRES.statement(HAS_CLOCK, [])).await?;
        if !found.map_or(Ok(false), |row| row_mapping::get(&row, "found"))? {
            return Ok(true);
        }
        let other = Session::open(readers, LIMITS).await?;
        let numbers = [next(&one).await?, next(&other).await?, next(&one).await?];
        Ok::<_, DbErr>(numbers.is_sorted())
    };
    match numbers.await {
        Ok(false) => {
            let flaw = "its sequences assign numbers per connection, not in one order";
            Err(StoreError::Unsuitable(writers.target(), flaw))
        }
        // A server that cannot be written to now is not written to.
        Ok(true) | Err(_) => Ok(()),
    }
}

async fn next(session: &Session) -> Result<i64, DbErr> {
    let row = session.query_one_raw(POSTGRES.statement(NEXT, [])).await?;
    row.map_or(Ok(0), |row| row_mapping::get(&row, "next"))
}
