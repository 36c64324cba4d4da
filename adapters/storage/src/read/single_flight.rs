//! Single-flight: waiting reads share statements, because a read costs mostly its round trip. A few
//! flights are in progress at a time; each takes the reads that have queued up, equal ones once. A
//! read sees every write that was acknowledged before its request, so a caller never joins a read
//! that has begun; the next one begins when it completes. A read whose callers have all
//! disconnected is not started, or is dropped.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use application::ports::{RepositoryError, Result};
use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tokio::time::timeout;

const QUEUE: usize = 4096;

/// The time that a flight waits for the database. Longer than any request.
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) type Results<F> = Vec<Result<F>>;

type Reply<F> = oneshot::Sender<Result<F>>;

/// Keys, and the callers of each.
type Taken<K, F> = (Vec<K>, Vec<Vec<Reply<F>>>);

pub(crate) struct SingleFlight<K, F> {
    state: Mutex<State<K, F>>,
    /// The most concurrent flights.
    flights: usize,
    /// The most keys of a flight.
    keys: usize,
}

struct State<K, F> {
    queue: VecDeque<K>,
    /// The callers of reads that have not begun. A key in flight has the callers of its next read.
    waiting: HashMap<K, Vec<Reply<F>>>,
    in_flight: usize,
}

impl<K: Clone + Eq + Hash + Send + 'static, F: Clone + Send + 'static> SingleFlight<K, F> {
    pub fn new(flights: usize, keys: usize) -> Arc<Self> {
        let state = State { queue: VecDeque::new(), waiting: HashMap::new(), in_flight: 0 };
        Arc::new(Self { state: Mutex::new(state), flights, keys })
    }

    /// Reads the value of a key. `read` reads several keys together.
    pub async fn read<R: Future<Output = Results<F>> + Send + 'static>(
        self: &Arc<Self>,
        key: K,
        read: impl Fn(Vec<K>) -> R + Send + Sync + 'static,
    ) -> Result<F> {
        let (reply, found) = oneshot::channel();
        if self.join(key, reply)? {
            tokio::spawn(Arc::clone(self).fly(read));
        }
        found.await.unwrap_or(Err(RepositoryError::Unavailable))
    }

    pub fn length(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// Returns whether a flight is to begin.
    fn join(&self, key: K, reply: Reply<F>) -> Result<bool> {
        let state = &mut *self.state.lock();
        if let Some(replies) = state.waiting.get_mut(&key) {
            replies.push(reply);
            return Ok(false);
        }
        if state.queue.len() >= QUEUE {
            tracing::warn!("the queue of reads is full");
            return Err(RepositoryError::Unavailable);
        }
        state.waiting.insert(key.clone(), vec![reply]);
        state.queue.push_back(key);
        let begins = state.in_flight < self.flights;
        state.in_flight += usize::from(begins);
        Ok(begins)
    }

    async fn fly<R: Future<Output = Results<F>>>(self: Arc<Self>, read: impl Fn(Vec<K>) -> R) {
        while let Some((keys, mut replies)) = self.take() {
            let found = AssertUnwindSafe(timeout(TIMEOUT, read(keys.clone()))).catch_unwind();
            let found = tokio::select! {
                found = found => Some(found),
                () = all_hung_up(&mut replies) => None,
            };
            match found {
                Some(Ok(Ok(found))) => {
                    for (found, replies) in found.into_iter().zip(replies) {
                        for reply in replies {
                            let _ = reply.send(found.clone());
                        }
                    }
                }
                // Dropping a reply answers it: the store is unavailable.
                Some(Ok(Err(_))) => {
                    tracing::error!(
                        reads = keys.len(),
                        "the database did not respond within the time limit"
                    );
                }
                Some(Err(_)) => tracing::error!(reads = keys.len(), "a read panicked"),
                None => {}
            }
            self.land(keys);
        }
    }

    /// The keys of the next flight with their callers; `None` ends the flights of a task.
    fn take(&self) -> Option<Taken<K, F>> {
        let state = &mut *self.state.lock();
        let (mut keys, mut replies) = (Vec::new(), Vec::new());
        while keys.len() < self.keys
            && let Some(key) = state.queue.pop_front()
        {
            let mut callers = state.waiting.get_mut(&key).map(std::mem::take).unwrap_or_default();
            callers.retain(|reply| !reply.is_closed());
            if callers.is_empty() {
                state.waiting.remove(&key);
            } else {
                keys.push(key);
                replies.push(callers);
            }
        }
        if keys.is_empty() {
            state.in_flight -= 1;
            return None;
        }
        Some((keys, replies))
    }

    /// Queues the keys again that callers wait for.
    fn land(&self, keys: Vec<K>) {
        let state = &mut *self.state.lock();
        for key in keys {
            if state.waiting.get(&key).is_some_and(|callers| !callers.is_empty()) {
                state.queue.push_back(key);
            } else {
                state.waiting.remove(&key);
            }
        }
    }
}

