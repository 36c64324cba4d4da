//! Fills a store with made-up data, to try the service under load.
//!
//! Every row goes through the use cases, so it is judged, logged and counted like a client's. Rows
//! are made while others are being written, and forgotten once they are: memory does not grow with
//! their number.
//!
//! - [`plan`] says which row is next, [`progress`] how far it has come;
//! - [`proposals`] and [`library`] make rows out of [`prose`], which knows [`sentences`] and
//!   [`words`].

mod library;
mod object;
mod plan;
mod progress;
mod proposals;
mod prose;
mod random;
mod sentences;
mod words;

use std::sync::Arc;

use application::{
    ApplicationError, Caller, Ports, ResourceLimits, ResourceService, ResourceUseCases as _,
    WriteOptions,
};
use domain::{Collection, Document, ItemId, Members, Proposal, Violations};
use jiff::SignedDuration;
use tokio::task::{JoinError, JoinSet};

use crate::error::CommandError;
use crate::options::SeedOptions;
use crate::signals::Signals;
use crate::{Opened, Wiring};
use plan::{Plan, Row};
use progress::Progress;
pub use progress::Tally;
use proposals::Recipe;

/// Writes in flight: enough to share the store's transactions, and few enough that none has to wait
/// for long.
const IN_FLIGHT: usize = 64;

/// Adds what the options ask for to what the store holds.
pub async fn run(options: &SeedOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    let Opened { ports, store } = tokio::select! {
        opened = (wiring.open_to_seed)(&options.database) => opened?,
        signal = signals.next() => return Err(CommandError::Interrupted { signal, stored: Tally::default() }),
    };
    tracing::info!(
        proposals = options.proposals,
        library_items_of_each = options.library,
        seed = options.seed,
        "adding made-up data"
    );
    let mut load = Load::new(options, &ports);
    let outcome = load.run(&mut signals).await;
    load.progress.end();
    if outcome.is_ok() && store.wait_until_indexed().await.is_err() {
        tracing::warn!(
            "the full-text index is behind; the service goes on with it when it is started"
        );
    }
    let summary = load.progress.summary();
    drop((load, ports));
    crate::close(store).await;
    outcome?;
    crate::print(&summary)
}

/// A row that was written.
enum Written {
    Proposal(u64, ItemId),
    LibraryItem,
}

/// Makes rows and writes them.
struct Writer {
    recipe: Recipe,
    proposals: ResourceService<Proposal>,
    library: ResourceService<Document>,
}

impl Writer {
    fn new(recipe: Recipe, ports: &Ports) -> Self {
        Self {
            recipe,
            proposals: service(Collection::known("proposals"), ports),
            library: service(Collection::known("lib"), ports),
        }
    }

    async fn write(self: Arc<Self>, row: Row) -> Result<Written, ApplicationError> {
        match row {
            Row::Proposal(number) => {
                let body = members(&self.recipe.proposal(number))?;
                let written =
                    self.proposals.create(&WriteOptions::by(Caller::Anonymous), None, body).await?;
                Ok(Written::Proposal(number, written.shown.item.id))
            }
            Row::LibraryItem { proposal, owner, number } => {
                let body = members(&self.recipe.library_item(proposal, number))?;
                self.library
                    .create(&WriteOptions::by(Caller::Anonymous), Some(owner), body)
                    .await?;
                Ok(Written::LibraryItem)
            }
        }
    }
}

fn service<R: domain::Resource>(collection: Collection, ports: &Ports) -> ResourceService<R> {
    // The limits are on what patches make of an item, and on what is sent again; there is nothing
    // of either here.
    ResourceService::new(
        collection,
        ports,
        ResourceLimits { largest: usize::MAX, key_lifetime: SignedDuration::ZERO },
    )
}

/// What is made here is always an object; the tests see to it.
fn members(text: &str) -> Result<Members, ApplicationError> {
    Members::read(text.as_bytes())
        .ok()
        .flatten()
        .ok_or_else(|| ApplicationError::Invalid(Violations::default()))
}

/// What ends a load before it is complete.
enum Halt {
    Signal(&'static str),
    Failure(ApplicationError),
}

/// A load under way.
struct Load {
    writer: Arc<Writer>,
    plan: Plan,
    in_flight: JoinSet<Result<Written, ApplicationError>>,
    progress: Progress,
    halt: Option<Halt>,
}

impl Load {
    fn new(options: &SeedOptions, ports: &Ports) -> Self {
        let SeedOptions { proposals, library, median_size, seed, .. } = *options;
        Self {
            writer: Arc::new(Writer::new(
                Recipe { seed, proposals, median_size: median_size.bytes() },
                ports,
            )),
            plan: Plan::new(proposals, library),
            in_flight: JoinSet::new(),
            progress: Progress::start(proposals * (1 + library)),
            halt: None,
        }
    }

    /// Writes row after row. A signal or a failure ends that, but not what is in flight; a second
    /// signal does.
    async fn run(&mut self, signals: &mut Signals) -> Result<(), CommandError> {
        loop {
            self.fill();
            tokio::select! {
                signal = signals.next() => {
                    if self.halt.is_some() {
                        break;
                    }
                    self.stop(Halt::Signal(signal));
                }
                () = self.progress.line_is_due() => self.progress.log(),
                written = self.in_flight.join_next() => match written {
                    Some(written) => self.note(written),
                    None => break,
                },
            }
        }
        let stored = self.progress.tally;
        match self.halt.take() {
            None => Ok(()),
            Some(Halt::Signal(signal)) => Err(CommandError::Interrupted { signal, stored }),
            Some(Halt::Failure(cause)) => Err(CommandError::Seed { cause, stored }),
        }
    }

    fn fill(&mut self) {
        while self.in_flight.len() < IN_FLIGHT
            && let Some(row) = self.plan.next()
        {
            self.in_flight.spawn(Arc::clone(&self.writer).write(row));
        }
    }

    fn note(&mut self, written: Result<Result<Written, ApplicationError>, JoinError>) {
        match written {
            Ok(Ok(Written::Proposal(number, id))) => {
                self.plan.proposal_written(number, id);
                self.progress.tally.proposals += 1;
            }
            Ok(Ok(Written::LibraryItem)) => self.progress.tally.library_items += 1,
            Ok(Err(cause)) => self.stop(Halt::Failure(cause)),
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
        self.progress.show();
    }

    /// The first reason to stop is the one that is told.
    fn stop(&mut self, halt: Halt) {
        self.plan.stop();
        self.halt.get_or_insert(halt);
    }
}
