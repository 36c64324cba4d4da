//! The limits of transfers of contents.

use std::sync::Arc;

use application::ContentService;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Problem, kinds};

/// Transfers at a time.
const MOST_TRANSFERS: usize = 256;

/// In bytes per second of waiting for the client.
pub(super) const LEAST_RATE: u32 = 4 * 1024;

pub struct Contents {
    pub service: ContentService,
    /// The limit of a content in bytes.
    pub most: u64,
    places: Arc<Semaphore>,
}

impl Contents {
    pub fn new(service: ContentService, most: u64) -> Self {
        Self { service, most, places: Arc::new(Semaphore::new(MOST_TRANSFERS)) }
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