async fn all_hung_up<F>(replies: &mut [Vec<Reply<F>>]) {
    for reply in replies.iter_mut().flatten() {
        reply.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use application::RepositoryError;
    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    use super::SingleFlight;

    #[derive(Clone)]
    struct Gated {
        reads: Arc<SingleFlight<u32, u32>>,
        gate: Arc<Semaphore>,
        begun: Arc<AtomicUsize>,
    }

    impl Gated {
        fn new(keys: usize) -> Self {
            let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::default());
            Self { reads: SingleFlight::new(1, keys), gate, begun }
        }

        async fn read(self, key: u32) -> Result<u32, RepositoryError> {
            let Self { reads, gate, begun } = self;
            let read = move |keys: Vec<u32>| {
                begun.fetch_add(1, Ordering::Relaxed);
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await.expect("it is open").forget();
                    assert!(!keys.contains(&13), "as the test wants it");
                    keys.into_iter().map(Ok).collect()
                }
            };
            reads.read(key, read).await
        }

        fn callers(&self) -> usize {
            self.reads.state.lock().waiting.values().flatten().count()
        }

        fn begun(&self) -> usize {
            self.begun.load(Ordering::Relaxed)
        }
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn reads_that_wait_share_the_next_flight_and_equal_ones_a_key() {
        let (gated, mut tasks) = (Gated::new(64), JoinSet::new());
        tasks.spawn(gated.clone().read(1));
        until(|| gated.begun() == 1).await;
        for key in [1, 1, 2, 3] {
            tasks.spawn(gated.clone().read(key));
        }
        until(|| gated.callers() == 4).await;
        gated.gate.add_permits(2);
        let mut found: Vec<_> = tasks.join_all().await.into_iter().map(Result::unwrap).collect();
        found.sort_unstable();
        assert_eq!(found, [1, 1, 1, 2, 3]);
        assert_eq!(gated.begun(), 2, "none joins the first, and the others share the second");
    }

    #[tokio::test]
    async fn an_abandoned_read_is_dropped_or_not_begun() {
        let (gated, mut tasks) = (Gated::new(1), JoinSet::new());
        tasks.spawn(gated.clone().read(1));
        until(|| gated.begun() == 1).await;
        tasks.spawn(gated.clone().read(2));
        until(|| gated.callers() == 1).await;
        tasks.shutdown().await;
        gated.gate.add_permits(1);
        assert_eq!(gated.clone().read(3).await, Ok(3), "the permit was left");
        assert_eq!(gated.begun(), 2, "the second was not begun");
    }

    #[tokio::test]
    async fn a_panic_fails_its_reads_alone() {
        let gated = Gated::new(1);
        gated.gate.add_permits(2);
        assert_eq!(gated.clone().read(13).await, Err(RepositoryError::Unavailable));
        assert_eq!(gated.clone().read(1).await, Ok(1));
    }
}
