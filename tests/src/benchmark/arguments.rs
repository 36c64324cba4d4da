//! What a run measures: the command line, bounded so that no run is endless.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::work::Work;

/// Measures the service against a bare poem route over loopback, in one run, taking turns.
///
/// Build first, each by itself so that the service is built as it is shipped:
/// `cargo build --release -p bootstrap && cargo build --release -p tests --bins`.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// The stores to run the service on; none measures the references alone. PostgreSQL needs `TEST_POSTGRES_URL`, a superuser's.
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
    /// What is measured. `create` always comes last, because it makes the collection grow.
    #[arg(long, value_delimiter = ',', default_value = "item,page,create,replace,mix")]
    pub(super) work: Vec<Work>,
    /// Where the SQLite file goes; it should lie on a real disk. Default: the temporary folder.
    #[arg(long)]
    pub(super) folder: Option<PathBuf>,
    /// Print the result as Markdown.
    #[arg(long)]
    pub(super) markdown: bool,
}

/// A store the service can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Store {
    Sqlite,
    Postgres,
}

impl Arguments {
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
    use clap::{CommandFactory, Parser};

    use super::{Arguments, Work};

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn create_is_measured_last() {
        let works = Arguments::parse_from(["benchmark", "--work", "create,item,create"]).works();
        assert_eq!(works, [Work::Item, Work::Create]);
    }
}
