//! The store behind the routes, and the statements that stores of both kinds have.

use anyhow::Result;
use jiff::Timestamp;
use uuid::Uuid;

use crate::proposal::Checked;

/// Proposals on SQLite or PostgreSQL.
pub trait Store: Send + Sync + 'static {
    fn create(
        &self,
        id: Uuid,
        now: Timestamp,
        new: Checked,
    ) -> impl Future<Output = Result<()>> + Send;

    fn replace(
        &self,
        id: Uuid,
        now: Timestamp,
        new: Checked,
    ) -> impl Future<Output = Result<Option<String>>> + Send;

    fn read(&self, id: Uuid) -> impl Future<Output = Result<Option<String>>> + Send;

    fn page(&self, size: i64, offset: i64) -> impl Future<Output = Result<Page>> + Send;
}

pub struct Page {
    pub body: String,
    pub total: i64,
}

pub const PAGE_START: &str = r#"{"items":["#;

/// Reads, which depend on the tables.
pub struct Reads {
    pub item: &'static str,
    /// A row has the total, too.
    pub page: &'static str,
    pub count: &'static str,
}

pub const PLAIN: Reads = Reads {
    item: "SELECT id, version, created_at, updated_at, members FROM minimal_proposals WHERE id = $1",
    page: "SELECT id, version, created_at, updated_at, members, (SELECT count(*) FROM minimal_proposals) \
           FROM minimal_proposals ORDER BY id LIMIT $1 OFFSET $2",
    count: "SELECT count(*) FROM minimal_proposals",
};
