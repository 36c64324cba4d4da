//! One turn: a running server is kept busy for a while, and what that took of the machine.

use std::ops::Add;
use std::time::Duration;

use anyhow::{Context, Result};

use super::arguments::Arguments;
use super::database::Database;
use super::load::{Load, Source, Tally};
use super::process::{Server, generator_cpu_time, machine_cpu_time};

/// A running server and the PostgreSQL database it works on, if any. The server ends first: it holds connections to the database.
pub(super) struct Running {
    pub(super) server: Server,
    pub(super) database: Option<Database>,
}

/// What one turn came to.
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

impl Running {
    /// One turn, on new connections, after a tenth of its time to warm up.
    pub(super) async fn turn(&self, source: &impl Source, arguments: &Arguments) -> Result<Measurement> {
        let time = Duration::from_secs(arguments.seconds);
        let mut load = Load::open(self.server.address, arguments.connections).await?;
        self.server.forget_peak_memory()?;
        load.repeat(source, time / 10).await.with_context(|| self.failure(source))?;
        let before = self.cpu_time()?;
        let tally = load.repeat(source, time).await.with_context(|| self.failure(source))?;
        let cpu = self.cpu_time()?.since(before);
        Ok(Measurement { tally, cpu, peak_memory: self.server.peak_memory()? })
    }

    fn cpu_time(&self) -> Result<CpuTime> {
        Ok(CpuTime {
            server: self.server.cpu_time()?,
            database: self.database.as_ref().map(Database::cpu_time).transpose()?.flatten(),
            generator: generator_cpu_time()?,
            machine: machine_cpu_time()?,
        })
    }

    fn failure(&self, source: &impl Source) -> String {
        format!("{}; the server's last words:\n{}\n", source.title(), self.server.last_words())
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

    /// What the server and its database spent.
    pub(super) fn service(self) -> Duration {
        self.server + self.database.unwrap_or_default()
    }

    /// What processes that have no part in the benchmark spent meanwhile.
    pub(super) fn others(self) -> Duration {
        self.machine.saturating_sub(self.service() + self.generator)
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
