//! The figures of several turns of the same, and how they are written.

use crate::turn::{CpuTime, Measurement};

#[derive(Default)]
pub(super) struct Rounds(pub(super) Vec<Measurement>);

impl Rounds {
    /// Their text in every report, as [`TITLES`] names it.
    pub(super) fn cells(&self) -> [String; 7] {
        let cpu = self.cpu(|turn| Some(turn.cpu));
        [
            format!("{:.0}", median(self.0.iter().map(|turn| turn.tally.rate()))),
            format!("{:.2}", median(self.0.iter().map(|turn| turn.tally.latency(0.5)))),
            format!("{:.2}", median(self.0.iter().map(|turn| turn.tally.latency(0.99)))),
            self.errors().to_string(),
            self.per_request(cpu.server),
            cpu.database.map_or_else(none, |spent| self.per_request(spent)),
            self.per_request(cpu.generator),
        ]
    }

    /// The seconds until all was indexed after a turn, and the processor time of that.
    pub(super) fn settling(&self) -> [String; 2] {
        let settling: Vec<_> = self.0.iter().filter_map(|turn| turn.settling).collect();
        if settling.is_empty() {
            return [none(), none()];
        }
        let elapsed = median(settling.iter().map(|(elapsed, _)| elapsed.as_secs_f64()));
        let spent = self.cpu(|turn| turn.settling.map(|(_, cpu)| cpu)).service();
        [format!("{elapsed:.2}"), self.per_request(spent)]
    }

    fn cpu(&self, of: impl Fn(&Measurement) -> Option<CpuTime>) -> CpuTime {
        let all = self.0.iter().filter_map(of);
        all.reduce(|one, other| one.with(other, std::ops::Add::add)).unwrap_or_default()
    }

    pub(super) fn write_calls(&self) -> f64 {
        self.0.iter().map(|turn| turn.write_calls).sum::<u64>() as f64 / self.requests()
    }

    pub(super) fn wal_bytes(&self) -> Option<f64> {
        let bytes: Option<u64> = self.0.iter().map(|turn| turn.wal_bytes).sum();
        Some(bytes? as f64 / self.requests())
    }

    fn requests(&self) -> f64 {
        self.0.iter().map(|turn| turn.tally.requests()).sum::<f64>().max(1.0)
    }

    /// Microseconds per request.
    fn per_request(&self, spent: f64) -> String {
        format!("{:.1}", spent * 1e6 / self.requests())
    }

    pub(super) fn compared(&self, others: &Self, figure: impl Fn(&Measurement) -> f64) -> String {
        let pairs = self.0.iter().zip(&others.0);
        spread(&pairs.map(|(one, other)| figure(one) / figure(other)).collect::<Vec<_>>())
    }

    pub(super) fn peak_memory(&self) -> u64 {
        self.0.iter().map(|turn| turn.peak_memory).max().unwrap_or_default()
    }

    /// In processors: more than a tenth spoils the figures.
    pub(super) fn disturbance(&self) -> f64 {
        let others = |turn: &Measurement| turn.cpu.others() / turn.tally.elapsed.as_secs_f64();
        self.0.iter().map(others).fold(0.0, f64::max)
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

/// The text of a missing figure.
pub(super) fn none() -> String {
    "–".to_owned()
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

/// The median of ratios, and their range.
pub(super) fn spread(ratios: &[f64]) -> String {
    let [least, most] = [f64::min, f64::max].map(|of| ratios.iter().copied().reduce(of));
    least.zip(most).map_or_else(none, |(least, most)| {
        format!("{:.3} ({least:.3}–{most:.3})", median(ratios.iter().copied()))
    })
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
    fn the_median_is_the_middle_and_figures_are_short() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0].into_iter()) - 2.5).abs() < 1e-9);
        assert!(median(std::iter::empty()).is_nan());
        assert_eq!(megabytes(99_960_000), "99.9");
        assert_eq!(spread(&[]), "–");
        assert_eq!(spread(&[0.5, 0.25, 0.75]), "0.500 (0.250–0.750)");
    }
}
