//! The sessions of the pages. They are read from the database each time, so that one that another
//! instance deleted is gone at once.

use application::ports::{Result, SessionStore, StoredSession};
use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::QueryResult;

use crate::engine::Database;
use crate::sql::change_log::clamped;
use crate::sql::row_mapping::{get, timestamp};

#[async_trait]
impl SessionStore for Database {
    async fn begin(&self, session: StoredSession, most: u64) -> Result<()> {
        let StoredSession { digest, caller, began, ends, encrypted_token } = session;
        let trimmed = [(*caller).into(), (*digest).into(), clamped(most.saturating_sub(1)).into()];
        let [began, ends] = [began, ends].map(|time| time.as_microsecond().into());
        let values = [(*digest).into(), (*caller).into(), began, ends, (*encrypted_token).into()];
        self.execute("begin_session", sql_file!("both/sessions/begin"), values).await?;
        // Afterwards: concurrent ones then see each other.
        self.execute("begin_session", sql_file!("both/sessions/trim"), trimmed).await.map(drop)
    }

    async fn find(&self, digest: &str, now: Timestamp) -> Result<Option<StoredSession>> {
        let found = |row: &QueryResult| {
            Ok(StoredSession {
                digest: digest.into(),
                caller: get::<String>(row, "caller")?.into(),
                began: timestamp(row, "began_at")?,
                ends: timestamp(row, "ends_at")?,
                encrypted_token: get::<String>(row, "token")?.into(),
            })
        };
        let values = [digest.into(), now.as_microsecond().into()];
        let found = self.look("find_session", sql_file!("both/sessions/find"), values, found);
        Ok(found.await?.into_iter().next())
    }

    async fn end(&self, digest: &str) -> Result<()> {
        let values = [digest.into()];
        self.execute("end_session", sql_file!("both/sessions/end"), values).await.map(drop)
    }

    async fn end_all(&self, caller: &str) -> Result<()> {
        let values = [caller.into()];
        self.execute("end_sessions", sql_file!("both/sessions/end_all"), values).await.map(drop)
    }

    async fn end_expired(&self, now: Timestamp) -> Result<()> {
        let values = [now.as_microsecond().into()];
        self.execute("end_sessions", sql_file!("both/sessions/end_expired"), values).await.map(drop)
    }
}
