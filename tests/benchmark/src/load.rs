//! Keeps connections busy for a while and counts what comes back.
//!
//! All connections run as one task on the current thread: no locks, no hand-over between threads,
//! so that the generator takes as little as it can from the server it shares the machine with.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use futures_util::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::task::unconstrained;

use crate::connection::Connection;
use crate::work::{Requests, Work};

/// A turn at full load ends early after this many requests, so that creating is bounded in space too.
const MOST_REQUESTS: u64 = 1_000_000;

/// A turn ends early after this many failures: it is lost anyway.
const MOST_FAILURES: u64 = 1_000;

/// The longest latency that is recorded, in microseconds.
const LONGEST_LATENCY: u64 = 600_000_000;

/// How long one answer may take before the run is given up.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Tally {
    latencies: Histogram<u64>,
    pub(super) failures: u64,
    pub(super) first_failure: Option<String>,
    pub(super) elapsed: Duration,
}

/// Connections, each with one request in flight.
pub(super) struct Load(Vec<Connection>);

impl Load {
    pub(super) async fn open(addresses: &[SocketAddr], count: u16) -> Result<Self> {
        let addresses = addresses.iter().cycle().take(count.into());
        Ok(Self(try_join_all(addresses.map(|address| Connection::open(*address))).await?))
    }

    /// Sends the requests that `source` writes: as many as possible, or at a rate for each second.
    /// At a rate, latency counts from the time when the request was due.
    pub(super) async fn repeat(
        &mut self,
        source: &impl Fn(&mut Rng, &mut Vec<u8>),
        time: Duration,
        rate: Option<f64>,
    ) -> Result<Tally> {
        let latencies = Histogram::new_with_bounds(1, LONGEST_LATENCY, 3)?;
        let tally =
            RefCell::new(Tally { latencies, failures: 0, first_failure: None, elapsed: time });
        let begun = Instant::now();
        let count = self.0.len() as f64;
        let interval = rate.map(|rate| Duration::from_secs_f64(count / rate));
        let all = self.0.iter_mut().zip(0_u32..).map(async |(connection, number)| {
            let (mut random, mut request) = (Rng::with_seed(number.into()), Vec::new());
            let mut due = begun + interval.unwrap_or_default().mul_f64(f64::from(number) / count);
            while due.max(Instant::now()) < begun + time && !tally.borrow().is_full(rate) {
                if rate.is_some() {
                    tokio::time::sleep_until(due.into()).await;
                }
                request.clear();
                source(&mut random, &mut request);
                let outcome = connection.exchange(&request).await;
                let now = Instant::now();
                tally.borrow_mut().count(now - due);
                due = interval.map_or(now, |interval| due + interval);
                match outcome {
                    Ok(200..300) => {}
                    Ok(status) => tally.borrow_mut().fail(refusal(status, connection)),
                    Err(error) => {
                        tally.borrow_mut().fail(format!("{error:#}"));
                        connection.reopen().await?;
                    }
                }
            }
            anyhow::Ok(())
        });
        let all = unconstrained(try_join_all(all));
        let patience = tokio::time::timeout(time + PATIENCE, all);
        patience.await.with_context(|| format!("no answer for {PATIENCE:?}"))??;
        Ok(Tally { elapsed: begun.elapsed(), ..tally.into_inner() })
    }

    /// Creates this number of items with the requests that `write` writes, and returns their ids by number.
    pub(super) async fn create(
        &mut self,
        count: usize,
        write: impl Fn(usize, &mut Vec<u8>),
    ) -> Result<Vec<String>> {
        let (ids, next) = (RefCell::new(vec![String::new(); count]), Cell::new(0));
        let all = self.0.iter_mut().map(async |connection| {
            let mut request = Vec::new();
            while next.get() < count {
                let number = next.replace(next.get() + 1);
                write(number, &mut request);
                let body = accepted(connection, &request).await?;
                let created: serde_json::Value =
                    serde_json::from_slice(body).context("the answer to a POST is not JSON")?;
                let id = created["id"].as_str().context("the answer to a POST has no id")?;
                id.clone_into(&mut ids.borrow_mut()[number]);
            }
            anyhow::Ok(())
        });
        try_join_all(all).await?;
        Ok(ids.into_inner())
    }

    /// The mean length of the answers to a sample of this size.
    pub(super) async fn mean_answer(
        &mut self,
        work: Work,
        requests: &Requests,
        sample: usize,
    ) -> Result<usize> {
        let connection = self.0.first_mut().context("no connection")?;
        let (mut random, mut request, mut total) = (Rng::with_seed(7), Vec::new(), 0);
        for _ in 0..sample {
            requests.write(work, &mut random, &mut request);
            total += accepted(connection, &request).await?.len();
        }
        Ok(total / sample)
    }
}

impl Tally {
    pub(super) fn requests(&self) -> f64 {
        self.latencies.len() as f64
    }

    pub(super) fn rate(&self) -> f64 {
        self.requests() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// In milliseconds.
    pub(super) fn latency(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1_000.0
    }

    fn is_full(&self, rate: Option<f64>) -> bool {
        let is_long = rate.is_none() && self.latencies.len() >= MOST_REQUESTS;
        is_long || self.failures >= MOST_FAILURES
    }

    fn count(&mut self, latency: Duration) {
        self.latencies.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
    }

    fn fail(&mut self, reason: String) {
        self.failures += 1;
        self.first_failure.get_or_insert(reason);
    }
}

pub(super) async fn accepted<'a>(
    connection: &'a mut Connection,
    request: &[u8],
) -> Result<&'a [u8]> {
    let answer = tokio::time::timeout(PATIENCE, connection.exchange(request));
    let status = answer.await.context("no answer")??;
    if !(200..300).contains(&status) {
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        bail!("{}: {}", line.escape_ascii(), refusal(status, connection));
    }
    ensure!(!connection.body().is_empty(), "an empty answer");
    Ok(connection.body())
}

fn refusal(status: u16, connection: &Connection) -> String {
    let body: String = String::from_utf8_lossy(connection.body()).chars().take(300).collect();
    format!("status {status}: {body}")
}
