//! The figures of a run as a table for people: in the terminal, or as Markdown for
//! `docs/performance.md`.

use std::time::Duration;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};

use crate::arguments::{Arguments, Store};
use crate::figures::{Rounds, TITLES, megabytes, spread};
use crate::subject::Kind;
use crate::work::{AnswerSizes, Work};

pub(super) struct Row {
    pub(super) title: String,
    pub(super) subject: Kind,
    pub(super) rounds: Rounds,
}

pub(super) struct Report(Vec<Row>);

impl Report {
    pub(super) const fn new(rows: Vec<Row>) -> Self {
        Self(rows)
    }

    pub(super) fn table(&self, as_markdown: bool) -> Table {
        let header = ["work", "subject"].into_iter().chain(TITLES).chain([
            "peak MB",
            "of bare (range)",
            "of minimal (range)",
            "of logged (range)",
            "of baseline (range)",
            "indexed after s",
            "indexing µs",
            "write calls",
            "WAL bytes",
        ]);
        table(as_markdown, header, 2, self.0.iter().map(|row| self.cells(row)))
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let ratios = row.subject.references().map(|reference| spread(&self.ratios(row, reference)));
        let names = [row.title.clone(), row.subject.title()];
        let memory = megabytes(row.rounds.peak_memory());
        names
            .into_iter()
            .chain(row.rounds.cells())
            .chain([memory])
            .chain(ratios)
            .chain(row.rounds.settling())
            .chain([format!("{:.1}", row.rounds.write_calls())])
            .chain([row
                .rounds
                .wal_bytes()
                .map_or_else(|| "–".to_owned(), |bytes| format!("{bytes:.0}"))])
            .collect()
    }

    /// A line for each count that must not grow. Counts do not depend on who else uses the machine,
    /// but for how many writes share a commit.
    pub(super) fn gates(&self) -> Vec<String> {
        let calls = |row: &Row| Some(row.rounds.write_calls());
        let wal = |row: &Row| row.rounds.wal_bytes();
        [
            self.gate(Store::Sqlite, Work::Create, "write calls", 7.0, calls),
            self.gate(Store::Sqlite, Work::Replace, "write calls", 9.0, calls),
            self.gate(Store::Postgres, Work::Replace, "bytes of write-ahead log", 3_686.0, wal),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn gate(
        &self,
        store: Store,
        work: Work,
        unit: &str,
        most: f64,
        count: impl Fn(&Row) -> Option<f64>,
    ) -> Option<String> {
        let subject = Kind::Service(store);
        let own = |row: &&Row| row.subject == subject && row.title == work.title();
        let count = count(self.0.iter().find(own)?)?;
        let verdict = if count <= most { "holds" } else { "FAILS" };
        let (title, work) = (subject.title(), work.title());
        Some(format!("{work}, {title}: {count:.1} {unit} per request, at most {most}: {verdict}"))
    }

    fn ratios(&self, row: &Row, reference: Option<Kind>) -> Vec<f64> {
        let reference = self
            .0
            .iter()
            .find(|other| other.title == row.title && Some(other.subject) == reference);
        reference.map_or_else(Vec::new, |reference| {
            row.rounds.compared(&reference.rounds, |one, base| one.tally.rate() / base.tally.rate())
        })
    }

    pub(super) fn disturbance(&self) -> f64 {
        self.0.iter().map(|row| row.rounds.disturbance()).fold(0.0, f64::max)
    }

    pub(super) fn failures(&self) -> Vec<String> {
        let failure = |row: &Row| {
            row.rounds
                .failure()
                .map(|failure| format!("{}, {}: {failure}", row.title, row.subject.title()))
        };
        self.0.iter().filter_map(failure).collect()
    }
}

pub(super) fn table<'a>(
    as_markdown: bool,
    header: impl Iterator<Item = &'a str>,
    names: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> Table {
    let mut table = Table::new();
    table.load_style(if as_markdown { ASCII_MARKDOWN } else { NOTHING }).set_header(header);
    table.add_rows(rows);
    table
        .column_iter_mut()
        .skip(names)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

pub(super) fn preamble(
    arguments: &Arguments,
    sizes: AnswerSizes,
    body: usize,
    sync: Duration,
) -> String {
    let Arguments { proposals, connections, rounds, seconds, .. } = arguments;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (item, page, sync) = (sizes.item, sizes.page, sync.as_micros());
    format!(
        "{proposals} proposals; a body sent is {body} bytes on average, an item answered {item}, the first page {page}. \
         {connections} keep-alive connections over loopback, {rounds} rounds of {seconds} s for each work and subject, taking turns. \
         Servers and load generator share {cores} cores; to append 4 KB to a file and make it durable takes {sync} µs.\n\n\
         Rates and latencies are the median of the rounds. µs: processor time per request; the server's does not contain the \
         database's, which is that of the whole PostgreSQL server. Peak MB: the most resident memory of the server process \
         (not of PostgreSQL). Of bare: requests/s divided by the bare route's of the same round, median and range. Of minimal: the same \
         for the hand-written axum service on the same store; with rules, callers, metrics or traces, for the service without. Of logged: the same \
         for the hand-written service that keeps a log with members, totals and the indexed columns, too. Of baseline: the same \
         for the other binary that was given. What a turn has written is indexed for searches during the turn as far as \
         much waits, and else after it: indexed after, the seconds until a search answers then; indexing µs, the processor time that \
         takes (with the database's) for each request of the turn, which is not in the other figures. Write calls: those of the server process for each request, to files and sockets. WAL bytes: \
         PostgreSQL's write-ahead log for each request, where full_page_writes is off; a server that others use writes more."
    )
}
