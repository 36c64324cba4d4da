//! A standby as an engine: it reads, and refuses operations that take a lock.

use std::sync::Arc;

use async_trait::async_trait;
use sea_orm::{DbErr, QueryResult, Statement};

use crate::engine::{ReadEngine, ReadMode, Workers};
use crate::error::read_only;
use crate::metrics::StoreMetrics;
use crate::postgres::connections::Connections;
use crate::postgres::{READ, WORKERS, twice_if_lost};
use crate::sql::dialect::{Dialect, POSTGRES};

/// The connections to a standby on which items are read.
pub(crate) struct StandbyEngine {
    /// Those of the store: what is read here counts with what is read at the primary.
    pub metrics: Arc<StoreMetrics>,
    pub readers: Connections,
    pub slow_readers: Connections,
}

#[async_trait]
impl ReadEngine for StandbyEngine {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.metrics
    }

    fn workers(&self) -> Workers {
        WORKERS
    }

    async fn read(&self, statement: Statement, mode: ReadMode) -> Result<Vec<QueryResult>, DbErr> {
        if mode.is_settled {
            return Err(read_only());
        }
        twice_if_lost(async || {
            let readers = if mode.is_slow { &self.slow_readers } else { &self.readers };
            readers.query(READ, statement.clone()).await
        })
        .await
    }

    fn losses(&self) -> u64 {
        self.readers.losses().count()
    }

    fn commits_in_order(&self) -> bool {
        false
    }

    async fn close(&self) {
        self.slow_readers.close().await;
        self.readers.close().await;
    }
}
