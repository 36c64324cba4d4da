//! `seed`: fills a store with made-up data for load tests.
//!
//! Items go through the use cases, so they are validated and logged like a client's. They are made
//! while others are written, so memory does not grow with their number.

mod items;

use std::future::ready;
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use application::{Caller, ResourceLimits, ResourceService, WriteOptions};
use domain::{Collection, ItemId, Members};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, Stream, StreamExt as _};
use indicatif::ProgressBar;
use jiff::SignedDuration;
use serde_json::Value;
use system_adapter::SystemClock;

use crate::commands::error::{CommandError, Result};
use crate::commands::joined;
use crate::commands::options::SeedOptions;
use crate::commands::progress::ProgressMeter;
use crate::{close, connect, open_rules, ports};
use items::{CHILDREN, Recipe};

/// Concurrent writes: enough for group commit, few enough for short waits.
const IN_FLIGHT: usize = 64;

/// Collections, and their items in the final line.
const COLLECTIONS: [(&str, &str); 8] = [
    ("proposals", "proposals"),
    ("lib", "library items"),
    ("proposedprograms", "programmes"),
    ("statuses", "status codes"),
    ("files", "files"),
    ("gadscores", "score sheets"),
    ("status", "status messages"),
    ("cashprogram", "cash programmes"),
];

const BAR: &str =
    "{bar:32} {percent:>3} %  {human_pos} of {human_len} items, {rate} a second, {eta} left";

pub async fn run(options: &SeedOptions) -> Result<()> {
    let SeedOptions { proposals, library, median_size, seed, .. } = *options;
    let recipe = Recipe { seed, proposals, median_size };
    let children = library + CHILDREN.len() as u64;
    let codes = Recipe::status_codes().count() as u64;
    let total = codes + recipe.programs() + proposals * (1 + children);
    let mut meter = ProgressMeter::start(Some(total), BAR, "storing test data")?;
    let open = async {
        let store = connect(&options.database).await?;
        store.migrate().await.map_err(CommandError::from).map(|()| store)
    };
    let store = meter.watch(open).await?;
    // Only the rules written in Rust apply.
    let ports = ports(&store, open_rules(None)?, Arc::new(SystemClock::default()));
    tracing::info!(proposals, library_items_of_each = library, seed, "adding test data");
    // The limits concern patches and repeated requests, which do not occur here.
    let limits = ResourceLimits {
        largest: usize::MAX,
        key_lifetime: SignedDuration::ZERO,
        content_per_proposal: None,
    };
    let use_cases =
        COLLECTIONS.map(|(name, _)| ResourceService::new(Collection::known(name), &ports, limits));
    let (stored, halted, bar) = (Default::default(), OnceLock::new(), meter.bar.clone());
    let load = Arc::new(Load { recipe, use_cases, stored, bar, halted });
    let mut work = pin!(load.store_all(library));
    loop {
        tokio::select! {
            () = &mut work => break,
            // A second signal does not wait for writes in flight.
            signal = meter.signal() => if load.halt(format!("stopped by {signal};")) {
                break;
            },
        }
    }
    meter.end();
    if load.halted.get().is_none() && store.wait_until_indexed().await.is_err() {
        tracing::warn!("the full-text index is behind; it catches up when the service starts");
    }
    close(store).await;
    let counts = COLLECTIONS.iter().zip(&load.stored);
    let counts =
        counts.map(|((_, items), count)| format!("{} {items}", count.load(Ordering::Relaxed)));
    let stored = counts.collect::<Vec<_>>().join(", ");
    match load.halted.get() {
        Some(cause) => Err(CommandError::Failed(format!("{cause} {stored} were stored"))),
        None => crate::commands::print(&format!(
            "stored {stored} in {:.1} s, {:.0} items per second\n",
            meter.seconds(),
            meter.bar.per_sec()
        )),
    }
}

struct Load {
    recipe: Recipe,
    use_cases: [ResourceService; COLLECTIONS.len()],
    stored: [AtomicU64; COLLECTIONS.len()],
    bar: ProgressBar,
    halted: OnceLock<String>,
}

impl Load {
    /// Stores status codes and programmes first, since proposals may refer to them, and each
    /// proposal before its children.
    async fn store_all(self: &Arc<Self>, library: u64) {
        let codes = Recipe::status_codes().map(|code| self.store("statuses", None, move |_| code));
        stream::iter(codes).buffered(IN_FLIGHT).for_each(|_| ready(())).await;
        let programs: Vec<_> = self
            .numbers(0..self.recipe.programs())
            .map(|number| {
                self.store("proposedprograms", None, move |recipe| recipe.program(number))
            })
            .buffered(IN_FLIGHT)
            .filter_map(ready)
            .collect()
            .await;
        let programs: Arc<[ItemId]> = programs.into();
        self.numbers(0..self.recipe.proposals)
            .map(|number| {
                let programs = Arc::clone(&programs);
                let make = move |recipe: &Recipe| recipe.proposal(number, &programs);
                let proposal = self.store("proposals", None, make);
                async move { Some((number, proposal.await?)) }
            })
            .buffer_unordered(IN_FLIGHT)
            .filter_map(ready)
            .flat_map(|(proposal, id)| self.children(proposal, id, library))
            .buffer_unordered(IN_FLIGHT)
            .for_each(|_| ready(()))
            .await;
    }

    fn children(
        self: &Arc<Self>,
        proposal: u64,
        id: ItemId,
        library: u64,
    ) -> impl Stream<Item = BoxFuture<'static, Option<ItemId>>> {
        let others = CHILDREN.map(|(collection, kind, member)| {
            self.store(collection, None, move |recipe| recipe.child(proposal, id, (kind, member)))
        });
        let items = self.numbers(0..library).map(move |number| {
            self.store("lib", Some(id), move |recipe| recipe.library_item(proposal, number))
        });
        stream::iter(others).chain(items)
    }

    fn numbers(&self, numbers: Range<u64>) -> impl Stream<Item = u64> {
        stream::iter(numbers.take_while(|_| self.halted.get().is_none()))
    }

    fn store(
        self: &Arc<Self>,
        collection: &'static str,
        parent: Option<ItemId>,
        make: impl FnOnce(&Recipe) -> Value + Send + 'static,
    ) -> BoxFuture<'static, Option<ItemId>> {
        let load = Arc::clone(self);
        let kind = COLLECTIONS.iter().position(|(name, _)| *name == collection).unwrap_or_default();
        let task = tokio::spawn(async move {
            let members = Members::read(make(&load.recipe).to_string().as_bytes());
            let members = members.ok().flatten().expect("a test item is an object");
            let options = WriteOptions::by(Caller::service("seed"));
            match load.use_cases[kind].create(&options, parent, members).await {
                Ok(written) => {
                    load.stored[kind].fetch_add(1, Ordering::Relaxed);
                    load.bar.inc(1);
                    Some(written.shown.item.id)
                }
                Err(cause) => {
                    load.halt(format!("cannot store test data: {cause}; before that,"));
                    None
                }
            }
        });
        Box::pin(joined(task))
    }

    fn halt(&self, cause: String) -> bool {
        self.halted.set(cause).is_err()
    }
}
