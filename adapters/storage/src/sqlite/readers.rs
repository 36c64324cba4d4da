//! A read-only `SQLite` file, which another process may serve at the same time.

use std::sync::Arc;

use application::ports::{Result, Sequence};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, Statement};

use crate::StoreOptions;
use crate::engine::{ReadEngine, ReadMode, Workers};
use crate::error::{DbResult, StoreError};
use crate::metrics::StoreMetrics;
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sqlite::{connect_to_look, last_change};

/// One connection for items, and one for other lookups.
const CONNECTIONS: u32 = 2;

/// Has no cache that is known to be current, because another process writes.
pub(crate) struct SqliteReaders(DatabaseConnection, Arc<StoreMetrics>);

impl SqliteReaders {
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let query_only = |file: SqliteConnectOptions| file.pragma("query_only", "ON");
        Ok(Self(connect_to_look(options, CONNECTIONS, query_only).await?, Arc::default()))
    }
}

#[async_trait]
impl ReadEngine for SqliteReaders {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.1
    }

    fn workers(&self) -> Workers {
        Workers { quick: 1, slow: 1 }
    }

    async fn read(&self, statement: Statement, _mode: ReadMode) -> DbResult<Vec<QueryResult>> {
        self.0.query_all_raw(statement).await
    }

    async fn fence(&self) -> Result<Sequence> {
        last_change(&self.0).await
    }

    async fn close(&self) {
        if let Err(error) = self.0.close_by_ref().await {
            tracing::warn!(%error, "an SQLite connection did not close cleanly");
        }
    }
}
