//! One turn: a running server is kept busy for a while, and what that took of the machine.

use std::ops::Add;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;

use crate::arguments::Arguments;
use crate::connection::Connection;
use crate::database::Database;
use crate::load::{Load, Source, Tally, accepted};
use crate::process::{Server, generator_cpu_time, machine_cpu_time};
use crate::work::Requests;

/// A running server and the PostgreSQL database it works on, if any. The server ends first: it
/// holds connections to the database.
pub(super) struct Running {
    pub(super) server: Server,
    pub(super) database: Option<Database>,
}

pub(super) struct Measurement {
    pub(super) tally: Tally,
    pub(super) cpu: CpuTime,
    /// The most memory the server held, in bytes.
    pub(super) peak_memory: u64,
    pub(super) write_calls: u64,
    /// The bytes of PostgreSQL's write-ahead log, where whole pages are not written to it.
    pub(super) wal_bytes: Option<u64>,
    pub(super) settling: Option<Settling>,
}

pub(super) struct Settling {
    pub(super) elapsed: Duration,
    pub(super) cpu: CpuTime,
}

/// A search that finds nothing, which is known only when everything is indexed.
struct Search<'a>(&'a Requests);

impl Source for Search<'_> {
    fn write(&self, random: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()> {
        request.clear();
        request.extend_from_slice(
            b"GET /v1/proposals?q=zzzz&page_size=1&total=none HTTP/1.1\r\nhost: localhost\r\n",
        );
        self.0.write_token(random, request)?;
        request.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn title(&self) -> String {
        "search".to_owned()
    }
}

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
    pub(super) async fn turn(
        &self,
        source: &impl Source,
        arguments: &Arguments,
    ) -> Result<Measurement> {
        let time = Duration::from_secs(arguments.seconds);
        let mut load = Load::open(self.server.address, arguments.connections).await?;
        self.server.forget_peak_memory()?;
        load.repeat(source, time / 10).await.with_context(|| self.failure(source))?;
        let wal_before = self.wal_bytes()?;
        let (before, calls_before) = (self.cpu_time()?, self.server.write_calls()?);
        let tally = load.repeat(source, time).await.with_context(|| self.failure(source))?;
        let cpu = self.cpu_time()?.since(before);
        let write_calls = self.server.write_calls()? - calls_before;
        let wal_bytes = self.wal_bytes()?.zip(wal_before).map(|(after, before)| after - before);
        let peak_memory = self.server.peak_memory()?;
        Ok(Measurement { tally, cpu, peak_memory, write_calls, wal_bytes, settling: None })
    }

    /// Lets the service do what it put off, so that it does not do it in the turn of another.
    pub(super) async fn settle(&self, requests: &Requests) -> Result<Settling> {
        let (start, before) = (Instant::now(), self.cpu_time()?);
        let mut connection = Connection::open(self.server.address).await?;
        accepted(&mut connection, &Search(requests), &mut Rng::with_seed(0)).await?;
        Ok(Settling { elapsed: start.elapsed(), cpu: self.cpu_time()?.since(before) })
    }

    fn wal_bytes(&self) -> Result<Option<u64>> {
        let database = self.database.as_ref().filter(|database| !database.writes_full_pages());
        database.map(Database::wal_bytes).transpose()
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
            database: self
                .database
                .zip(before.database)
                .map(|(after, before)| after.saturating_sub(before)),
            generator: self.generator.saturating_sub(before.generator),
            machine: self.machine.saturating_sub(before.machine),
        }
    }

    pub(super) fn service(self) -> Duration {
        self.server + self.database.unwrap_or_default()
    }

    /// The processor time of processes that have no part in the benchmark.
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
