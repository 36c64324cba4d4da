//! Measures the real binary over loopback, on fresh stores that are filled through its interface.
//!
//! Requests per second depend on the machine and on its other users. So one run measures all
//! subjects in turn, a round at a time, and compares within the same round.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts and times of a bounded run, far below 2^52"
)]

mod arguments;
mod callers;
mod connection;
mod database;
mod distant_server;
mod figures;
mod history;
mod instances;
mod load;
mod policies;
mod process;
mod proposals;
mod reads;
mod report;
mod sizes;
mod soak;
mod stage;
mod subject;
mod turn;
mod work;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use arguments::{Arguments, Reference, Store};
use figures::{Rounds, megabytes};
use report::{Report, Row, preamble, time_to_sync};
use subject::{Kind, Subject};
use work::{AnswerSizes, Bodies, Requests, Work, made_up_bodies};

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
    // Otherwise the run would fail only after the other stores were filled.
    let needs_server = arguments.stores.contains(&Store::Postgres) || arguments.instances.is_some();
    ensure!(
        !needs_server || std::env::var_os("TEST_POSTGRES_URL").is_some(),
        "TEST_POSTGRES_URL does not name a PostgreSQL server: see --help"
    );
    let parent = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new().prefix("benchmark-").tempdir_in(&parent);
    let folder = folder.context("cannot make a temporary folder")?;
    // Stores of small items stay in a folder that is given.
    let kept = arguments.folder.as_deref().unwrap_or(folder.path());
    let run = async {
        match (arguments.instances, arguments.soak) {
            (Some(instances), _) => instances::measure(arguments, instances, folder.path()).await,
            (_, Some(minutes)) => soak::run(arguments, minutes, kept).await,
            _ if !arguments.capacity.is_empty() => sizes::measure_capacity(arguments, kept).await,
            _ if arguments.growth.is_empty() => measure(arguments, folder.path()).await,
            _ => sizes::measure_growth(arguments, folder.path()).await,
        }
    };
    tokio::select! {
        outcome = run => outcome,
        interrupted = interruption() => interrupted,
    }
}

async fn measure(arguments: &Arguments, folder: &Path) -> Result<()> {
    let bodies = made_up_bodies();
    let (subjects, sizes) = subjects(arguments, &bodies, folder).await?;
    let sync = time_to_sync(folder)?;
    let report = Report(take_turns(arguments, &subjects).await?);
    println!("{}\n", preamble(arguments, &sizes, &bodies, sync));
    println!("{}\n", report.table(arguments.markdown));
    for gate in report.gates() {
        println!("{gate}");
    }
    for Subject { kind, memory_before, .. } in &subjects {
        let (title, memory) = (kind.title(), megabytes(*memory_before));
        println!("{title}: {memory} MB at its peak before the first turn, filling included.");
    }
    report.conclude()
}

async fn subjects(
    arguments: &Arguments,
    bodies: &Bodies,
    folder: &Path,
) -> Result<(Vec<Subject>, AnswerSizes)> {
    let mut subjects = Vec::new();
    let has = |reference| arguments.references.contains(&reference);
    for &store in &arguments.stores {
        let references = [
            (true, Kind::Service(store)),
            (arguments.baseline.is_some(), Kind::Baseline(store)),
            (has(Reference::Minimal), Kind::Minimal(store)),
            (has(Reference::Logged), Kind::Logged(store)),
        ];
        let chosen =
            references.into_iter().filter_map(|(is_chosen, kind)| is_chosen.then_some(kind));
        for kind in chosen.chain(arguments.extras().map(|extra| Kind::With(extra, store))) {
            eprintln!("filling {} with {} proposals", kind.title(), arguments.proposals);
            let requests = Requests::to_service(bodies.clone(), arguments.proposals);
            subjects.push(Subject::start(kind, requests, arguments, folder).await?);
        }
    }
    let sizes = match subjects.first() {
        Some(service) => service.answer_sizes().await?,
        // The typical sizes of the responses of the service, for a run of the references alone.
        None => AnswerSizes::from_iter([
            (Work::Item, 3_136),
            (Work::Page, 78_400),
            (Work::DeepPage, 78_400),
            (Work::NewPage, 78_400),
            (Work::Total, 3_500),
        ]),
    };
    if has(Reference::Bare) {
        let requests = Requests::to_bare_route(bodies.clone(), arguments.proposals, &sizes);
        subjects.push(Subject::start(Kind::BareRoute, requests, arguments, folder).await?);
    }
    Ok((subjects, sizes))
}

async fn take_turns(arguments: &Arguments, subjects: &[Subject]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for work in arguments.works() {
        let row =
            |Subject { kind, .. }: &_| Row { work, subject: *kind, rounds: Rounds::default() };
        let mut of_work: Vec<_> = subjects.iter().map(row).collect();
        for round in 1..=arguments.rounds {
            eprintln!("{}, round {round} of {}", work.title(), arguments.rounds);
            for (row, subject) in of_work.iter_mut().zip(subjects) {
                tokio::time::sleep(PAUSE).await;
                row.rounds.0.push(subject.measure(work, arguments).await?);
            }
        }
        rows.append(&mut of_work);
    }
    Ok(rows)
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
