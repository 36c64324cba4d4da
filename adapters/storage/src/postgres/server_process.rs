//! The identity of a running server, so that all connections of a pool are known to go to one.

use parking_lot::Mutex;
use std::io;

use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Error as SqlxError, Row as _, raw_sql};

/// No two servers were started in the same microsecond.
pub(crate) const STARTED: &str = "SELECT pg_postmaster_start_time()::text AS started";

/// A server since its start. One address may lead to several servers, and each may have replayed
/// the log to another position.
#[derive(Default)]
pub(crate) struct ServerProcess(Mutex<Option<String>>);

impl ServerProcess {
    /// Takes note of the server that is watched; whether it is another one than before.
    pub fn set(&self, started: String) -> bool {
        let mut known = self.0.lock();
        let is_another = known.as_ref().is_some_and(|known| *known != started);
        *known = Some(started);
        is_another
    }

    /// Returns an error unless a connection goes to the server that is watched.
    pub async fn require(&self, connection: &mut PgConnection) -> Result<(), SqlxError> {
        let row = raw_sql(STARTED).fetch_one(connection).await?;
        let started: &str = row.try_get(0)?;
        let known = self.0.lock();
        if known.as_deref() == Some(started) {
            return Ok(());
        }
        let reason = "the address leads to another server than the one that is watched";
        Err(SqlxError::Io(io::Error::new(io::ErrorKind::AddrNotAvailable, reason)))
    }
}
