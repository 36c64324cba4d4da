//! The memory that all requests together may take.

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

use crate::problem::Problem;

/// How long a request waits for its reservation.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// Bounds of the time until memory is free, in seconds.
const SECONDS: [f64; 15] =
    [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Memory that is reserved in KiB, first come, first served.
pub struct MemoryBudget {
    whole: u32,
    free: Arc<Semaphore>,
    state: Arc<BudgetState>,
}

/// The state of a budget, for its metrics.
#[derive(Debug)]
pub struct BudgetState {
    name: &'static str,
    whole: u32,
    free: Arc<Semaphore>,
    waits: Histogram,
    refused: Counter,
}

/// The budgets of a service, for their metrics.
#[derive(Debug)]
pub struct BudgetStates(pub Vec<Arc<BudgetState>>);

impl Collector for BudgetStates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(budgets) = self;
        let name = "proposal_service_memory_budget_bytes";
        let help =
            "Memory that requests may reserve, by budget: what is reserved now, and what is free.";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for budget in budgets {
            let free = budget.free.available_permits();
            let reserved = (budget.whole as usize).saturating_sub(free);
            for (state, kib) in [("reserved", reserved), ("free", free)] {
                let labels = [("budget", budget.name), ("state", state)];
                family.encode_family(&labels)?.encode_gauge(&(kib * 1024))?;
            }
        }
        let name = "proposal_service_memory_wait_seconds";
        let help = "Time that requests waited for memory, by budget.";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for budget in budgets {
            budget.waits.encode(family.encode_family(&[("budget", budget.name)])?)?;
        }
        let name = "proposal_service_memory_refused";
        let help = "Requests that were refused because a memory budget stayed used up, by budget.";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for budget in budgets {
            budget.refused.encode(family.encode_family(&[("budget", budget.name)])?)?;
        }
        Ok(())
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
        let (waits, refused) = (Histogram::new(SECONDS), Counter::default());
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
            self.state.waits.observe(0.0);
            return Ok(reservation);
        }
        let (kib, began) = (self.kib(bytes), Instant::now());
        let permit = timeout(QUEUE_TIMEOUT, Arc::clone(&self.free).acquire_many_owned(kib)).await;
        self.state.waits.observe(began.elapsed().as_secs_f64());
        let Ok(Ok(permit)) = permit else {
            self.state.refused.inc();
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
