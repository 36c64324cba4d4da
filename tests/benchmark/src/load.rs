//! Keeps connections busy for a while and counts what comes back.
//!
//! All connections run as one task on the current thread: no locks, no hand-over between threads,
//! so that the generator takes as little as it can from the server it shares the machine with.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use futures_util::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::task::unconstrained;

use crate::connection::Connection;
use crate::work::{Group, Requests, Work};

pub(super) trait Source {
    fn write(&self, random: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()>;

    fn title(&self) -> String;
}

/// A turn ends early after this many requests, so that creating is bounded in space too.
const MOST_REQUESTS: u64 = 1_000_000;

/// A turn ends early after this many failures: it is lost anyway.
const MOST_FAILURES: u64 = 1_000;

/// The longest latency that is recorded, in microseconds.
const LONGEST_LATENCY: u64 = 60_000_000;

/// How long one answer may take before the run is given up.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Tally {
    pub(super) latencies: Histogram<u64>,
    pub(super) failures: u64,
    pub(super) first_failure: Option<String>,
    pub(super) elapsed: Duration,
}

pub(super) struct Load {
    connections: Vec<Connection>,
}

impl Load {
    pub(super) async fn open(address: SocketAddr, count: u16) -> Result<Self> {
        Self::open_on(&[address], count).await
    }

    pub(super) async fn open_on(addresses: &[SocketAddr], count: u16) -> Result<Self> {
        let addresses = addresses.iter().cycle().take(count.into());
        let connections = addresses.map(|address| Connection::open(*address));
        Ok(Self { connections: try_join_all(connections).await? })
    }

    pub(super) async fn repeat(&mut self, source: &impl Source, time: Duration) -> Result<Tally> {
        let tally = RefCell::new(Tally::new()?);
        let start = Instant::now();
        let each = self.connections.iter_mut().zip(0_u64..);
        let all = try_join_all(each.map(|(connection, seed)| {
            let random = Rng::with_seed(seed);
            repeat_until(start + time, connection, random, source, &tally)
        }));
        let patience = tokio::time::timeout(time + PATIENCE, unconstrained(all));
        patience.await.with_context(|| format!("no answer for {} s", PATIENCE.as_secs()))??;
        Ok(Tally { elapsed: start.elapsed(), ..tally.into_inner() })
    }

    pub(super) async fn create(
        &mut self,
        group: Group,
        requests: &Requests,
        count: u32,
    ) -> Result<Vec<String>> {
        let ids = RefCell::new(Vec::new());
        let open = RefCell::new(0..count);
        try_join_all(
            self.connections
                .iter_mut()
                .map(|connection| create_while_open(connection, group, requests, &open, &ids)),
        )
        .await?;
        Ok(ids.into_inner())
    }

    pub(super) async fn mean_answer(
        &mut self,
        (work, group): (Work, Group),
        requests: &Requests,
        sample: usize,
    ) -> Result<usize> {
        let connection = self.connections.first_mut().context("no connection")?;
        let mut random = Rng::with_seed(7);
        let mut total = 0;
        for _ in 0..sample {
            total += accepted(connection, &requests.of(work, group), &mut random).await?.len();
        }
        Ok(total / sample)
    }
}

impl Tally {
    pub(super) fn new() -> Result<Self> {
        let latencies = Histogram::new_with_bounds(1, LONGEST_LATENCY, 3)?;
        Ok(Self { latencies, failures: 0, first_failure: None, elapsed: Duration::ZERO })
    }

    pub(super) fn requests(&self) -> u64 {
        self.latencies.len()
    }

    fn is_full(&self) -> bool {
        self.requests() >= MOST_REQUESTS || self.failures >= MOST_FAILURES
    }

    fn count(&mut self, latency: Duration) {
        self.latencies.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
    }

    fn fail(&mut self, reason: impl FnOnce() -> String) {
        self.failures += 1;
        self.first_failure.get_or_insert_with(reason);
    }
}

async fn repeat_until(
    end: Instant,
    connection: &mut Connection,
    mut random: Rng,
    source: &impl Source,
    tally: &RefCell<Tally>,
) -> Result<()> {
    let mut request = Vec::new();
    let mut start = Instant::now();
    while start < end && !tally.borrow().is_full() {
        source.write(&mut random, &mut request)?;
        let outcome = connection.exchange(&request).await;
        let now = Instant::now();
        tally.borrow_mut().count(now - start);
        start = now;
        match outcome {
            Ok(200..300) => {}
            Ok(status) => tally.borrow_mut().fail(|| refusal(status, connection)),
            Err(error) => {
                tally.borrow_mut().fail(|| format!("{error:#}"));
                connection.reopen().await?;
            }
        }
    }
    Ok(())
}

async fn create_while_open(
    connection: &mut Connection,
    group: Group,
    requests: &Requests,
    open: &RefCell<std::ops::Range<u32>>,
    ids: &RefCell<Vec<String>>,
) -> Result<()> {
    loop {
        let Some(number) = open.borrow_mut().next() else { return Ok(()) };
        let body = accepted(
            connection,
            &requests.of(Work::Create, group),
            &mut Rng::with_seed(number.into()),
        )
        .await?;
        let created: serde_json::Value =
            serde_json::from_slice(body).context("the answer to a POST is not JSON")?;
        let id = created["id"].as_str().context("the answer to a POST has no id")?;
        ids.borrow_mut().push(id.to_owned());
    }
}

pub(super) async fn accepted<'a>(
    connection: &'a mut Connection,
    source: &impl Source,
    random: &mut Rng,
) -> Result<&'a [u8]> {
    let mut request = Vec::new();
    source.write(random, &mut request)?;
    let status = tokio::time::timeout(PATIENCE, connection.exchange(&request))
        .await
        .context("no answer")??;
    if !(200..300).contains(&status) {
        bail!("{}: {}", source.title(), refusal(status, connection));
    }
    ensure!(!connection.body().is_empty(), "{}: an empty answer", source.title());
    Ok(connection.body())
}

fn refusal(status: u16, connection: &Connection) -> String {
    let body: String = String::from_utf8_lossy(connection.body()).chars().take(300).collect();
    format!("status {status}: {body}")
}
