//! The cost of a store of very many small items, and whether reads stay flat: bytes, the time of what
//! is done to a whole store, and latencies against those on a smaller store of the same run.

mod history;
pub(crate) mod soak;
mod stage;
mod targets;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use hdrhistogram::Histogram;

use crate::arguments::{Arguments, Store};
use crate::connection::Connection;
use crate::figures::{median, spread};
use crate::report::table;
use stage::Stage;
use targets::Read;

/// Items that are written again, to know what a further version takes.
const REPLACED: u64 = 20_000;

/// The longest latency that is recorded, in microseconds.
const LONGEST_LATENCY: u64 = 600_000_000;

struct Row {
    read: Read,
    store: Store,
    items: u64,
    turns: Vec<Turn>,
}

struct Turn {
    latencies: Histogram<u64>,
    /// Processor time of the service and its database.
    cpu: Duration,
    refused: u64,
}

pub(super) async fn measure(arguments: &Arguments, folder: &Path) -> Result<()> {
    let folder = arguments.folder.as_deref().unwrap_or(folder);
    for &store in &arguments.stores {
        let mut stages = Vec::new();
        for &items in &arguments.capacity {
            let mut costs = Vec::new();
            let stage = Stage::set(store, items.into(), folder, &mut costs).await?;
            print(&stage, costs);
            stages.push(stage);
        }
        let mut rows = Vec::new();
        for read in Read::value_variants() {
            rows.append(&mut take_turns(*read, arguments, &stages).await?);
        }
        println!("\n{}\n", latencies(&rows, arguments.markdown));
        for stage in &stages {
            let mut costs = Vec::new();
            stage.copy(folder, &mut costs)?;
            let (before, replaced) = (stage.bytes()?, REPLACED.min(stage.items));
            stage.replace(replaced).await?;
            let bytes = stage.bytes()?.saturating_sub(before) / replaced;
            costs.push(("bytes of a further version".to_owned(), bytes.to_string()));
            print(stage, costs);
        }
    }
    Ok(())
}

fn print(stage: &Stage, costs: Vec<(String, String)>) {
    for (name, figure) in costs {
        println!("{}, {} items: {name}: {figure}", stage.store.title(), stage.items);
    }
}

async fn take_turns(read: Read, arguments: &Arguments, stages: &[Stage]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut requests = Vec::new();
    for stage in stages {
        let mut connection = Connection::open(stage.server.address).await?;
        requests.push(read.requests(&mut connection, stage.items).await?);
        rows.push(Row { read, store: stage.store, items: stage.items, turns: Vec::new() });
    }
    for round in 1..=arguments.rounds {
        eprintln!("{}, round {round} of {}", read.title(), arguments.rounds);
        for ((row, stage), requests) in rows.iter_mut().zip(stages).zip(&requests) {
            row.turns.push(turn(stage, requests, Duration::from_secs(arguments.seconds)).await?);
        }
    }
    Ok(rows)
}

async fn turn(stage: &Stage, requests: &[Vec<u8>], time: Duration) -> Result<Turn> {
    let mut connection = Connection::open(stage.server.address).await?;
    let latencies = Histogram::new_with_bounds(1, LONGEST_LATENCY, 3)?;
    let (end, before) = (Instant::now() + time, stage.cpu_time()?);
    let mut turn = Turn { latencies, cpu: Duration::ZERO, refused: 0 };
    for request in requests.iter().cycle() {
        let begun = Instant::now();
        let status = connection.exchange(request).await?;
        let latency = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        turn.latencies.saturating_record(latency);
        turn.refused += u64::from(!(200..300).contains(&status));
        if Instant::now() >= end {
            break;
        }
    }
    turn.cpu = stage.cpu_time()?.saturating_sub(before);
    Ok(turn)
}

impl Row {
    fn cells(&self, rows: &[Self]) -> Vec<String> {
        let smallest = rows
            .iter()
            .filter(|row| row.read == self.read && row.store == self.store)
            .min_by_key(|row| row.items);
        let ratios = smallest.map_or_else(Vec::new, |smallest| {
            let pairs = self.turns.iter().zip(&smallest.turns);
            pairs.map(|(turn, other)| turn.latency(0.5) / other.latency(0.5)).collect()
        });
        let of = |figure: &dyn Fn(&Turn) -> f64| median(self.turns.iter().map(figure));
        vec![
            self.read.title().to_owned(),
            self.store.title().to_owned(),
            self.items.to_string(),
            format!("{:.2}", of(&|turn| turn.latency(0.5))),
            format!("{:.2}", of(&|turn| turn.latency(0.99))),
            format!("{:.0}", of(&Turn::processor)),
            self.turns.iter().map(|turn| turn.refused).sum::<u64>().to_string(),
            spread(&ratios),
        ]
    }
}

impl Turn {
    /// In milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a bounded turn")]
    fn latency(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// In microseconds per request.
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    fn processor(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.latencies.len().max(1) as f64
    }
}

fn latencies(rows: &[Row], as_markdown: bool) -> comfy_table::Table {
    const TITLES: [&str; 8] = [
        "read",
        "store",
        "items",
        "p50 ms",
        "p99 ms",
        "processor µs",
        "refused",
        "p50 of smallest (range)",
    ];
    table(as_markdown, TITLES.into_iter(), 2, rows.iter().map(|row| row.cells(rows)))
}
