//! Fills a store with made-up data, to try the service under load.
//!
//! Every row goes through the use cases, so it is validated, logged and counted like a client's.
//! Rows are made while others are being written: memory does not grow with their number.

mod plan;
mod rows;

use std::fmt;
use std::sync::Arc;

use application::{
    ApplicationError, Caller, Ports, ResourceLimits, ResourceUseCases, WriteOptions,
    resource_use_cases,
};
use domain::{Collection, ItemId, Members, Violations};
use jiff::SignedDuration;
use tokio::task::JoinSet;

use crate::error::CommandError;
use crate::options::SeedOptions;
use crate::progress::Meter;
use crate::signals::Signals;
use crate::{Opened, Wiring};
use plan::{Plan, Row};
use rows::Recipe;

/// Writes in flight: enough to share the store's transactions, and few enough that none has to wait
/// for long.
const IN_FLIGHT: usize = 64;

const BAR: &str =
    "{bar:32} {percent:>3} %  {human_pos} of {human_len} rows, {rate} a second, {eta} left";

/// Adds made-up data to the store.
pub async fn run(options: &SeedOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let SeedOptions { proposals, library, median_size, seed, .. } = *options;
    let mut signals = Signals::listen()?;
    let Opened { ports, store } = tokio::select! {
        opened = (wiring.open_to_seed)(&options.database) => opened?,
        signal = signals.next() => {
            return Err(CommandError::Interrupted { signal, stored: Tally::default().to_string() });
        }
    };
    tracing::info!(proposals, library_items_of_each = library, seed, "adding made-up data");
    let recipe = Recipe { seed, proposals, median_size };
    let mut load = Load::new(recipe, library, &ports);
    let outcome = load.run(&mut signals).await;
    load.meter.end();
    if outcome.is_ok() && store.wait_until_indexed().await.is_err() {
        tracing::warn!("the full-text index is behind; it catches up when the service is started");
    }
    let (tally, rate) = (load.tally, load.meter.rate(load.tally.rows()));
    let summary =
        format!("stored {tally} in {:.1} s, {rate} rows per second\n", load.meter.seconds());
    drop((load, ports));
    crate::close(store).await;
    outcome?;
    crate::print(&summary)
}

/// The number of rows that were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    programs: u64,
    proposals: u64,
    library_items: u64,
}

impl Tally {
    const fn rows(self) -> u64 {
        self.programs + self.proposals + self.library_items
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { programs, proposals, library_items } = self;
        write!(
            formatter,
            "{proposals} proposals, {library_items} library items and {programs} programmes"
        )
    }
}

/// Makes rows and writes them.
struct Writer {
    recipe: Recipe,
    programs: Arc<dyn ResourceUseCases>,
    proposals: Arc<dyn ResourceUseCases>,
    library: Arc<dyn ResourceUseCases>,
}

impl Writer {
    async fn write(
        self: Arc<Self>,
        row: Row,
        programs: Arc<[ItemId]>,
    ) -> Result<(Row, ItemId), ApplicationError> {
        let options = &WriteOptions::by(Caller::Anonymous);
        let written = match row {
            Row::Program(number) => {
                let members = members(&self.recipe.program(number))?;
                self.programs.create(options, None, members).await?
            }
            Row::Proposal(number) => {
                let members = members(&self.recipe.proposal(number, &programs))?;
                self.proposals.create(options, None, members).await?
            }
            Row::LibraryItem { proposal, parent, number } => {
                let members = members(&self.recipe.library_item(proposal, number))?;
                self.library.create(options, Some(parent), members).await?
            }
        };
        Ok((row, written.shown.item.id))
    }
}

fn use_cases(collection: &str, ports: &Ports) -> Arc<dyn ResourceUseCases> {
    // Limits are for patches and for requests that are sent again; there are none of either here.
    let limits = ResourceLimits { largest: usize::MAX, key_lifetime: SignedDuration::ZERO };
    resource_use_cases(Collection::known(collection), ports, limits)
}

/// The members of a made-up item, which is always an object.
fn members(value: &serde_json::Value) -> Result<Members, ApplicationError> {
    let members = Members::read(value.to_string().as_bytes()).ok().flatten();
    members.ok_or_else(|| ApplicationError::Invalid(Violations::default()))
}

/// The first reason why a load ended before it was complete.
enum Halt {
    Signal(&'static str),
    Failure(ApplicationError),
}

/// A load under way.
struct Load {
    writer: Arc<Writer>,
    plan: Plan,
    in_flight: JoinSet<Result<(Row, ItemId), ApplicationError>>,
    tally: Tally,
    total: u64,
    meter: Meter,
    halt: Option<Halt>,
}

impl Load {
    fn new(recipe: Recipe, library: u64, ports: &Ports) -> Self {
        let plan = Plan::new(recipe.proposals, library);
        let total = plan.rows();
        let writer = Writer {
            recipe,
            programs: use_cases("proposedprograms", ports),
            proposals: use_cases("proposals", ports),
            library: use_cases("lib", ports),
        };
        Self {
            writer: Arc::new(writer),
            plan,
            in_flight: JoinSet::new(),
            tally: Tally::default(),
            total,
            meter: Meter::start(Some(total), BAR),
            halt: None,
        }
    }

    /// Writes row after row. A signal or a failure ends that, but not what is in flight; a second
    /// signal does.
    async fn run(&mut self, signals: &mut Signals) -> Result<(), CommandError> {
        loop {
            while self.in_flight.len() < IN_FLIGHT
                && let Some((row, programs)) = self.plan.next()
            {
                self.in_flight.spawn(Arc::clone(&self.writer).write(row, programs));
            }
            tokio::select! {
                signal = signals.next() => {
                    if self.halt.is_some() {
                        break;
                    }
                    self.stop(Halt::Signal(signal));
                }
                () = self.meter.line_is_due() => self.log(),
                written = self.in_flight.join_next() => match written {
                    Some(Ok(Ok((row, id)))) => self.note(row, id),
                    Some(Ok(Err(cause))) => self.stop(Halt::Failure(cause)),
                    Some(Err(panicked)) => std::panic::resume_unwind(panicked.into_panic()),
                    None => break,
                },
            }
        }
        let stored = self.tally.to_string();
        match self.halt.take() {
            None => Ok(()),
            Some(Halt::Signal(signal)) => Err(CommandError::Interrupted { signal, stored }),
            Some(Halt::Failure(cause)) => Err(CommandError::Seed { cause, stored }),
        }
    }

    fn note(&mut self, row: Row, id: ItemId) {
        let count = match row {
            Row::Program(_) => &mut self.tally.programs,
            Row::Proposal(_) => &mut self.tally.proposals,
            Row::LibraryItem { .. } => &mut self.tally.library_items,
        };
        *count += 1;
        self.plan.note(row, id);
        self.meter.bar().set_position(self.tally.rows());
    }

    fn stop(&mut self, halt: Halt) {
        self.plan = Plan::new(0, 0);
        self.halt.get_or_insert(halt);
    }

    fn log(&self) {
        let (rows, rows_per_second) = (self.tally.rows(), self.meter.rate(self.tally.rows()));
        let seconds_left = (self.total - rows).checked_div(rows_per_second);
        tracing::info!(
            rows,
            of = self.total,
            rows_per_second,
            seconds_left,
            "storing made-up data"
        );
    }
}
