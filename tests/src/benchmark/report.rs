//! The figures of a run as a table for people: in the terminal, or as Markdown for `docs/performance.md`.

use std::ops::Add;
use std::time::Duration;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};

use super::arguments::Arguments;
use super::load::Tally;
use super::subject::{CpuTime, Measurement};
use super::work::{AnswerSizes, Work};

const HEADER: [&str; 11] = [
    "work",
    "subject",
    "requests/s",
    "p50 ms",
    "p99 ms",
    "errors",
    "server µs",
    "database µs",
    "generator µs",
    "peak MB",
    "of bare (range)",
];

/// What one work on one subject came to.
pub(super) struct Row {
    pub(super) work: Work,
    pub(super) subject: &'static str,
    pub(super) rounds: Vec<Measurement>,
}

/// The report of a whole run.
pub(super) struct Report {
    rows: Vec<Row>,
    baseline: &'static str,
}

impl Report {
    pub(super) const fn new(rows: Vec<Row>, baseline: &'static str) -> Self {
        Self { rows, baseline }
    }

    pub(super) fn table(&self, as_markdown: bool) -> Table {
        let mut table = Table::new();
        table.load_style(if as_markdown { ASCII_MARKDOWN } else { NOTHING }).set_header(HEADER);
        table.add_rows(self.rows.iter().map(|row| row.cells(&self.ratios(row))));
        table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        table
    }

    /// How fast a row's subject was beside the baseline, in each round.
    fn ratios(&self, row: &Row) -> Vec<f64> {
        let baseline = self.rows.iter().find(|other| other.work == row.work && other.subject == self.baseline);
        let baseline = baseline.map_or(&[][..], |baseline| &baseline.rounds);
        row.rounds.iter().zip(baseline).map(|(one, base)| one.tally.rate() / base.tally.rate()).collect()
    }

    /// The most that processes without a part in the benchmark took in any turn, in processors: more than a tenth spoils the figures.
    pub(super) fn disturbance(&self) -> f64 {
        let turns = self.rows.iter().flat_map(|row| &row.rounds);
        turns.map(|turn| turn.cpu.others().as_secs_f64() / turn.tally.elapsed.as_secs_f64()).fold(0.0, f64::max)
    }

    /// What went wrong, a line for each row it went wrong in.
    pub(super) fn failures(&self) -> Vec<String> {
        self.rows.iter().filter_map(Row::failure).collect()
    }
}

impl Row {
    fn cells(&self, ratios: &[f64]) -> [String; 11] {
        let cpu = self.rounds.iter().map(|round| round.cpu).reduce(CpuTime::add).unwrap_or_default();
        [
            self.work.title().to_owned(),
            self.subject.to_owned(),
            format!("{:.0}", median(self.rounds.iter().map(|round| round.tally.rate()))),
            milliseconds(median(self.rounds.iter().map(|round| round.tally.latency(0.5)))),
            milliseconds(median(self.rounds.iter().map(|round| round.tally.latency(0.99)))),
            self.errors().to_string(),
            self.per_request(cpu.server),
            cpu.database.map_or_else(|| "–".to_owned(), |spent| self.per_request(spent)),
            self.per_request(cpu.generator),
            megabytes(self.rounds.iter().map(|round| round.peak_memory).max().unwrap_or_default()),
            spread(ratios),
        ]
    }

    /// Microseconds per request.
    fn per_request(&self, spent: Duration) -> String {
        let requests: u64 = self.rounds.iter().map(|round| round.tally.requests()).sum();
        #[expect(clippy::cast_precision_loss, reason = "a count of requests is far below 2^52")]
        let requests = requests.max(1) as f64;
        format!("{:.1}", spent.as_secs_f64() * 1e6 / requests)
    }

    fn errors(&self) -> u64 {
        self.rounds.iter().map(|round| round.tally.failures).sum()
    }

    fn failure(&self) -> Option<String> {
        let first = self.rounds.iter().find_map(|round| round.tally.first_failure.as_ref())?;
        Some(format!("{}, {}: {} errors, the first: {first}", self.work.title(), self.subject, self.errors()))
    }
}

impl Tally {
    /// Requests per second.
    pub(super) fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of requests is far below 2^52")]
        let requests = self.requests() as f64;
        requests / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// A quantile of the latencies, in microseconds.
    fn latency(&self, quantile: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "microseconds of a bounded turn are far below 2^52")]
        let microseconds = self.latencies.value_at_quantile(quantile) as f64;
        microseconds
    }
}

/// What was measured and how, for the reader of the table.
pub(super) fn preamble(arguments: &Arguments, sizes: AnswerSizes, body: usize, sync: Duration) -> String {
    let Arguments { proposals, connections, rounds, seconds, .. } = arguments;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (item, page, sync) = (sizes.item, sizes.page, sync.as_micros());
    format!(
        "{proposals} proposals; a body sent is {body} bytes on average, an item answered {item}, the first page {page}. \
         {connections} keep-alive connections over loopback, {rounds} rounds of {seconds} s for each work and subject, taking turns. \
         Servers and load generator share {cores} cores; to append 4 KB to a file and make it durable takes {sync} µs.\n\n\
         Rates and latencies are the median of the rounds. µs: processor time per request; the server's does not contain the \
         database's, which is that of the whole PostgreSQL server. Peak MB: the most resident memory of the server process \
         (not of PostgreSQL). Of bare: requests/s beside the bare route's of the same round, median and range."
    )
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

fn milliseconds(microseconds: f64) -> String {
    format!("{:.2}", microseconds / 1_000.0)
}

fn spread(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.3} ({least:.3}–{most:.3})", median(ratios.iter().copied()))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
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
        assert_eq!(spread(&[0.5, 0.25, 0.75]), "0.500 (0.250–0.750)");
    }
}
