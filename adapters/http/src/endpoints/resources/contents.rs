//! The limits of transfers of contents.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use application::ContentService;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use crate::problem::{Problem, kinds};

/// Transfers at a time.
const MOST_TRANSFERS: usize = 256;

/// In bytes per second of waiting for the client.
pub(super) const LEAST_RATE: u32 = 4 * 1024;

/// After a piece of a transfer, while other transfers wait.
const PAUSE: Duration = Duration::from_millis(1);

pub struct Contents {
    pub service: ContentService,
    /// The limit of a content in bytes.
    pub most: u64,
    places: Arc<Semaphore>,
    pub throttle: Throttle,
}

/// Leaves processor time to other requests: digests take half of the processors, and a transfer pauses
/// after each piece while others wait.
#[derive(Clone)]
pub struct Throttle(Arc<Semaphore>);

impl Throttle {
    /// Processes a piece.
    pub async fn pass<F: Future>(&self, work: impl FnOnce() -> F) -> F::Output {
        let must_wait = self.0.available_permits() == 0;
        let _permit = self.0.acquire().await;
        let done = work().await;
        if must_wait {
            sleep(PAUSE).await;
        }
        done
    }
}

impl Contents {
    pub fn new(service: ContentService, most: u64) -> Self {
        let busy = available_parallelism().map_or(1, |processors| processors.get().div_ceil(2));
        let [places, busy] = [MOST_TRANSFERS, busy].map(|most| Arc::new(Semaphore::new(most)));
        Self { service, most, places, throttle: Throttle(busy) }
    }

    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            Problem::unavailable("The service is transferring as many contents as it can.")
        })
    }

    pub(super) fn require_size(&self, size: u64) -> Result<(), Problem> {
        if size <= self.most {
            return Ok(());
        }
        let detail = format!("A content may have at most {} bytes.", self.most);
        Err(Problem::new(&kinds::BODY_TOO_LARGE, detail))
    }
}
