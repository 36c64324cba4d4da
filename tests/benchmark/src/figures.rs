//! The figures of several turns of the same, and how they are written.

use std::ops::Add;
use std::time::Duration;

use crate::load::Tally;
use crate::turn::{CpuTime, Measurement};

#[derive(Default)]
pub(super) struct Rounds(pub(super) Vec<Measurement>);

impl Rounds {
    /// Their text in every report, as [`TITLES`] names it.
    pub(super) fn cells(&self) -> [String; 7] {
        let cpu = self.0.iter().map(|turn| turn.cpu).reduce(CpuTime::add).unwrap_or_default();
        [
            format!("{:.0}", median(self.0.iter().map(|turn| turn.tally.rate()))),
            milliseconds(median(self.0.iter().map(|turn| turn.tally.latency(0.5)))),
            milliseconds(median(self.0.iter().map(|turn| turn.tally.latency(0.99)))),
            self.errors().to_string(),
            self.per_request(cpu.server),
            cpu.database.map_or_else(|| "–".to_owned(), |spent| self.per_request(spent)),
            self.per_request(cpu.generator),
        ]
    }

    pub(super) fn settling(&self) -> [String; 2] {
        let settling: Vec<_> = self.0.iter().filter_map(|turn| turn.settling.as_ref()).collect();
        if settling.is_empty() {
            return ["–", "–"].map(str::to_owned);
        }
        let elapsed = median(settling.iter().map(|settling| settling.elapsed.as_secs_f64()));
        let spent = settling.iter().map(|settling| settling.cpu.service()).sum();
        [format!("{elapsed:.2}"), self.per_request(spent)]
    }

    pub(super) fn write_calls(&self) -> f64 {
        let calls: u64 = self.0.iter().map(|turn| turn.write_calls).sum();
        // No count is so large that a float does not tell it apart.
        #[expect(clippy::cast_precision_loss, reason = "a mean of counts")]
        let calls = calls as f64;
        calls / self.requests()
    }

    pub(super) fn wal_bytes(&self) -> Option<f64> {
        let bytes: Option<u64> = self.0.iter().map(|turn| turn.wal_bytes).sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean of counts")]
        let bytes = bytes? as f64;
        Some(bytes / self.requests())
    }

    fn requests(&self) -> f64 {
        self.0.iter().map(|turn| turn.tally.amount()).sum::<f64>().max(1.0)
    }

    /// Microseconds per request.
    fn per_request(&self, spent: Duration) -> String {
        format!("{:.1}", spent.as_secs_f64() * 1e6 / self.requests())
    }

    pub(super) fn compared(
        &self,
        others: &Self,
        ratio: impl Fn(&Measurement, &Measurement) -> f64,
    ) -> Vec<f64> {
        self.0.iter().zip(&others.0).map(|(one, other)| ratio(one, other)).collect()
    }

    pub(super) fn peak_memory(&self) -> u64 {
        self.0.iter().map(|turn| turn.peak_memory).max().unwrap_or_default()
    }

    /// In processors: more than a tenth spoils the figures.
    pub(super) fn disturbance(&self) -> f64 {
        self.0
            .iter()
            .map(|turn| turn.cpu.others().as_secs_f64() / turn.tally.elapsed.as_secs_f64())
            .fold(0.0, f64::max)
    }

    pub(super) fn failure(&self) -> Option<String> {
        let first = self.0.iter().find_map(|turn| turn.tally.first_failure.as_ref())?;
        Some(format!("{} errors, the first: {first}", self.errors()))
    }

    fn errors(&self) -> u64 {
        self.0.iter().map(|turn| turn.tally.failures).sum()
    }
}

pub(super) const TITLES: [&str; 7] =
    ["requests/s", "p50 ms", "p99 ms", "errors", "server µs", "database µs", "generator µs"];

impl Tally {
    pub(super) fn amount(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of requests is far below 2^52")]
        let requests = self.requests() as f64;
        requests
    }

    pub(super) fn rate(&self) -> f64 {
        self.amount() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn latency(&self, quantile: f64) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "microseconds of a bounded turn are far below 2^52"
        )]
        let microseconds = self.latencies.value_at_quantile(quantile) as f64;
        microseconds
    }
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

fn milliseconds(microseconds: f64) -> String {
    format!("{:.2}", microseconds / 1_000.0)
}

pub(super) fn spread(ratios: &[f64]) -> String {
    if ratios.is_empty() {
        return "–".to_owned();
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.3} ({least:.3}–{most:.3})", median(ratios.iter().copied()))
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => f64::NAN,
        sorted if sorted.len() % 2 == 1 => sorted[middle],
        sorted => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::{median, megabytes, spread};

    #[test]
    fn the_median_is_the_middle() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0].into_iter()) - 2.5).abs() < 1e-9);
        assert!(median(std::iter::empty()).is_nan());
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(megabytes(99_960_000), "99.9");
        assert_eq!(spread(&[]), "–");
        assert_eq!(spread(&[0.5, 0.25, 0.75]), "0.500 (0.250–0.750)");
    }
}
