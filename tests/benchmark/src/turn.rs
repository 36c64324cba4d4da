//! One turn: a running server is kept busy for a while, and what that took of the machine.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;

use crate::connection::Connection;
use crate::database::Database;
use crate::load::{Load, Tally};
use crate::process::{Server, generator_cpu_time, machine_cpu_time};

/// How long a store may take to be indexed.
const PATIENCE: Duration = Duration::from_hours(6);

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
    pub(super) settling: Option<(Duration, CpuTime)>,
}

/// Processor time in seconds.
#[derive(Clone, Copy, Default)]
pub(super) struct CpuTime {
    pub(super) server: f64,
    /// The whole database server, where there is one and it can be seen.
    pub(super) database: Option<f64>,
    pub(super) generator: f64,
    /// All of the machine, those above among it.
    machine: f64,
}

impl Running {
    /// One turn, on new connections, after some time to warm up.
    pub(super) async fn turn(
        &self,
        source: &impl Fn(&mut Rng, &mut Vec<u8>),
        connections: u16,
        [warm_up, time]: [Duration; 2],
    ) -> Result<Measurement> {
        let failure = || format!("the server's last words:\n{}\n", self.server.last_words());
        let mut load = Load::open(&[self.server.address], connections).await?;
        self.server.forget_peak_memory()?;
        load.repeat(source, warm_up, None).await.with_context(failure)?;
        let wal_before = self.wal_bytes()?;
        let (before, calls_before) = (self.cpu_time()?, self.server.write_calls()?);
        let tally = load.repeat(source, time, None).await.with_context(failure)?;
        let cpu = self.cpu_time()?.since(before);
        let write_calls = self.server.write_calls()? - calls_before;
        let wal_bytes = self.wal_bytes()?.zip(wal_before).map(|(after, before)| after - before);
        let peak_memory = self.server.peak_memory()?;
        Ok(Measurement { tally, cpu, peak_memory, write_calls, wal_bytes, settling: None })
    }

    /// Waits until the service has indexed all its writes, so that indexing takes no time from the
    /// next turn: a search without matches is answered only when everything is indexed.
    pub(super) async fn settle(&self, authorization: &str) -> Result<(Duration, CpuTime)> {
        let (start, before) = (Instant::now(), self.cpu_time()?);
        let mut connection = Connection::open(self.server.address).await?;
        let search = format!(
            "GET /v1/proposals?q=zzzz&page_size=1&total=none HTTP/1.1\r\nHost: localhost\r\n{authorization}\r\n"
        );
        loop {
            let status = connection.exchange(search.as_bytes()).await?;
            if status == 200 {
                return Ok((start.elapsed(), self.cpu_time()?.since(before)));
            }
            let is_late = status == 503 && start.elapsed() < PATIENCE;
            ensure!(is_late, "a search is answered {status}: {}", self.server.last_words());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
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
}

impl CpuTime {
    pub(super) fn with(self, other: Self, of_both: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            server: of_both(self.server, other.server),
            database: self.database.zip(other.database).map(|(one, other)| of_both(one, other)),
            generator: of_both(self.generator, other.generator),
            machine: of_both(self.machine, other.machine),
        }
    }

    fn since(self, before: Self) -> Self {
        self.with(before, |after, before| (after - before).max(0.0))
    }

    pub(super) fn service(self) -> f64 {
        self.server + self.database.unwrap_or_default()
    }

    /// The processor time of processes that have no part in the benchmark.
    pub(super) fn others(self) -> f64 {
        (self.machine - self.service() - self.generator).max(0.0)
    }
}
