//! The command line of a run, bounded so that no run is endless.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::work::Work;

/// Measures the service over loopback, in one run and taking turns, against a bare poem route and a
/// hand-written axum service, or (`--growth`) against itself on larger stores.
///
/// Build first, each by itself so that the service is built as it is shipped:
/// `cargo build --release -p bootstrap && cargo build --release -p benchmark`.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// The stores to run the service on; none measures the references alone. PostgreSQL needs
    /// `TEST_POSTGRES_URL`, a superuser's.
    #[arg(long, value_delimiter = ',', num_args = 0.., default_value = "sqlite,postgres")]
    pub(super) stores: Vec<Store>,
    /// Seconds of one turn: one work on one subject in one round, after a tenth of it to warm up.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(super) seconds: u64,
    /// Keep-alive connections, each with one request in flight.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) connections: u16,
    /// How often each work visits each subject.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(super) rounds: u16,
    /// Proposals in the store before the first turn.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub(super) proposals: u32,
    /// The references that the service is measured against: none, a bare poem route, a hand-written axum service
    /// on each of the stores, and the same with a log, totals and indexed columns.
    #[arg(long, value_delimiter = ',', num_args = 0.., default_value = "bare,minimal,logged")]
    pub(super) references: Vec<Reference>,
    /// Measure the service with these too, each against itself without.
    #[arg(long, value_delimiter = ',')]
    with: Vec<Extra>,
    /// Another binary of the service, such as one of an earlier commit, measured on separate stores
    /// in turns with the service.
    #[arg(long, value_name = "BINARY")]
    pub(super) baseline: Option<PathBuf>,
    /// The work that is measured. `create` always comes last, because it makes the collection grow.
    #[arg(long, value_delimiter = ',', default_value = "item,page,create,replace,mix")]
    pub(super) work: Vec<Work>,
    /// Measures instead what it costs to have more proposals: a store of each kind for each of
    /// these numbers. `proposal-service seed` fills them.
    #[arg(long, value_name = "PROPOSALS", value_delimiter = ',', num_args = 1.., conflicts_with_all = ["proposals", "references", "work", "baseline"],
          value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub(super) growth: Vec<u32>,
    /// Compares instead the writes of this number of instances on one PostgreSQL with those of one
    /// instance, and creates with idempotency keys with those without.
    #[arg(long, conflicts_with_all = ["stores", "proposals", "references", "work", "baseline", "growth"],
          value_parser = clap::value_parser!(u16).range(2..=16))]
    pub(super) instances: Option<u16>,
    /// Measures instead the storage of this number of small items, and compares reads of them with those of
    /// the smallest of these numbers. Stores on SQLite stay in `--folder`, and are used again.
    #[arg(long, value_name = "ITEMS", value_delimiter = ',', num_args = 1.., conflicts_with_all = ["proposals", "references", "work", "baseline", "growth", "instances"],
          value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    pub(super) capacity: Vec<u32>,
    /// Keeps the service at 0.3 of its full load for this number of minutes, with `--proposals` small items.
    /// One item in a hundred is replaced repeatedly. Fails if memory, latency, descriptors, bytes or the lag
    /// of the index grow beyond their bounds.
    #[arg(long, value_name = "MINUTES", conflicts_with_all = ["references", "work", "baseline", "growth", "instances", "capacity"],
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) soak: Option<u32>,
    /// Where the SQLite files go; they should lie on a real disk. Default: the temporary folder.
    #[arg(long)]
    pub(super) folder: Option<PathBuf>,
    /// Print the result as Markdown.
    #[arg(long)]
    pub(super) markdown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A reference that the service is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Reference {
    /// A bare poem route: constant bytes.
    Bare,
    /// A hand-written service: axum, without hypermedia, on the same store.
    Minimal,
    /// The same with the service's obligations: a log with members, totals, indexed columns.
    Logged,
}

/// Optional work of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Extra {
    /// Twenty business rules in a file.
    Rules,
    /// An identity file, and in each request an access token of one of 1,000 callers.
    Callers,
    /// An admin listener, so that all metrics are recorded.
    Metrics,
    /// The same, with one request in a hundred traced.
    Traces,
    /// Policies about items, in three services: each of 26 callers reads the proposals that they created,
    /// or those that they are assigned to, or all whose latest status is approved.
    Policies,
    #[value(skip)]
    Own,
    #[value(skip)]
    Assigned,
    #[value(skip)]
    Approved,
}

impl Extra {
    pub(super) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Arguments {
    pub(super) fn extras(&self) -> impl Iterator<Item = Extra> {
        let policies = [Extra::Own, Extra::Assigned, Extra::Approved];
        let extras = move |extra: &Extra| match extra {
            Extra::Policies => policies.to_vec(),
            extra => vec![*extra],
        };
        self.with.iter().flat_map(extras)
    }

    /// The numbers of items of `--growth` or `--capacity`, from small to large.
    pub(super) fn sizes(&self) -> Vec<u32> {
        let mut sizes = [&self.growth[..], &self.capacity].concat();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The chosen works, each once, in the order in which they are measured.
    pub(super) fn works(&self) -> Vec<Work> {
        let mut works = self.work.clone();
        works.sort_unstable();
        works.dedup();
        works
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Arguments, Work};

    #[test]
    fn growth_is_measured_from_small_to_large_and_create_last() {
        let parsed =
            |arguments| Arguments::try_parse_from([&["benchmark"][..], arguments].concat());
        let sizes = parsed(&["--growth", "1000000,10000"]).map(|parsed| parsed.sizes());
        assert_eq!(sizes.unwrap(), [10_000, 1_000_000]);
        let works = parsed(&["--work", "create,item,create"]).map(|parsed| parsed.works());
        assert_eq!(works.unwrap(), [Work::Item, Work::Create]);
        assert!(parsed(&["--growth", "1000,10000", "--work", "item"]).is_err());
    }
}
