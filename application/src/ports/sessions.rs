//! The sessions of the service's pages: they identify a browser that sends no token.

use async_trait::async_trait;
use jiff::Timestamp;

use super::Result;

/// A session without its id. Only the id decrypts the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// The SHA-256 of the id, as text.
    pub digest: Box<str>,
    /// The caller's id.
    pub caller: Box<str>,
    pub began: Timestamp,
    pub ends: Timestamp,
    pub encrypted_token: Box<str>,
}

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Adds a session. MUST delete the caller's oldest other ones beyond `most`.
    async fn begin(&self, session: StoredSession, most: u64) -> Result<()>;

    /// Returns a session. MUST NOT return one at or after its end, nor after any process deleted it.
    async fn find(&self, digest: &str, now: Timestamp) -> Result<Option<StoredSession>>;

    /// Deletes a session, if there is one.
    async fn end(&self, digest: &str) -> Result<()>;

    /// Deletes the sessions of a caller.
    async fn end_all(&self, caller: &str) -> Result<()>;

    /// Deletes the sessions that have ended.
    async fn end_expired(&self, now: Timestamp) -> Result<()>;
}
