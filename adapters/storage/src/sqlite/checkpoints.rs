//! Copying the write-ahead log of an `SQLite` file into the file, beside the writer.
//!
//! `SQLite` does it within the commit that makes the log long enough, and all who write wait for
//! some tens of milliseconds. Here a connection of its own writes back what there is while the
//! writer goes on; then little is left, which the writer writes back between two transactions, and
//! the log begins anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rusqlite::Connection;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

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
}

impl Checkpoints {
    pub fn new(connection: Connection) -> Self {
        let (connection, written) = (Arc::new(Mutex::new(Some(connection))), Arc::default());
        Self { connection, written, is_almost_done: Arc::default() }
    }

    /// To be called by the writer after each transaction, with its rows and about how many bytes
    /// there are in them.
    pub fn after(&self, rows: usize, bytes: usize, writer: &Connection) {
        if self.is_almost_done.swap(false, Ordering::Relaxed) {
            log(copy(writer));
        }
        let bytes = bytes + rows * BESIDE_ROW;
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes < LENGTH {
            return;
        }
        let Ok(connection) = Arc::clone(&self.connection).try_lock_owned() else { return };
        self.written.store(0, Ordering::Relaxed);
        let is_almost_done = Arc::clone(&self.is_almost_done);
        spawn_blocking(move || {
            if let Some(connection) = connection.as_ref() {
                log(copy(connection));
                is_almost_done.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Closes the connection, after what is under way.
    pub async fn close(&self) {
        drop(self.connection.lock().await.take());
    }
}

fn copy(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row(COPY, [], |_| Ok(()))
}

/// The writer's own limit stands behind it.
fn log(copied: rusqlite::Result<()>) {
    if let Err(error) = copied {
        tracing::warn!(%error, "the write-ahead log was not copied");
    }
}
