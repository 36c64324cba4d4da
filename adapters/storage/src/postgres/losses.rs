//! When connections were last found dead, and so which others are suspect.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// A connection idle for this long may have been cut by a device in between.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

/// The time after a loss within which a connection that was in use then may return to the pool.
const SETTLING: Duration = Duration::from_secs(1);

/// After a lost connection, those that were open then are suspect. Only they are tested before use:
/// a ping before every use would double the round trips.
#[derive(Default)]
pub(crate) struct Losses {
    last: watch::Sender<Option<Instant>>,
    count: AtomicU64,
    /// Notified of an error caused by a schema change of another process.
    pub schema_change: Notify,
}

impl Losses {
    /// A number that changes with a lost or opened connection, which may lead to another server.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub fn connected(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub fn note(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.last.send_replace(Some(Instant::now()));
    }

    pub fn is_suspect(&self, age: Duration, idle_for: Duration) -> bool {
        let since = self.last.borrow().map(|last| last.elapsed());
        idle_for >= TRUSTED_FOR
            || since.is_some_and(|since| age >= since && idle_for + SETTLING >= since)
    }

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
        let losses = Losses::default();
        assert!(!losses.is_suspect(OLD, BRIEF));
        losses.note();
        assert!(losses.is_suspect(OLD, BRIEF));
        std::thread::sleep(BRIEF * 5);
        assert!(!losses.is_suspect(BRIEF, Duration::ZERO), "it was opened after the loss");
    }

    #[test]
    fn connections_long_idle_are_suspect() {
        assert!(Losses::default().is_suspect(OLD, TRUSTED_FOR));
    }
}
