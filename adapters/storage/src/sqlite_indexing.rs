//! Putting words that wait into the full-text index.
//!
//! The index takes many items at a time far more cheaply than one after the other: every transaction that touches it ends
//! with a segment of its own, and segments must be merged. So a write only stores its words, in its own transaction, and
//! searches look through what waits (`matches.rs`). The writer indexes it when nobody wants to write, or when so much waits
//! that searches would feel it.

use std::sync::atomic::{AtomicI64, Ordering};

use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

use crate::dialect::SQLITE;
use crate::sqlite;
use crate::write::Write;

/// Items that are indexed at a time: a write that comes meanwhile waits for them.
const AT_A_TIME: i64 = 64;

/// How many items may wait while there is something to write.
const MOST_WAITING: i64 = 10_000;

const INDEX: &str = "INSERT OR REPLACE INTO search_index (rowid, words) SELECT sequence, words FROM search_waiting ORDER BY sequence LIMIT $1; \
                     DELETE FROM search_waiting WHERE sequence IN (SELECT sequence FROM search_waiting ORDER BY sequence LIMIT $1) \
                     RETURNING sequence";

/// How much waits, as far as this process knows.
pub(crate) struct Indexing {
    waiting: AtomicI64,
}

impl Indexing {
    /// Something may wait from before.
    pub const fn new() -> Self {
        Self { waiting: AtomicI64::new(1) }
    }

    /// Takes note of writes; an update may be counted that replaced words which waited already.
    pub fn written(&self, writes: &[&Write]) {
        let rows = writes.iter().map(|write| match write {
            Write::Insert { .. } | Write::Update { .. } => 1,
            Write::ReplaceAll { words, .. } => i64::try_from(words.len()).unwrap_or(MOST_WAITING),
            Write::Delete { .. } => 0,
        });
        self.waiting.fetch_add(rows.sum(), Ordering::Relaxed);
    }

    /// Whether anything waits.
    pub fn is_due(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether it should not wait any longer.
    pub fn is_urgent(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > MOST_WAITING
    }

    /// Indexes some of what waits.
    pub async fn step(&self, connection: &DatabaseConnection) -> Result<(), DbErr> {
        // Should it fail, the next write makes it due again.
        let known = self.waiting.swap(0, Ordering::Relaxed);
        let transaction = sqlite::begin(connection).await?;
        let indexed = transaction.query_all_raw(SQLITE.statement(INDEX, [AT_A_TIME.into()])).await?.len();
        transaction.commit().await?;
        // A full step says that more may wait, whatever was counted; nothing is counted in the table, which may be large.
        let indexed = i64::try_from(indexed).unwrap_or(AT_A_TIME);
        self.waiting.store(if indexed < AT_A_TIME { 0 } else { (known - indexed).max(1) }, Ordering::Relaxed);
        Ok(())
    }
}
