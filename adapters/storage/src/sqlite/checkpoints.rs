//! Checkpoints copy the write-ahead log of an SQLite file into the file during writes. SQLite runs
//! one within the commit that makes the log long enough, and all writers wait for tens of
//! milliseconds. Here a separate connection copies most of the log while the writer continues. The
//! writer copies the small rest between two transactions, and the log restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use std::time::Instant;

use sea_orm::DbErr;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::metrics::StoreMetrics;
use crate::sqlite::connection::WritingConnection;
use crate::sqlite::file::OwnedFile;

/// About how many bytes are written until the log is copied.
const LENGTH: usize = 16 * 1024 * 1024;

/// Approximate bytes that a row without members adds to the log: a page for each of some indexes.
const ROW_OVERHEAD: usize = 8 * 1024;

/// Neither waits for readers or the writer, nor makes them wait.
const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";

#[derive(Clone)]
pub(crate) struct Checkpoints {
    connection: Arc<Mutex<Option<WritingConnection>>>,
    written: Arc<AtomicUsize>,
    is_almost_done: Arc<AtomicBool>,
    file: Arc<OwnedFile>,
    metrics: Arc<StoreMetrics>,
}

impl Checkpoints {
    pub fn new(
        connection: WritingConnection,
        file: &Arc<OwnedFile>,
        metrics: &Arc<StoreMetrics>,
    ) -> Self {
        let (file, metrics) = (Arc::clone(file), Arc::clone(metrics));
        let (connection, written) = (Arc::new(Mutex::new(Some(connection))), Arc::default());
        Self { connection, written, is_almost_done: Arc::default(), file, metrics }
    }

    /// The writer must call this after each transaction, with its rows and their approximate bytes.
    pub fn after(&self, rows: usize, bytes: usize, writer: &WritingConnection) {
        if self.is_almost_done.swap(false, Ordering::Relaxed) && self.mark(writer) {
            self.copy(writer);
        }
        let bytes = bytes + rows * ROW_OVERHEAD;
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes < LENGTH {
            return;
        }
        let Ok(connection) = Arc::clone(&self.connection).try_lock_owned() else { return };
        self.written.store(0, Ordering::Relaxed);
        if !self.mark(writer) {
            return;
        }
        let checkpoints = self.clone();
        spawn_blocking(move || {
            if let Some(connection) = connection.as_ref() {
                checkpoints.copy(connection);
                checkpoints.is_almost_done.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Gives the file another mark, because a copy made before differs then. False if that failed.
    fn mark(&self, writer: &WritingConnection) -> bool {
        let marked = self.file.next_mark().map_err(|error| DbErr::Custom(error.to_string()));
        let marked = match marked {
            Ok(mark) => writer.run(&format!("PRAGMA user_version = {mark}")),
            Err(error) => Err(error),
        };
        marked.inspect_err(|error| tracing::warn!(%error, "cannot mark the database file")).is_ok()
    }

    /// Copies as much of the log as possible. The writer's automatic checkpoint is the fallback.
    fn copy(&self, connection: &WritingConnection) {
        if self.file.require_in_place().is_err() {
            return;
        }
        let began = Instant::now();
        if let Err(error) = connection.run(COPY) {
            tracing::warn!(%error, "cannot copy the write-ahead log into the database file");
        }
        self.metrics.checkpoint.observe(began.elapsed().as_secs_f64());
    }

    pub async fn close(&self) {
        drop(self.connection.lock().await.take());
    }
}
