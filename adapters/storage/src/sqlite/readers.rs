//! A read-only `SQLite` file, which another process may serve at the same time.

use std::sync::Arc;

use application::{RepositoryError, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult, Statement,
};

use crate::StoreOptions;
use crate::engine::Engine;
use crate::error::StoreError;
use crate::metrics::StoreMetrics;
use crate::search_index::progress::Step;
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sqlite::{connect_to_look, last_change};
use crate::write::command::{Answer, Write};

/// One connection for items, and one for other lookups.
const CONNECTIONS: u32 = 2;

/// Connections that read, and none that writes. It knows nothing to be current: another process
/// writes.
pub(crate) struct SqliteReaders(DatabaseConnection, Arc<StoreMetrics>);

impl SqliteReaders {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let query_only = |file: SqliteConnectOptions| file.pragma("query_only", "ON");
        Ok(Self(connect_to_look(options, CONNECTIONS, query_only).await?, Arc::default()))
    }
}

#[async_trait]
impl Engine for SqliteReaders {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.1
    }

    fn workers(&self) -> usize {
        1
    }

    async fn read(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.0.query_all_raw(statement).await
    }

    fn slow_workers(&self) -> usize {
        1
    }

    async fn read_slowly(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.read(statement).await
    }

    async fn write(&self, _write: Write) -> Answer {
        Err(RepositoryError::Unavailable)
    }

    async fn check_writes(&self) -> Result<(), RepositoryError> {
        Err(RepositoryError::Unavailable)
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.0
    }

    fn most_waiting(&self) -> i64 {
        i64::MAX
    }

    async fn index(&self, _limit: i64, _up_to: Sequence) -> Result<Step, RepositoryError> {
        Err(RepositoryError::Unavailable)
    }

    fn commits_in_order(&self) -> bool {
        true
    }

    async fn fence(&self) -> Result<Sequence, RepositoryError> {
        last_change(&self.0).await
    }

    async fn close_timestamp(&self, _time: Timestamp) -> Result<(), RepositoryError> {
        Err(RepositoryError::Unavailable)
    }

    async fn execute(
        &self,
        _step: &'static str,
        _statement: Statement,
    ) -> Result<u64, RepositoryError> {
        Err(RepositoryError::Unavailable)
    }

    async fn begin_migration(&self) -> Result<DatabaseTransaction, DbErr> {
        Err(DbErr::Custom("the file is open read-only".to_owned()))
    }

    async fn close(&self) {
        if let Err(error) = self.0.close_by_ref().await {
            tracing::warn!(%error, "an SQLite connection did not close cleanly");
        }
    }
}
