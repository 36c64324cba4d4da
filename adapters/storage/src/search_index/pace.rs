//! The speed of the full-text index, and so the wait of a search.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use application::ports::{RepositoryError, Result};

/// The time of work that is measured before it counts.
const MEASURED: Duration = Duration::from_millis(500);

/// The assumed duration of the changes that may wait, before a measurement.
const ASSUMED_SECONDS: u64 = 10;

/// The maximum number of seconds in `Retry-After`.
const LONGEST_RETRY: u64 = 300;

pub(super) struct Pace {
    per_second: AtomicU64,
    /// The number of changes that a search waits for, however slow the index is.
    few: i64,
}

#[derive(Default)]
pub(super) struct Measurement {
    changes: u64,
    time: Duration,
}

impl Pace {
    pub const fn new(few: i64) -> Self {
        Self { per_second: AtomicU64::new(few.unsigned_abs() / ASSUMED_SECONDS), few }
    }

    /// Weighs the newest measurement as much as all before it.
    pub fn note(&self, measurement: &mut Measurement, changes: usize, time: Duration) {
        measurement.changes += changes as u64;
        measurement.time += time;
        if measurement.time < MEASURED {
            return;
        }
        let Measurement { changes, time } = std::mem::take(measurement);
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let measured = changes.saturating_mul(1_000) / milliseconds;
        let known = self.per_second.load(Ordering::Relaxed);
        self.per_second.store(u64::midpoint(known, measured), Ordering::Relaxed);
    }

    /// Fails if the changes up to `written` take longer than a search waits.
    pub fn require_within(&self, indexed: i64, written: i64, timeout: Duration) -> Result<()> {
        let is_short =
            written - indexed <= self.few || self.seconds(indexed, written) <= timeout.as_secs();
        if is_short { Ok(()) } else { Err(self.behind(indexed, written)) }
    }

    pub fn behind(&self, indexed: i64, written: i64) -> RepositoryError {
        RepositoryError::IndexBuilding {
            indexed: indexed.unsigned_abs(),
            of: written.unsigned_abs(),
            seconds: self.seconds(indexed, written).clamp(1, LONGEST_RETRY),
        }
    }

    fn seconds(&self, indexed: i64, written: i64) -> u64 {
        let waiting = (written - indexed).max(0).unsigned_abs();
        waiting.div_ceil(self.per_second.load(Ordering::Relaxed).max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use application::RepositoryError;

    use super::{Measurement, Pace};

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[test]
    fn a_search_waits_for_what_is_indexed_in_time() {
        let pace = Pace::new(1_000);
        for (what, indexed, written, seconds) in [
            ("nothing", 5, 5, None),
            ("few", 0, 1_000, None),
            ("30 s", 0, 3_000, None),
            ("31 s", 0, 3_001, Some(31)),
            ("very many", 7, 9_000_000_000, Some(300)),
            ("fewer than before", 9, 5, None),
        ] {
            let result = pace.require_within(indexed, written, TIMEOUT);
            let [indexed, of] = [indexed, written].map(i64::unsigned_abs);
            let expected = seconds.map_or(Ok(()), |seconds| {
                Err(RepositoryError::IndexBuilding { indexed, of, seconds })
            });
            assert_eq!(result, expected, "{what}");
        }
    }

    #[test]
    fn the_pace_is_that_of_the_work() {
        let (pace, mut measurement) = (Pace::new(1_000), Measurement::default());
        pace.note(&mut measurement, 100_000, Duration::from_millis(100));
        assert!(pace.require_within(0, 4_000, TIMEOUT).is_err(), "too little was measured");
        for _ in 0..20 {
            pace.note(&mut measurement, 5_000, Duration::from_millis(500));
        }
        assert!(pace.require_within(0, 250_000, TIMEOUT).is_ok());
        for _ in 0..20 {
            pace.note(&mut measurement, 0, Duration::from_secs(1));
        }
        assert_eq!(pace.require_within(0, 1_000, TIMEOUT), Ok(()), "few are always waited for");
        assert!(pace.require_within(0, 1_001, TIMEOUT).is_err());
    }
}
