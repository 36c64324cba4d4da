//! The path of writes to an engine, including indexing and the expiry of idempotency keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use application::ports::{RepositoryError, Result, ShownItem, WriteMetadata};
use jiff::{SignedDuration, Timestamp};

use crate::engine::{ReadMode, WriteEngine};
use crate::search_index::indexer::Indexer;
use crate::sql::change_log;
use crate::write::command::{Answer, Change, Write, Written};
use crate::write::row::RowChange;

const FORGOTTEN_AT_A_TIME: i64 = 1_000;

/// Stored times may be so far ahead of the clock without a warning: clocks of machines differ.
const TOLERATED_AHEAD: SignedDuration = SignedDuration::from_secs(1);

pub(crate) struct Writes {
    pub engine: Arc<dyn WriteEngine>,
    indexer: Arc<Indexer>,
    has_written: AtomicBool,
}

impl Writes {
    pub const fn new(engine: Arc<dyn WriteEngine>, indexer: Arc<Indexer>) -> Self {
        Self { engine, indexer, has_written: AtomicBool::new(false) }
    }

    pub async fn write(&self, change: Change, metadata: WriteMetadata) -> Answer {
        self.indexer.apply_back_pressure().await;
        let here = metadata.time;
        let write = Write::new(change, metadata);
        let changes = write.rows().len().max(1);
        let answer = self.engine.write(write).await;
        self.indexer.written(changes);
        if answer.is_ok() && !self.has_written.swap(true, Ordering::Relaxed) {
            self.warn_of_times_ahead(here).await;
        }
        answer
    }

    pub async fn row(&self, row: RowChange, metadata: WriteMetadata) -> Result<ShownItem> {
        match self.write(Change::Row(Box::new(row)), metadata).await? {
            Written::Item(shown) => Ok(shown),
            Written::Collection(_) | Written::Nothing => Err(RepositoryError::Corrupt),
        }
    }

    pub async fn forget_requests(&self, now: Timestamp) -> Result<u64> {
        let mut forgotten = 0;
        let values = [now.as_microsecond().into(), FORGOTTEN_AT_A_TIME.into()];
        let forget = self.engine.dialect().statement(sql_file!("both/write/forget"), values);
        loop {
            let some = self.engine.execute("forget", forget.clone()).await?;
            forgotten += some;
            if some < FORGOTTEN_AT_A_TIME.unsigned_abs() {
                return Ok(forgotten);
            }
        }
    }

    /// Warns if stored times are ahead of the clock, because new ones are later still.
    pub async fn warn_of_times_ahead(&self, here: Timestamp) {
        let latest = change_log::latest_time(self.engine.dialect());
        // Not traced: it is no part of the request.
        let latest = self.engine.read(latest, ReadMode::QUICK).await;
        let latest = latest.and_then(|rows| change_log::time(&rows));
        let (Ok(now), Ok(Some(latest))) = (self.engine.now(here).await, latest) else { return };
        let ahead = latest.duration_since(now);
        if ahead > TOLERATED_AHEAD {
            tracing::warn!(%ahead, "stored times are ahead of the clock; writes get later times until the clock catches up");
        }
    }

    /// Fails unless a write would go through and be indexed.
    pub async fn check(&self) -> Result<()> {
        self.engine.check_writes().await?;
        if self.indexer.is_alive() { Ok(()) } else { Err(RepositoryError::Unavailable) }
    }
}
