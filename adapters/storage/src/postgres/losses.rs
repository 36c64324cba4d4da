//! When connections were last found dead, and so which others are suspect.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// A connection idle for this long may have been cut by something in between, so it is tried before
/// it is used.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

/// How long after a loss a connection that was in use at that moment may still be returned to the
/// pool.
const SETTLING: Duration = Duration::from_secs(1);

/// The time when a connection was last found dead. Where one is, the others that were open then may
/// be as well; so they are tried before they are used, and no others: a ping before every use would
/// double the round trips.
pub(crate) struct Losses {
    last: watch::Sender<Option<Instant>>,
    count: AtomicU64,
    schema_change: Notify,
}

impl Losses {
    pub fn new() -> Self {
        Self {
            last: watch::Sender::new(None),
            count: AtomicU64::new(0),
            schema_change: Notify::new(),
        }
    }

    /// A number that differs after each loss, and when another connection was opened, which may go
    /// to another server than those before.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Takes note of a new connection, before it is used.
    pub fn connected(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub fn note(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.last.send_replace(Some(Instant::now()));
    }

    /// Records an error caused by a schema change of another process.
    pub fn note_schema_change(&self) {
        self.schema_change.notify_one();
    }

    /// Returns when there was such an error since this was last called.
    pub async fn schema_change(&self) {
        self.schema_change.notified().await;
    }

    /// Returns whether a connection that is so old, and has been idle for so long, may be dead.
    pub fn is_suspect(&self, age: Duration, idle_for: Duration) -> bool {
        let since = self.last.borrow().map(|last| last.elapsed());
        idle_for >= TRUSTED_FOR
            || since.is_some_and(|since| age >= since && idle_for + SETTLING >= since)
    }

    /// Returns when a connection is found dead from now on.
    pub async fn next(&self) {
        // The sender is not dropped while it is borrowed.
        let _ = self.last.subscribe().changed().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Losses, TRUSTED_FOR};

    const OLD: Duration = Duration::from_mins(1);
    const BRIEF: Duration = Duration::from_millis(1);

    #[test]
    fn connections_older_than_a_loss_are_suspect() {
        let losses = Losses::new();
        assert!(!losses.is_suspect(OLD, BRIEF));
        losses.note();
        assert!(losses.is_suspect(OLD, BRIEF));
        std::thread::sleep(BRIEF * 5);
        assert!(!losses.is_suspect(BRIEF, Duration::ZERO), "it was opened after the loss");
    }

    #[test]
    fn connections_long_idle_are_suspect() {
        assert!(Losses::new().is_suspect(OLD, TRUSTED_FOR));
    }
}
