//! Writes on their way to an engine, and what is to be done beside them.

use std::sync::Arc;

use application::{RepositoryError, ShownItem, WriteMetadata};
use jiff::Timestamp;

use crate::engine::Engine;
use crate::search_index::indexer::Indexer;
use crate::write::batch::RowChange;
use crate::write::command::{Answer, Change, Write, Written};

/// Requests that are forgotten in one step.
const FORGOTTEN_AT_A_TIME: i64 = 1_000;

/// The way to the engine, which the full-text index follows.
pub(crate) struct Writes {
    engine: Arc<dyn Engine>,
    indexer: Arc<Indexer>,
}

impl Writes {
    pub const fn new(engine: Arc<dyn Engine>, indexer: Arc<Indexer>) -> Self {
        Self { engine, indexer }
    }

    pub async fn write(&self, change: Change, metadata: WriteMetadata) -> Answer {
        self.indexer.apply_back_pressure().await;
        let write = Write { change, metadata };
        let changes = write.changes();
        let answer = self.engine.write(write).await;
        self.indexer.written(changes);
        answer
    }

    pub async fn row(
        &self,
        row: RowChange,
        metadata: WriteMetadata,
    ) -> Result<ShownItem, RepositoryError> {
        match self.write(Change::Row(row), metadata).await? {
            Written::Item(shown) => Ok(shown),
            Written::Collection(_) | Written::Nothing => Err(RepositoryError::Corrupt),
        }
    }

    /// Forgets the requests that had expired by a time.
    pub async fn forget_requests(&self, now: Timestamp) -> Result<u64, RepositoryError> {
        let mut forgotten = 0;
        loop {
            let some = self.engine.forget_requests(now, FORGOTTEN_AT_A_TIME).await?;
            forgotten += some;
            if some < FORGOTTEN_AT_A_TIME.unsigned_abs() {
                return Ok(forgotten);
            }
        }
    }

    /// Returns whether what is written is still indexed.
    pub fn is_alive(&self) -> bool {
        self.indexer.is_alive()
    }
}
