//! The memory that all requests together may take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use application::metrics::{Collector, Counter, Histogram, Instrumented, Reading};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::metrics::{MEMORY, MEMORY_REFUSED, MEMORY_WAIT};
use crate::problem::Problem;

/// How long a request waits for its reservation.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// Memory that is reserved in KiB, first come, first served.
pub struct MemoryBudget {
    whole: u32,
    free: Arc<Semaphore>,
    state: Arc<BudgetState>,
}

/// The state of a budget, for its metrics.
pub struct BudgetState {
    name: &'static str,
    whole: u32,
    free: Arc<Semaphore>,
    waits: Histogram,
    refused: Counter,
}

impl Instrumented for BudgetState {
    fn collect(&self, collector: &mut dyn Collector) {
        let bytes = |kib: usize| Reading::Count(kib as u64 * 1024);
        let free = self.free.available_permits();
        let reserved = (self.whole as usize).saturating_sub(free);
        let named = ("budget", self.name);
        collector.take(&MEMORY, &[named, ("state", "reserved")], bytes(reserved));
        collector.take(&MEMORY, &[named, ("state", "free")], bytes(free));
        collector.take(&MEMORY_WAIT, &[named], Reading::Histogram(&self.waits));
        collector.take(&MEMORY_REFUSED, &[named], self.refused.read());
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct MemoryReservation(OwnedSemaphorePermit);

impl MemoryBudget {
    /// A budget in MiB, by the name that its metrics have.
    pub fn of_mib(name: &'static str, mib: u16) -> Self {
        let whole = u32::from(mib) * 1024;
        let free = Arc::new(Semaphore::new(whole as usize));
        let (waits, refused) = (Histogram::default(), Counter::default());
        let state = BudgetState { name, whole, free: Arc::clone(&free), waits, refused };
        Self { whole, free, state: Arc::new(state) }
    }

    /// Returns its state, for its metrics.
    pub fn state(&self) -> Arc<BudgetState> {
        Arc::clone(&self.state)
    }

    /// Reserves bytes; more than the whole budget counts as the whole.
    ///
    /// # Errors
    /// 503 when the budget stays used up.
    pub async fn reserve(&self, bytes: usize) -> Result<MemoryReservation, Problem> {
        if let Some(reservation) = self.try_reserve(bytes) {
            self.state.waits.record(0.0);
            return Ok(reservation);
        }
        let (kib, began) = (self.kib(bytes), Instant::now());
        let permit = timeout(QUEUE_TIMEOUT, Arc::clone(&self.free).acquire_many_owned(kib)).await;
        self.state.waits.record_time(began.elapsed());
        let Ok(Ok(permit)) = permit else {
            self.state.refused.increment();
            return Err(Problem::unavailable("Too many large requests are being served at once."));
        };
        Ok(MemoryReservation(permit))
    }

    /// Reserves bytes if they are free now and nobody waits for them.
    pub fn try_reserve(&self, bytes: usize) -> Option<MemoryReservation> {
        let free = Arc::clone(&self.free).try_acquire_many_owned(self.kib(bytes));
        free.ok().map(MemoryReservation)
    }

    fn kib(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(self.whole)
    }
}

impl MemoryReservation {
    /// Gives back what is more than so many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        let more = self.0.num_permits().saturating_sub(bytes.div_ceil(1024));
        drop(self.0.split(more));
    }

    /// Makes bytes that keep the reservation for as long as any of them wait to be sent.
    pub fn held_by(self, text: String) -> Bytes {
        Bytes::from_owner(Held { text, _reservation: self })
    }
}

struct Held {
    text: String,
    _reservation: MemoryReservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
