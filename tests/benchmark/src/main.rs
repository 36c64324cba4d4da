//! Measures the real binary over loopback, on fresh stores that are filled through its interface.
//!
//! Requests per second depend on the machine and on its other users. So one run measures all
//! subjects in turn, a round at a time, and compares within the same round.

mod arguments;
mod callers;
mod capacity;
mod collector;
mod connection;
mod database;
mod disk;
mod distant_server;
mod figures;
mod growth;
mod growth_targets;
mod instances;
mod load;
mod process;
mod program;
mod proposals;
mod report;
mod subject;
mod turn;
mod work;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use arguments::{Arguments, Reference, Store};
use database::Database;
use figures::{Rounds, megabytes};
use report::{Report, Row, preamble};
use subject::{Kind, Subject};
use work::{AnswerSizes, Bodies, Group};

/// Lets one subject's disk and processor work ebb away before the next one's turn.
const PAUSE: Duration = Duration::from_millis(300);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("benchmark: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    if arguments.stores.contains(&Store::Postgres) || arguments.instances.is_some() {
        Database::require_server()?;
    }
    let folder = temporary_folder(arguments.folder.as_deref())?;
    let run = async {
        match (arguments.instances, arguments.soak) {
            (Some(instances), _) => instances::measure(arguments, instances, folder.path()).await,
            (_, Some(minutes)) => capacity::soak::run(arguments, minutes, folder.path()).await,
            _ if !arguments.capacity.is_empty() => {
                capacity::measure(arguments, folder.path()).await
            }
            _ if arguments.growth.is_empty() => measure(arguments, folder.path()).await,
            _ => growth::measure(arguments, folder.path()).await,
        }
    };
    tokio::select! {
        outcome = run => outcome,
        interrupted = interruption() => interrupted,
    }
}

async fn measure(arguments: &Arguments, folder: &Path) -> Result<()> {
    let bodies = Bodies::make_up();
    let (subjects, sizes) = subjects(arguments, &bodies, folder).await?;
    let sync = disk::time_to_sync(folder)?;
    let report = Report::new(take_turns(arguments, &subjects).await?);
    println!(
        "{}\n\n{}\n",
        preamble(arguments, sizes[&Group::Proposals], bodies.mean_length(), sync),
        report.table(arguments.markdown)
    );
    for gate in report.gates() {
        println!("{gate}");
    }
    for Subject { kind, memory_before, .. } in &subjects {
        println!(
            "{}: {} MB at its peak before the first turn, filling included.",
            kind.title(),
            megabytes(*memory_before)
        );
    }
    conclude(report.disturbance(), &report.failures())
}

async fn subjects(
    arguments: &Arguments,
    bodies: &Bodies,
    folder: &Path,
) -> Result<(Vec<Subject>, BTreeMap<Group, AnswerSizes>)> {
    let mut subjects = Vec::new();
    for &store in &arguments.stores {
        let by_hand =
            arguments.references.contains(&Reference::Minimal).then_some(Kind::Minimal(store));
        let logged =
            arguments.references.contains(&Reference::Logged).then_some(Kind::Logged(store));
        let baseline = arguments.baseline.is_some().then_some(Kind::Baseline(store));
        let references = [baseline, by_hand, logged].into_iter().flatten();
        let extras = arguments.with.iter().map(|extra| Kind::With(*extra, store));
        for kind in std::iter::once(Kind::Service(store)).chain(references).chain(extras) {
            eprintln!("filling {} with {} proposals", kind.title(), arguments.proposals);
            subjects.push(Subject::on_store(kind, store, arguments, bodies.clone(), folder).await?);
        }
    }
    let mut sizes = BTreeMap::new();
    for group in arguments.filled_groups() {
        let size = match subjects.first() {
            Some(service) => service.answer_sizes(group).await?,
            None => AnswerSizes::typical(bodies.mean_length()),
        };
        sizes.insert(group, size);
    }
    if arguments.references.contains(&Reference::Bare) {
        subjects.push(Subject::bare_route(arguments, bodies.clone(), &sizes, folder).await?);
    }
    Ok((subjects, sizes))
}

async fn take_turns(arguments: &Arguments, subjects: &[Subject]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (work, group) in arguments.works() {
        let subjects: Vec<_> = subjects.iter().filter(|subject| subject.kind.has(group)).collect();
        let title = group.title(work);
        let row = |subject: &&Subject| Row {
            title: title.clone(),
            subject: subject.kind,
            rounds: Rounds::default(),
        };
        let mut of_work: Vec<_> = subjects.iter().map(row).collect();
        for round in 1..=arguments.rounds {
            eprintln!("{title}, round {round} of {}", arguments.rounds);
            for (row, subject) in of_work.iter_mut().zip(&subjects) {
                tokio::time::sleep(PAUSE).await;
                row.rounds.0.push(subject.measure((work, group), arguments).await?);
            }
        }
        rows.append(&mut of_work);
    }
    Ok(rows)
}

fn conclude(disturbance: f64, failures: &[String]) -> Result<()> {
    println!(
        "Processes without a part in the benchmark took up to {disturbance:.2} processors in a turn."
    );
    ensure!(failures.is_empty(), "not every answer was a success:\n{}", failures.join("\n"));
    Ok(())
}

fn temporary_folder(parent: Option<&Path>) -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("benchmark-");
    let folder = match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    folder.context("cannot make a temporary folder")
}

/// Ends the run in an orderly way, so that no server and no database stays behind.
async fn interruption() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    bail!("interrupted")
}
