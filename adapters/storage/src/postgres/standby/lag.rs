//! The lag of standbys, measured by what the primary had and when.
//!
//! Without writes, the time of the last replayed transaction does not show the lag. A standby that has
//! replayed a recorded position is at least as current as the primary was then. While the primary is
//! unreachable the lag grows, because the missing changes are unknown.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct PrimaryPositions {
    longest: Duration,
    /// The timeline of the primary; 0 before it was reached.
    pub timeline: u32,
    /// The oldest first.
    noted: VecDeque<(Instant, u64)>,
}

impl PrimaryPositions {
    pub const fn new(longest: Duration) -> Self {
        Self { longest, timeline: 0, noted: VecDeque::new() }
    }

    pub fn note(&mut self, asked: Instant, timeline: u32, position: u64) {
        if timeline != self.timeline {
            // On another timeline the same position is another state.
            self.noted.clear();
            self.timeline = timeline;
        }
        let is_too_old = |(then, _): &(Instant, u64)| asked.duration_since(*then) > self.longest;
        while self.noted.front().is_some_and(is_too_old) {
            self.noted.pop_front();
        }
        self.noted.push_back((asked, position));
    }

    /// The longest possible lag of a server that has replayed a position; `None` if it is too long.
    pub fn lag(&self, replayed: u64, now: Instant) -> Option<Duration> {
        let has = self.noted.partition_point(|(_, position)| *position <= replayed);
        let (asked, _) = self.noted.get(has.checked_sub(1)?)?;
        Some(now.saturating_duration_since(*asked)).filter(|lag| *lag <= self.longest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::PrimaryPositions;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_lag_is_the_age_of_the_newest_position_that_was_replayed() {
        let begin = Instant::now();
        let at = |seconds| begin + SECOND * seconds;
        let mut primary = PrimaryPositions::new(SECOND * 9);
        assert_eq!(primary.lag(u64::MAX, begin), None, "nothing is known");
        for (second, position) in [(0, 10), (1, 20), (2, 20), (3, 30)] {
            primary.note(at(second), 1, position);
        }
        for (replayed, lag) in
            [(9, None), (10, Some(4)), (19, Some(4)), (20, Some(2)), (30, Some(1)), (99, Some(1))]
        {
            assert_eq!(primary.lag(replayed, at(4)), lag.map(|lag| SECOND * lag), "{replayed}");
        }
    }

    #[test]
    fn without_a_primary_the_lag_grows() {
        let begin = Instant::now();
        let mut primary = PrimaryPositions::new(SECOND * 9);
        primary.note(begin, 1, 10);
        assert_eq!(primary.lag(10, begin + SECOND * 9), Some(SECOND * 9));
        assert_eq!(primary.lag(10, begin + SECOND * 10), None);
    }

    #[test]
    fn nothing_counts_of_another_timeline() {
        let now = Instant::now();
        let mut primary = PrimaryPositions::new(SECOND);
        primary.note(now, 1, 10);
        primary.note(now, 2, 20);
        assert_eq!((primary.lag(10, now), primary.timeline), (None, 2));
        assert_eq!(primary.lag(20, now), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let begin = Instant::now();
        let mut primary = PrimaryPositions::new(SECOND * 9);
        for second in 0..100 {
            primary.note(begin + SECOND * second, 1, second.into());
        }
        assert_eq!(primary.noted.len(), 10);
    }
}
