//! The memory that all requests together may take.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::Problem;

/// How long a request waits for its reservation.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// Memory that is reserved in KiB, first come, first served.
pub struct MemoryBudget {
    whole: u32,
    free: Arc<Semaphore>,
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct MemoryReservation(OwnedSemaphorePermit);

impl MemoryBudget {
    /// A budget in MiB.
    pub fn of_mib(mib: u16) -> Self {
        let whole = u32::from(mib) * 1024;
        Self { whole, free: Arc::new(Semaphore::new(whole as usize)) }
    }

    /// Reserves bytes; more than the whole budget counts as the whole.
    ///
    /// # Errors
    /// 503 when the budget stays used up.
    pub async fn reserve(&self, bytes: usize) -> Result<MemoryReservation, Problem> {
        let kib = self.kib(bytes);
        match timeout(QUEUE_TIMEOUT, Arc::clone(&self.free).acquire_many_owned(kib)).await {
            Ok(Ok(permit)) => Ok(MemoryReservation(permit)),
            _ => Err(Problem::unavailable("Too many large requests are being served at once.")),
        }
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
