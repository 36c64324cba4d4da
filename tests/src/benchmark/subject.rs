//! What is measured: the service on a store, or a reference; and one turn of it.
//!
//! A further reference (say, a hand-written service on the same store) is one more way to start a `Subject`.

use std::ops::Add;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::arguments::{Arguments, Store};
use super::database::Database;
use super::load::{Load, Tally};
use super::process::{Server, generator_cpu_time, machine_cpu_time};
use super::program::program;
use super::work::{AnswerSizes, Bodies, Requests, Work};

/// How many answers are averaged to know how long an answer is.
const SAMPLE: usize = 200;

/// A running server and the requests it gets.
pub(super) struct Subject<'a> {
    pub(super) name: &'static str,
    server: Server,
    database: Option<&'a Database>,
    requests: Requests,
    /// The memory it took until its first turn, in bytes.
    pub(super) memory_before: u64,
}

/// One turn: one work, one subject, one round.
pub(super) struct Measurement {
    pub(super) tally: Tally,
    pub(super) cpu: CpuTime,
    /// The most memory the server held, in bytes.
    pub(super) peak_memory: u64,
}

/// Processor time, by who spent it.
#[derive(Clone, Copy, Default)]
pub(super) struct CpuTime {
    pub(super) server: Duration,
    /// The whole database server, where there is one and it can be seen.
    pub(super) database: Option<Duration>,
    pub(super) generator: Duration,
    /// All of the machine, those above among it.
    machine: Duration,
}

impl<'a> Subject<'a> {
    /// The service on a fresh store that holds the proposals.
    pub(super) async fn service(
        store: Store,
        arguments: &Arguments,
        bodies: Bodies,
        folder: &Path,
        database: Option<&'a Database>,
    ) -> Result<Self> {
        let (name, url, database) = match store {
            Store::Sqlite => ("service on SQLite", format!("sqlite://{}/benchmark.db?mode=rwc", folder.display()), None),
            Store::Postgres => {
                let database = database.context("no database")?;
                ("service on PostgreSQL", database.url().to_owned(), Some(database))
            }
        };
        let server = Server::start(&program("proposal-service")?, &["--database-url", &url], folder).await?;
        let requests = Requests::to_service(bodies, arguments.proposals);
        let mut subject = Self { name, server, database, requests, memory_before: 0 };
        subject.fill(arguments).await.with_context(|| format!("{name}: cannot fill the store"))?;
        Ok(subject)
    }

    /// A poem route that answers constant bytes of these lengths.
    pub(super) async fn bare_route(arguments: &Arguments, bodies: Bodies, sizes: AnswerSizes, folder: &Path) -> Result<Self> {
        let server = Server::start(&program("bare-poem")?, &[], folder).await?;
        let requests = Requests::to_reference(bodies, arguments.proposals, sizes);
        let memory_before = server.peak_memory()?;
        Ok(Self { name: "bare poem route", server, database: None, requests, memory_before })
    }

    async fn fill(&mut self, arguments: &Arguments) -> Result<()> {
        let mut load = Load::open(self.server.address, arguments.connections).await?;
        let ids = load.create(&self.requests, arguments.proposals).await?;
        self.requests.set_ids(ids);
        if let Some(database) = self.database {
            database.analyze();
        }
        self.memory_before = self.server.peak_memory()?;
        Ok(())
    }

    /// How long its answers are.
    pub(super) async fn answer_sizes(&self) -> Result<AnswerSizes> {
        let mut load = Load::open(self.server.address, 1).await?;
        Ok(AnswerSizes {
            item: load.mean_answer(Work::Item, &self.requests, SAMPLE).await?,
            page: load.mean_answer(Work::Page, &self.requests, 1).await?,
            deep_page: load.mean_answer(Work::DeepPage, &self.requests, 1).await?,
        })
    }

    /// One turn of a work, on new connections, after a tenth of its time to warm up.
    pub(super) async fn measure(&self, work: Work, arguments: &Arguments) -> Result<Measurement> {
        let time = Duration::from_secs(arguments.seconds);
        let mut load = Load::open(self.server.address, arguments.connections).await?;
        self.server.forget_peak_memory()?;
        load.repeat(work, &self.requests, time / 10).await.with_context(|| self.failure(work))?;
        let before = self.cpu_time()?;
        let tally = load.repeat(work, &self.requests, time).await.with_context(|| self.failure(work))?;
        let cpu = self.cpu_time()?.since(before);
        Ok(Measurement { tally, cpu, peak_memory: self.server.peak_memory()? })
    }

    fn cpu_time(&self) -> Result<CpuTime> {
        Ok(CpuTime {
            server: self.server.cpu_time()?,
            database: self.database.map(Database::cpu_time).transpose()?.flatten(),
            generator: generator_cpu_time()?,
            machine: machine_cpu_time()?,
        })
    }

    fn failure(&self, work: Work) -> String {
        format!("{}, {}; the server's last words:\n{}\n", self.name, work.title(), self.server.last_words())
    }
}

impl CpuTime {
    fn since(self, before: Self) -> Self {
        Self {
            server: self.server.saturating_sub(before.server),
            database: self.database.zip(before.database).map(|(after, before)| after.saturating_sub(before)),
            generator: self.generator.saturating_sub(before.generator),
            machine: self.machine.saturating_sub(before.machine),
        }
    }

    /// What processes that have no part in the benchmark spent meanwhile.
    pub(super) fn others(self) -> Duration {
        self.machine.saturating_sub(self.server + self.database.unwrap_or_default() + self.generator)
    }
}

impl Add for CpuTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            server: self.server + other.server,
            database: self.database.zip(other.database).map(|(one, other)| one + other),
            generator: self.generator + other.generator,
            machine: self.machine + other.machine,
        }
    }
}
