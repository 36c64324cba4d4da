//! The cost of more items: the same reads on stores of several sizes, and commands on whole
//! stores. All stores run at once and take turns, so that other work of the machine affects them
//! equally.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;

use crate::PAUSE;
use crate::arguments::Arguments;
use crate::connection::Connection;
use crate::figures::{Rounds, TITLES, none};
use crate::reads::{Read, growth_reads, small_reads};
use crate::report::{common_preamble, conclude, table};
use crate::stage::{Fill, MEDIAN_SIZE, Stage, import, seed};
use crate::turn::Measurement;

/// Items that are replaced, to measure the bytes of a further version.
const REPLACED: u64 = 20_000;

struct Row<'a> {
    read: &'static str,
    stage: &'a Stage,
    rounds: Rounds,
}

/// Measures reads of seeded proposals under full load.
pub(super) async fn measure_growth(arguments: &Arguments, folder: &Path) -> Result<()> {
    let stages = stages(arguments, seed, folder).await?;
    let time = Duration::from_secs(arguments.seconds);
    let load = (arguments.connections, [time / 10, time]);
    let rows = take_turns(arguments, &stages, growth_reads, load).await?;
    println!(
        "Seeded proposals of {MEDIAN_SIZE} bytes in the median. Next pages and researchers rotate over up to 500 different \
         ones. {} Of smallest: the time per request, the processor time of server and database per request, and the median \
         latency, divided by that of the same round on the smallest store, median and range.\n",
        common_preamble(arguments)
    );
    println!("{}\n", table_of(&rows, arguments.markdown));
    conclude(rows.iter().map(Row::titled))
}

/// Measures the storage of small items, and reads of them on one connection.
pub(super) async fn measure_capacity(arguments: &Arguments, folder: &Path) -> Result<()> {
    let stages = stages(arguments, import, folder).await?;
    let load = (1, [Duration::ZERO, Duration::from_secs(arguments.seconds)]);
    let rows = take_turns(arguments, &stages, small_reads, load).await?;
    println!("\n{}\n", table_of(&rows, arguments.markdown));
    for stage in &stages {
        stage.copy(folder)?;
        stage.replace(REPLACED.min(stage.items)).await?;
    }
    conclude(rows.iter().map(Row::titled))
}

async fn stages(arguments: &Arguments, fill: Fill, folder: &Path) -> Result<Vec<Stage>> {
    let mut stages = Vec::new();
    for &store in &arguments.stores {
        for items in arguments.sizes() {
            stages.push(Stage::set(store, items.into(), fill, folder).await?);
        }
    }
    Ok(stages)
}

async fn take_turns<'a>(
    arguments: &Arguments,
    stages: &'a [Stage],
    reads: fn(u64) -> Vec<Read>,
    (connections, time): (u16, [Duration; 2]),
) -> Result<Vec<Row<'a>>> {
    let mut rows = Vec::new();
    for place in 0..reads(stages[0].items).len() {
        let (mut of_read, mut requests) = (Vec::new(), Vec::new());
        for stage in stages {
            let read = reads(stage.items).swap_remove(place);
            let title = read.title;
            let mut connection = Connection::open(stage.running.server.address).await?;
            requests.push(read.requests(&mut connection).await?);
            of_read.push(Row { read: title, stage, rounds: Rounds::default() });
        }
        for round in 1..=arguments.rounds {
            eprintln!("{}, round {round} of {}", of_read[0].read, arguments.rounds);
            for (row, requests) in of_read.iter_mut().zip(&requests) {
                tokio::time::sleep(PAUSE).await;
                let next = Cell::new(0);
                let source = |_: &mut Rng, request: &mut Vec<u8>| {
                    let turn = next.replace((next.get() + 1) % requests.len());
                    request.extend_from_slice(&requests[turn]);
                };
                let turn = row.stage.running.turn(&source, connections, time).await;
                row.rounds.0.push(turn.with_context(|| row.stage.title())?);
            }
        }
        rows.append(&mut of_read);
    }
    Ok(rows)
}

impl Row<'_> {
    fn titled(&self) -> (String, &Rounds) {
        (format!("{}, {}", self.read, self.stage.title()), &self.rounds)
    }

    fn cells(&self, rows: &[Self]) -> Vec<String> {
        let smallest = rows
            .iter()
            .filter(|row| row.read == self.read && row.stage.store == self.stage.store)
            .min_by_key(|row| row.stage.items);
        let ratio = |figure: fn(&Measurement) -> f64| {
            smallest.map_or_else(none, |smallest| self.rounds.compared(&smallest.rounds, figure))
        };
        let names = [
            self.read.to_owned(),
            self.stage.store.title().to_owned(),
            self.stage.items.to_string(),
        ];
        let ratios = [
            ratio(|turn| 1.0 / turn.tally.rate()),
            ratio(|turn| turn.cpu.service().max(0.01) / turn.tally.requests()),
            ratio(|turn| turn.tally.latency(0.5)),
        ];
        [&names[..], &self.rounds.cells(), &ratios].concat()
    }
}

fn table_of(rows: &[Row<'_>], as_markdown: bool) -> comfy_table::Table {
    let ratios =
        ["time of smallest (range)", "processor of smallest (range)", "p50 of smallest (range)"];
    let header = [&["work", "store", "items"][..], &TITLES, &ratios].concat();
    table(as_markdown, &header, rows.iter().map(|row| row.cells(rows)))
}
