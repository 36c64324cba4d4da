//! The cost of more proposals: the same reads on stores of several sizes. All stores run at once and
//! take turns, so that other work of the machine affects them equally.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use tokio::process::Command;

use crate::arguments::{Arguments, Store};
use crate::database::Database;
use crate::figures::{Rounds, TITLES, spread};
use crate::growth_targets::{GrowthWork, Targets};
use crate::process::Server;
use crate::program::program;
use crate::report::table;
use crate::subject::{Kind, sqlite_url};
use crate::turn::{Measurement, Running};
use crate::{PAUSE, conclude};

/// The median length of a seeded proposal, in bytes, as those of the other benchmark have.
const MEDIAN_SIZE: &str = "2400";

struct Stage {
    store: Store,
    proposals: u32,
    running: Running,
}

struct Row {
    work: GrowthWork,
    store: Store,
    proposals: u32,
    rounds: Rounds,
}

pub(super) async fn measure(arguments: &Arguments, folder: &Path) -> Result<()> {
    let mut stages = Vec::new();
    for &store in &arguments.stores {
        for proposals in arguments.sizes() {
            stages.push(
                Stage::set(store, proposals, folder)
                    .await
                    .with_context(|| stage_name(store, proposals))?,
            );
        }
    }
    let mut rows = Vec::new();
    for work in GrowthWork::value_variants() {
        rows.append(&mut take_turns(*work, arguments, &stages).await?);
    }
    println!("{}\n\n{}\n", preamble(arguments), growth_table(&rows, arguments.markdown));
    let failure = |row: &Row| {
        let (title, stage) = (row.work.title(), stage_name(row.store, row.proposals));
        row.rounds.failure().map(|failure| format!("{title}, {stage}: {failure}"))
    };
    let failures: Vec<_> = rows.iter().filter_map(failure).collect();
    conclude(rows.iter().map(|row| row.rounds.disturbance()).fold(0.0, f64::max), &failures)
}

async fn take_turns(work: GrowthWork, arguments: &Arguments, stages: &[Stage]) -> Result<Vec<Row>> {
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for &Stage { store, proposals, ref running } in stages {
        let found = Targets::find(work, running.server.address, proposals).await?;
        let items = found.mean_items(running.server.address).await?;
        eprintln!(
            "{}, {}: {} different requests, {items:.1} items each",
            work.title(),
            stage_name(store, proposals),
            found.len()
        );
        targets.push(found);
        rows.push(Row { work, store, proposals, rounds: Rounds::default() });
    }
    for round in 1..=arguments.rounds {
        eprintln!("{}, round {round} of {}", work.title(), arguments.rounds);
        for ((row, stage), targets) in rows.iter_mut().zip(stages).zip(&targets) {
            tokio::time::sleep(PAUSE).await;
            let turn = stage.running.turn(targets, arguments).await;
            row.rounds.0.push(turn.with_context(|| stage_name(stage.store, stage.proposals))?);
        }
    }
    Ok(rows)
}

impl Stage {
    async fn set(store: Store, proposals: u32, folder: &Path) -> Result<Self> {
        let database = if store == Store::Postgres { Some(Database::create()?) } else { None };
        let name = format!("growth-{proposals}");
        let url = database
            .as_ref()
            .map_or_else(|| sqlite_url(folder, &name), |database| database.url().to_owned());
        seed(&url, proposals).await?;
        if let Some(database) = &database {
            database.settle();
        }
        let server =
            Server::start(&program("proposal-service")?, &["--database-url", &url], folder).await?;
        Ok(Self { store, proposals, running: Running { server, database } })
    }
}

/// Fills a fresh store by the service's own command, which is faster than its interface.
async fn seed(url: &str, proposals: u32) -> Result<()> {
    eprintln!("seeding {proposals} proposals");
    let mut command = Command::new(program("proposal-service")?);
    let status = command
        .args(["seed", "--database-url", url, "--median-size", MEDIAN_SIZE])
        .args(["--proposals", &proposals.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
        .context("cannot seed")?;
    ensure!(status.success(), "seeding ended with {status}");
    Ok(())
}

impl Row {
    fn cost(&self, rows: &[Self], cost: impl Fn(&Measurement) -> f64) -> String {
        let smallest = rows
            .iter()
            .filter(|row| row.work == self.work && row.store == self.store)
            .min_by_key(|row| row.proposals);
        spread(&smallest.map_or_else(Vec::new, |smallest| {
            self.rounds.compared(&smallest.rounds, |one, base| cost(one) / cost(base))
        }))
    }

    fn cells(&self, rows: &[Self]) -> Vec<String> {
        let names = [
            self.work.title().to_owned(),
            Kind::Service(self.store).title(),
            self.proposals.to_string(),
        ];
        let time = self.cost(rows, |turn| turn.tally.elapsed.as_secs_f64() / turn.tally.amount());
        let processor = self.cost(rows, |turn| {
            turn.cpu.service().max(Duration::from_millis(10)).as_secs_f64() / turn.tally.amount()
        });
        names.into_iter().chain(self.rounds.cells()).chain([time, processor]).collect()
    }
}

fn stage_name(store: Store, proposals: u32) -> String {
    format!("{} with {proposals} proposals", Kind::Service(store).title())
}

fn growth_table(rows: &[Row], as_markdown: bool) -> comfy_table::Table {
    let header = ["work", "subject", "proposals"]
        .into_iter()
        .chain(TITLES)
        .chain(["time of smallest (range)", "processor of smallest (range)"]);
    table(as_markdown, header, 2, rows.iter().map(|row| row.cells(rows)))
}

fn preamble(arguments: &Arguments) -> String {
    let Arguments { connections, rounds, seconds, .. } = arguments;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!(
        "Seeded proposals of {MEDIAN_SIZE} bytes in the median. {connections} keep-alive connections over loopback, {rounds} rounds of \
         {seconds} s for each work, store and size, taking turns, all servers up at once. Servers and load generator share {cores} cores. \
         Next pages and researchers rotate over up to 500 different ones.\n\n\
         Rates and latencies are the median of the rounds. µs: processor time per request; the server's does not contain the \
         database's, which is that of the whole PostgreSQL server. Of smallest: the time per request (and the processor time of server \
         and database per request) divided by that of the same round on the smallest store, median and range."
    )
}
