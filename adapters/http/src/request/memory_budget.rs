//! Admission control for the memory of large bodies, large responses and imports.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::{Problem, Result};

const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// Histogram bounds, in seconds.
const SECONDS: [f64; 15] =
    [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The factor from the size of members to the memory to receive, read, check, write and show them.
const WORK: usize = 6;

/// In bytes. Smaller reads reserve nothing.
const SMALL: usize = 384 << 10;

const MEDIUM: usize = 6 << 20;

const LARGE: usize = 2;

/// First come, first served. Each size class has its own memory, so that small requests do not wait
/// for large ones.
#[derive(Debug)]
pub struct MemoryBudget([SizeClass; 3]);

#[derive(Debug)]
struct SizeClass {
    name: &'static str,
    most: usize,
    /// In KiB.
    whole: u32,
    free: Arc<Semaphore>,
    waits: Histogram,
    refused: Counter,
}

#[derive(Debug)]
pub struct MemoryReservation {
    class: usize,
    permit: OwnedSemaphorePermit,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self([
            SizeClass::of_mib("small", SMALL, 32),
            SizeClass::of_mib("medium", MEDIUM, 36),
            SizeClass::of_mib("large", usize::MAX, 64),
        ])
    }
}

impl SizeClass {
    fn of_mib(name: &'static str, most: usize, mib: u16) -> Self {
        let whole = u32::from(mib) * 1024;
        let free = Arc::new(Semaphore::new(whole as usize));
        let (waits, refused) = (Histogram::new(SECONDS), Counter::default());
        Self { name, most, whole, free, waits, refused }
    }

    fn kib(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(self.whole)
    }
}

/// Members beyond the medium class take the whole large class, one request at a time.
pub const fn work_on(bytes: usize) -> usize {
    if bytes > MEDIUM / WORK { usize::MAX } else { WORK * bytes }
}

impl MemoryBudget {
    pub async fn reserve(&self, bytes: usize) -> Result<MemoryReservation> {
        self.reserve_in(self.class_of(bytes), bytes).await
    }

    pub fn try_reserve(&self, bytes: usize) -> Option<MemoryReservation> {
        self.try_in(self.class_of(bytes), bytes)
    }

    /// Reserves bytes in addition to a body's. A body in the large class holds all of it and needs
    /// no more. Others wait only for a larger class, so that they cannot deadlock.
    pub async fn reserve_more(
        &self,
        body: &MemoryReservation,
        bytes: usize,
    ) -> Result<Option<MemoryReservation>> {
        if body.class == LARGE {
            return Ok(None);
        }
        if let Some(reservation) = self.try_reserve(bytes) {
            return Ok(Some(reservation));
        }
        let class = self.class_of(bytes).max(body.class + 1);
        self.reserve_in(class, bytes).await.map(Some)
    }

    /// Reads, and replaces `held` with a reservation for the result. Without free memory it drops
    /// the result, waits and reads again, so a waiting request holds nothing.
    pub async fn read<T, E: Into<Problem>, F: Future<Output = Result<T, E>>>(
        &self,
        held: Option<MemoryReservation>,
        read: impl Fn() -> F,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<(T, Option<MemoryReservation>)> {
        let found = read().await.map_err(Into::into)?;
        let bytes = bytes(&found);
        let has_all = held.as_ref().is_some_and(|held| held.class == LARGE);
        if bytes <= SMALL || has_all {
            return Ok((found, held));
        }
        drop(held);
        if let Some(reservation) = self.try_reserve(bytes) {
            return Ok((found, Some(reservation)));
        }
        drop(found);
        let reservation = self.reserve(bytes).await?;
        Ok((read().await.map_err(Into::into)?, Some(reservation)))
    }

    /// Keeps the memory of a large body reserved until it is sent, since a client may read slowly.
    /// The reservation comes from `held`, or for a read from free memory.
    pub async fn body(
        &self,
        size: usize,
        held: Option<MemoryReservation>,
        make: impl FnOnce() -> String,
    ) -> Result<Bytes> {
        // Source and body are in memory at the same time.
        let held = match held {
            None if 2 * size > SMALL => Some(self.reserve(2 * size).await?),
            held => held,
        };
        Ok(sent(make(), held))
    }

    fn class_of(&self, bytes: usize) -> usize {
        self.0.iter().position(|class| bytes <= class.most).unwrap_or(LARGE)
    }

    fn try_in(&self, class: usize, bytes: usize) -> Option<MemoryReservation> {
        let free = Arc::clone(&self.0[class].free);
        let permit = free.try_acquire_many_owned(self.0[class].kib(bytes)).ok()?;
        Some(MemoryReservation { class, permit })
    }

    async fn reserve_in(&self, class: usize, bytes: usize) -> Result<MemoryReservation> {
        let SizeClass { free, waits, refused, .. } = &self.0[class];
        if let Some(reservation) = self.try_in(class, bytes) {
            waits.observe(0.0);
            return Ok(reservation);
        }
        let (kib, began) = (self.0[class].kib(bytes), Instant::now());
        let permit = timeout(QUEUE_TIMEOUT, Arc::clone(free).acquire_many_owned(kib)).await;
        waits.observe(began.elapsed().as_secs_f64());
        let Ok(Ok(permit)) = permit else {
            refused.inc();
            return Err(Problem::unavailable("Too many large requests are being served at once."));
        };
        Ok(MemoryReservation { class, permit })
    }
}

impl Collector for MemoryBudget {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let name = "proposal_service_memory_budget_bytes";
        let help = "Memory for requests, by budget and state (reserved or free).";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for class in &self.0 {
            let free = class.free.available_permits();
            let reserved = (class.whole as usize).saturating_sub(free);
            for (state, kib) in [("reserved", reserved), ("free", free)] {
                let labels = [("budget", class.name), ("state", state)];
                family.encode_family(&labels)?.encode_gauge(&(kib * 1024))?;
            }
        }
        let name = "proposal_service_memory_wait_seconds";
        let help = "Time that requests waited for memory, by budget.";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for class in &self.0 {
            class.waits.encode(family.encode_family(&[("budget", class.name)])?)?;
        }
        let name = "proposal_service_memory_refused";
        let help = "Requests that were refused because a memory budget was exhausted, by budget.";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for class in &self.0 {
            class.refused.encode(family.encode_family(&[("budget", class.name)])?)?;
        }
        Ok(())
    }
}

pub fn sent(text: String, held: Option<MemoryReservation>) -> Bytes {
    match held {
        Some(MemoryReservation { mut permit, .. }) if 2 * text.len() > SMALL => {
            let more = permit.num_permits().saturating_sub(text.len().div_ceil(1024));
            drop(permit.split(more));
            Bytes::from_owner(Held { text, _permit: permit })
        }
        _ => text.into(),
    }
}

struct Held {
    text: String,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
