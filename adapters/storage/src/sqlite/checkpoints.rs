//! Copying the write-ahead log of an `SQLite` file into the file, beside the writer.
//!
//! `SQLite` does it within the commit that makes the log long enough, and all who write wait for
//! some tens of milliseconds. Here a connection of its own writes back what there is while the
//! writer goes on; then little is left, which the writer writes back between two transactions, and
//! the log begins anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::metrics::StoreMetrics;

/// About how many bytes are written until the log is copied.
const LENGTH: usize = 16 * 1024 * 1024;

/// About how many bytes of the log a row takes beside its members: a page of some of its indexes.
const BESIDE_ROW: usize = 8 * 1024;

/// Neither waits for readers or the writer, nor makes them wait.
const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// When the log is copied.
#[derive(Clone)]
pub(crate) struct Checkpoints {
    connection: Arc<Mutex<Option<Connection>>>,
    written: Arc<AtomicUsize>,
    is_almost_done: Arc<AtomicBool>,
    metrics: Arc<StoreMetrics>,
}

impl Checkpoints {
    pub fn new(connection: Connection, metrics: &Arc<StoreMetrics>) -> Self {
        let metrics = Arc::clone(metrics);
        let (connection, written) = (Arc::new(Mutex::new(Some(connection))), Arc::default());
        Self { connection, written, is_almost_done: Arc::default(), metrics }
    }

    /// To be called by the writer after each transaction, with its rows and about how many bytes
    /// there are in them.
    pub fn after(&self, rows: usize, bytes: usize, writer: &Connection) {
        if self.is_almost_done.swap(false, Ordering::Relaxed) {
            self.copy(writer);
        }
        let bytes = bytes + rows * BESIDE_ROW;
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes < LENGTH {
            return;
        }
        let Ok(connection) = Arc::clone(&self.connection).try_lock_owned() else { return };
        self.written.store(0, Ordering::Relaxed);
        let checkpoints = self.clone();
        spawn_blocking(move || {
            if let Some(connection) = connection.as_ref() {
                checkpoints.copy(connection);
                checkpoints.is_almost_done.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Copies what there is; the writer's own limit stands behind it.
    fn copy(&self, connection: &Connection) {
        let began = Instant::now();
        if let Err(error) = connection.query_row(COPY, [], |_| Ok(())) {
            tracing::warn!(%error, "the write-ahead log was not copied");
        }
        self.metrics.checkpoint.observe(began.elapsed().as_secs_f64());
    }

    /// Closes the connection, after what is under way.
    pub async fn close(&self) {
        drop(self.connection.lock().await.take());
    }
}
