//! How fast the service is, beside a bare poem route that answers as many bytes.
//!
//! Requests per second say little on their own: they depend on the machine and on who else uses it. So one run measures all
//! subjects in turn, a round at a time, and what it gives is the ratio within the same round. It drives the real binary
//! over loopback, on a fresh SQLite file and a fresh PostgreSQL database, filled through the interface itself.

mod arguments;
mod connection;
mod database;
mod disk;
mod load;
mod process;
mod program;
mod proposals;
mod report;
mod subject;
mod work;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

pub use arguments::Arguments;
use arguments::Store;
use database::Database;
use report::{Report, Row, megabytes, preamble};
use subject::Subject;
use work::{AnswerSizes, Bodies};

/// Lets one subject's disk and processor work ebb away before the next one's turn.
const PAUSE: Duration = Duration::from_millis(300);

/// Runs the benchmark and prints its figures; progress goes to standard error.
///
/// # Errors
/// When a server cannot be started or fails, or when any answer was not a success: the figures are printed all the same.
pub async fn run(arguments: &Arguments) -> Result<()> {
    // Outlives the servers, which hold connections to it.
    let database = if arguments.stores.contains(&Store::Postgres) { Some(Database::create()?) } else { None };
    tokio::select! {
        outcome = measure(arguments, database.as_ref()) => outcome,
        interrupted = interruption() => interrupted,
    }
}

async fn measure(arguments: &Arguments, database: Option<&Database>) -> Result<()> {
    let folder = temporary_folder(arguments.folder.as_deref())?;
    let bodies = Bodies::make_up();
    let mut subjects = Vec::new();
    for &store in &arguments.stores {
        eprintln!("filling {store:?} with {} proposals", arguments.proposals);
        subjects.push(Subject::service(store, arguments, bodies.clone(), folder.path(), database).await?);
    }
    let sizes = match subjects.first() {
        Some(service) => service.answer_sizes().await?,
        None => AnswerSizes::typical(bodies.mean_length()),
    };
    let bare = Subject::bare_route(arguments, bodies.clone(), sizes, folder.path()).await?;
    let baseline = bare.name;
    subjects.push(bare);

    let sync = disk::time_to_sync(folder.path())?;
    let report = Report::new(take_turns(arguments, &subjects).await?, baseline);
    println!("{}\n\n{}\n", preamble(arguments, sizes, bodies.mean_length(), sync), report.table(arguments.markdown));
    for subject in &subjects {
        println!("{}: {} MB at its peak before the first turn, filling included.", subject.name, megabytes(subject.memory_before));
    }
    println!("Processes without a part in the benchmark took up to {:.2} processors in a turn.", report.disturbance());
    let failures = report.failures();
    ensure!(failures.is_empty(), "not every answer was a success:\n{}", failures.join("\n"));
    Ok(())
}

/// Every work in every round visits every subject.
async fn take_turns(arguments: &Arguments, subjects: &[Subject<'_>]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for work in arguments.works() {
        let mut of_work: Vec<_> = subjects.iter().map(|subject| Row { work, subject: subject.name, rounds: Vec::new() }).collect();
        for round in 1..=arguments.rounds {
            eprintln!("{}, round {round} of {}", work.title(), arguments.rounds);
            for (row, subject) in of_work.iter_mut().zip(subjects) {
                tokio::time::sleep(PAUSE).await;
                row.rounds.push(subject.measure(work, arguments).await?);
            }
        }
        rows.append(&mut of_work);
    }
    Ok(rows)
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
