//! The figures of a run as a table for people: in the terminal, or as Markdown for
//! `docs/performance.md`.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};

use crate::arguments::{Arguments, Store};
use crate::figures::{Rounds, TITLES, megabytes, none};
use crate::subject::Kind;
use crate::work::{AnswerSizes, Bodies, Work};

pub(super) struct Row {
    pub(super) work: Work,
    pub(super) subject: Kind,
    pub(super) rounds: Rounds,
}

pub(super) struct Report(pub(super) Vec<Row>);

impl Report {
    pub(super) fn table(&self, as_markdown: bool) -> Table {
        let header = [
            &["work", "subject"][..],
            &TITLES,
            &["peak MB", "of bare (range)", "of minimal (range)", "of logged (range)"],
            &["of baseline (range)", "indexed after s", "indexing µs", "write calls", "WAL bytes"],
        ];
        table(as_markdown, &header.concat(), self.0.iter().map(|row| self.cells(row)))
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let Row { work, subject, rounds } = row;
        let ratio = |reference: Option<Kind>| {
            let other = reference.and_then(|kind| self.row(*work, kind));
            other.map_or_else(none, |it| rounds.compared(&it.rounds, |turn| turn.tally.rate()))
        };
        [
            &[work.title().to_owned(), subject.title()][..],
            &rounds.cells(),
            &[megabytes(rounds.peak_memory())],
            &subject.references().map(ratio),
            &rounds.settling(),
            &[format!("{:.1}", rounds.write_calls())],
            &[rounds.wal_bytes().map_or_else(none, |bytes| format!("{bytes:.0}"))],
        ]
        .concat()
    }

    fn row(&self, work: Work, subject: Kind) -> Option<&Row> {
        self.0.iter().find(|row| row.work == work && row.subject == subject)
    }

    /// A line for each count that must not grow. Counts do not depend on who else uses the machine,
    /// except for the number of writes that share a commit.
    pub(super) fn gates(&self) -> Vec<String> {
        let gates = [
            (Store::Sqlite, Work::Create, "write calls", 7.0),
            (Store::Sqlite, Work::Replace, "write calls", 9.0),
            (Store::Postgres, Work::Replace, "bytes of write-ahead log", 3_686.0),
        ];
        let line = |(store, work, unit, most): (_, Work, _, f64)| {
            let subject = Kind::Service(store);
            let rounds = &self.row(work, subject)?.rounds;
            let calls = Some(rounds.write_calls());
            let count = if store == Store::Sqlite { calls } else { rounds.wal_bytes() }?;
            let verdict = if count <= most { "holds" } else { "FAILS" };
            let (title, work) = (subject.title(), work.title());
            Some(format!(
                "{work}, {title}: {count:.1} {unit} per request, at most {most}: {verdict}"
            ))
        };
        gates.into_iter().filter_map(line).collect()
    }

    pub(super) fn conclude(&self) -> Result<()> {
        let title = |row: &Row| format!("{}, {}", row.work.title(), row.subject.title());
        conclude(self.0.iter().map(|row| (title(row), &row.rounds)))
    }
}

/// Prints the last line of a run, and fails if a request was not answered with success.
pub(super) fn conclude<'a>(rows: impl Iterator<Item = (String, &'a Rounds)> + Clone) -> Result<()> {
    let disturbance = rows.clone().map(|(_, rounds)| rounds.disturbance()).fold(0.0, f64::max);
    println!(
        "Processes without a part in the benchmark took up to {disturbance:.2} processors in a turn."
    );
    let failures =
        rows.filter_map(|(title, rounds)| Some(format!("{title}: {}", rounds.failure()?)));
    let failures: Vec<_> = failures.collect();
    ensure!(failures.is_empty(), "not every answer was a success:\n{}", failures.join("\n"));
    Ok(())
}

pub(super) fn table(
    as_markdown: bool,
    header: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> Table {
    let mut table = Table::new();
    table.load_style(if as_markdown { ASCII_MARKDOWN } else { NOTHING }).set_header(header);
    table.add_rows(rows);
    let figures = table.column_iter_mut().skip(2);
    figures.for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

pub(super) fn preamble(
    arguments: &Arguments,
    sizes: &AnswerSizes,
    bodies: &Bodies,
    sync: Duration,
) -> String {
    let body = bodies.iter().map(Vec::len).sum::<usize>() / bodies.len();
    let (item, page, sync) = (sizes[&Work::Item], sizes[&Work::Page], sync.as_micros());
    format!(
        "{} proposals; a body sent is {body} bytes on average, an item answered {item}, the first page {page}. To append 4 \
         KB to a file and make it durable takes {sync} µs. {} Peak MB: the most resident memory of the server process (not \
         of PostgreSQL). Of bare: requests/s divided by the bare route's of the same round, median and range. Of minimal: \
         the same for the hand-written axum service on the same store; with rules, callers, metrics, traces or policies, for the \
         service without. Of logged: the same for the hand-written service that keeps a log with members, totals and the \
         indexed columns, too. Of baseline: the same for the other binary that was given. What a turn has written is \
         indexed for searches during the turn as far as much waits, and else after it: indexed after, the seconds until a \
         search answers then; indexing µs, the processor time that takes (with the database's) for each request of the \
         turn, which is not in the other figures. Write calls: those of the server process for each request, to files and \
         sockets. WAL bytes: PostgreSQL's write-ahead log for each request, where full_page_writes is off; a server that \
         others use writes more.",
        arguments.proposals,
        common_preamble(arguments)
    )
}

/// The part of the preamble that tables of all kinds have.
pub(super) fn common_preamble(arguments: &Arguments) -> String {
    let Arguments { connections, rounds, seconds, .. } = arguments;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!(
        "{connections} keep-alive connections over loopback, {rounds} rounds of {seconds} s for each work and subject, \
         taking turns. Servers and load generator share {cores} cores.\n\nRates and latencies are the median of the rounds. \
         µs: processor time per request; the server's does not contain the database's, which is that of the whole \
         PostgreSQL server."
    )
}

/// The cost of durability on this disk, which the figures of the writes depend on.
pub(super) fn time_to_sync(folder: &Path) -> Result<Duration> {
    let mut file = File::create(folder.join("sync"))?;
    let append_and_sync = |_| {
        let start = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        anyhow::Ok(start.elapsed())
    };
    let mut times = (0..101).map(append_and_sync).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    times.get(50).copied().context("no tries")
}
