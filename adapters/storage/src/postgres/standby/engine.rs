//! A standby as an engine: it reads, and refuses what takes a lock or writes.

use std::sync::Arc;

use application::{RepositoryError, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult, Statement,
};

use crate::engine::Engine;
use crate::error::{logged, not_on_a_standby};
use crate::metrics::StoreMetrics;
use crate::postgres::cancellable::Cancellable;
use crate::postgres::pool::Pool;
use crate::postgres::session::Session;
use crate::postgres::{READ, SLOW_WORKERS, WORKERS, twice_if_lost};
use crate::search_index::progress::Step;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::write::command::{Answer, Write};

/// The connections to a standby on which items are read.
pub(crate) struct StandbyEngine {
    /// Those of the store: what is read here counts with what is read at the primary.
    pub metrics: Arc<StoreMetrics>,
    pub readers: Pool,
    pub slow_readers: Cancellable,
    /// Never connected: the primary's schema is the standby's.
    pub schema: DatabaseConnection,
}

impl StandbyEngine {
    async fn read_once(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        Session::open(&self.readers, READ).await?.query_all_raw(statement).await
    }
}

fn refused(step: &'static str) -> RepositoryError {
    logged(&not_on_a_standby(), step)
}

#[async_trait]
impl Engine for StandbyEngine {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.metrics
    }

    fn workers(&self) -> usize {
        WORKERS
    }

    async fn read(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        twice_if_lost(|| self.read_once(statement.clone())).await
    }

    fn slow_workers(&self) -> usize {
        SLOW_WORKERS as usize
    }

    async fn read_slowly(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        twice_if_lost(|| self.slow_readers.read(statement.clone(), READ, None)).await
    }

    fn losses(&self) -> u64 {
        self.readers.losses().count()
    }

    async fn write(&self, _: Write) -> Answer {
        Err(refused("write"))
    }

    async fn check_writes(&self) -> Result<(), RepositoryError> {
        Err(refused("check_writes"))
    }

    fn schema(&self) -> &DatabaseConnection {
        &self.schema
    }

    fn most_waiting(&self) -> i64 {
        0
    }

    async fn index(&self, _: i64, _: Sequence) -> Result<Step, RepositoryError> {
        Err(refused("index"))
    }

    fn is_standby(&self) -> bool {
        true
    }

    fn commits_in_order(&self) -> bool {
        false
    }

    async fn fence(&self) -> Result<Sequence, RepositoryError> {
        Err(refused("fence"))
    }

    async fn read_settled(&self, _: bool, _: Statement) -> Result<Vec<QueryResult>, DbErr> {
        Err(not_on_a_standby())
    }

    async fn close_timestamp(&self, _: Timestamp) -> Result<(), RepositoryError> {
        Err(refused("close_timestamp"))
    }

    async fn execute(&self, step: &'static str, _: Statement) -> Result<u64, RepositoryError> {
        Err(refused(step))
    }

    async fn begin_migration(&self) -> Result<DatabaseTransaction, DbErr> {
        Err(not_on_a_standby())
    }

    async fn close(&self) {
        self.slow_readers.connections.close().await;
        self.readers.close().await;
    }
}
