//! The rate at which a client reads a response, or sends a body, that holds a shared resource.

use std::time::Duration;

use tokio::time::Instant;

/// A response with a least rate, in bytes per second; `None` for that of exports.
#[derive(Clone, Copy, Debug)]
pub struct LeastRate(pub Option<u32>);

/// The time that a response waited for its client, and the bytes read since the first wait. The
/// time to produce the next part does not count.
#[derive(Debug, Default)]
pub struct Pace {
    waiting_since: Option<Instant>,
    waited: Duration,
    taken: u64,
}

impl Pace {
    pub fn waits(&mut self) {
        self.waiting_since.get_or_insert_with(Instant::now);
    }

    pub fn takes(&mut self, bytes: usize) {
        self.waited = self.waited();
        let is_measured = self.waiting_since.take().is_some() || !self.waited.is_zero();
        if is_measured {
            self.taken = self.taken.saturating_add(bytes as u64);
        }
    }

    pub fn waited(&self) -> Duration {
        let now = self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.waited.saturating_add(now)
    }

    /// Restarts the measurement if the client is fast enough.
    pub fn is_too_slow(&mut self, rate: u32) -> bool {
        let least = self.waited().as_secs_f64() * f64::from(rate);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let is_slow = (self.taken as f64) < least;
        if !is_slow {
            *self = Self::default();
        }
        is_slow
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::Pace;

    const RATE: u32 = 1_000;

    /// The pace of a client that takes some bytes after each second of waiting.
    async fn pace_of(bytes: usize, seconds: u32, making: Duration) -> Pace {
        let mut pace = Pace::default();
        pace.takes(1 << 30);
        for _ in 0..seconds {
            pace.waits();
            advance(Duration::from_secs(1)).await;
            pace.takes(bytes);
            advance(making).await;
        }
        pace
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_below_the_minimum_rate_is_too_slow_even_after_a_burst() {
        let mut slow = pace_of(999, 30, Duration::ZERO).await;
        assert_eq!(slow.waited(), Duration::from_secs(30));
        assert!(slow.is_too_slow(RATE));
        let mut quick = pace_of(1_000, 30, Duration::ZERO).await;
        assert!(!quick.is_too_slow(RATE));
        assert_eq!(quick.waited(), Duration::ZERO, "the next part is measured by itself");
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_the_service_does_not_count() {
        let mut pace = pace_of(1_000, 30, Duration::from_mins(1)).await;
        assert_eq!(pace.waited(), Duration::from_secs(30));
        assert!(!pace.is_too_slow(RATE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_too_slow() {
        let mut pace = Pace::default();
        pace.waits();
        advance(Duration::from_secs(30)).await;
        assert!(pace.is_too_slow(RATE));
    }
}
