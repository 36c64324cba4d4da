//! Records the display names of callers, in the background of their requests.

use std::sync::Arc;
use std::time::Duration;

use application::{CallerDirectory, Clock};
use domain::Principal;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use tokio::time::Instant;

const REMEMBERED: usize = 4_096;

/// The debounce of the same name.
const PAUSE: Duration = Duration::from_mins(10);

/// The debounce of a changed name.
const PAUSE_OF_OTHER_NAMES: Duration = Duration::from_secs(10);

const MOST_AT_ONCE: usize = 16;

pub struct SeenCallers {
    directory: Arc<dyn CallerDirectory>,
    clock: Arc<dyn Clock>,
    noted: Cache<Box<str>, (Box<str>, Instant)>,
    permits: Arc<Semaphore>,
}

impl SeenCallers {
    pub fn new(directory: Arc<dyn CallerDirectory>, clock: Arc<dyn Clock>) -> Self {
        let permits = Arc::new(Semaphore::new(MOST_AT_ONCE));
        Self { directory, clock, noted: Cache::new(REMEMBERED), permits }
    }

    /// Does not block. After the debounce, a request retries a failed write.
    pub fn note(&self, principal: &Principal) {
        let Some(name) = &principal.name else { return };
        let now = Instant::now();
        let is_noted = self.noted.get(&principal.id).is_some_and(|(noted, since)| {
            let pause = if noted == *name { PAUSE } else { PAUSE_OF_OTHER_NAMES };
            now.duration_since(since) < pause
        });
        if is_noted {
            return;
        }
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        self.noted.insert(principal.id.clone(), (name.clone(), now));
        let (directory, time) = (Arc::clone(&self.directory), self.clock.now());
        let (id, name) = (principal.id.clone(), name.clone());
        tokio::spawn(async move {
            if let Err(error) = directory.seen(&id, &name, time).await {
                tracing::debug!(%error, "cannot store the name of a caller");
            }
            drop(permit);
        });
    }
}
