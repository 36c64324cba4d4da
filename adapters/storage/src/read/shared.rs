//! Reads that are executed one at a time, each answered when it completes.
//!
//! Equal waiting reads are executed once for all their callers. A read sees every write that was
//! acknowledged before its request, so a caller never joins a read that has begun; the next one
//! begins when it completes. A read whose callers have all disconnected is not started, or is dropped.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use application::RepositoryError;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::time::timeout;

use crate::read::queue::{QUEUE, READING};

type Reply<F> = oneshot::Sender<Result<F, RepositoryError>>;

/// The queue to the workers. They end when it is dropped.
pub(crate) struct SharedReads<K, F> {
    waiting: Arc<Waiting<K, F>>,
    keys: mpsc::Sender<K>,
    queue_timeout: Duration,
}

/// The callers that wait for reads that have not begun, by key. A key whose read is in progress is
/// present too, with the callers that wait for the next read.
struct Waiting<K, F>(Mutex<HashMap<K, Vec<Reply<F>>>>);

/// A read in progress. Dropping it queues the next read of its key if callers wait for that.
struct Reading<'a, K: Clone + Eq + Hash, F> {
    key: K,
    waiting: &'a Waiting<K, F>,
    keys: &'a mpsc::WeakSender<K>,
}

impl<K: Clone + Eq + Hash, F> Drop for Reading<'_, K, F> {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        let is_wanted = waiting.get(&self.key).is_some_and(|replies| !replies.is_empty());
        let queued = self.keys.upgrade().filter(|_| is_wanted);
        if queued.is_none_or(|keys| keys.try_send(self.key.clone()).is_err()) {
            // Dropping a reply answers it: the store is unavailable.
            waiting.remove(&self.key);
        }
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static, F: Clone + Send + 'static> SharedReads<K, F> {
    /// Starts workers that read for one key at a time.
    pub fn start<R: Future<Output = Result<F, RepositoryError>> + Send + 'static>(
        workers: usize,
        queue_timeout: Duration,
        read: impl Fn(K) -> R + Send + Sync + 'static,
    ) -> Self {
        let (keys, queue) = mpsc::channel(QUEUE);
        let (read, queue) = (Arc::new(read), Arc::new(AsyncMutex::new(queue)));
        let waiting = Arc::new(Waiting(Mutex::default()));
        for _ in 0..workers {
            let (read, queue, waiting) =
                (Arc::clone(&read), Arc::clone(&queue), Arc::clone(&waiting));
            tokio::spawn(serve(read, queue, waiting, keys.downgrade()));
        }
        Self { waiting, keys, queue_timeout }
    }

    /// Queues a read and waits for what it finds.
    pub async fn read(&self, key: K) -> Result<F, RepositoryError> {
        let (reply, found) = oneshot::channel();
        let reason = match timeout(self.queue_timeout, self.keys.reserve()).await {
            Ok(Ok(place)) => {
                if self.waiting.join(&key, reply) {
                    place.send(key);
                }
                return found.await.unwrap_or(Err(RepositoryError::Unavailable));
            }
            Ok(Err(_)) => "the workers have stopped",
            Err(_) => "the queue of reads is full",
        };
        tracing::warn!(reason, "a read was not executed");
        Err(RepositoryError::Unavailable)
    }

    /// Returns how many reads wait.
    pub fn length(&self) -> usize {
        self.keys.max_capacity() - self.keys.capacity()
    }

    /// Returns whether there is still a worker to do the reads.
    pub fn is_alive(&self) -> bool {
        !self.keys.is_closed()
    }
}

impl<K: Clone + Eq + Hash, F> Waiting<K, F> {
    /// Waits with those who want the same; whether it is to be queued for them.
    fn join(&self, key: &K, reply: Reply<F>) -> bool {
        let mut waiting = self.lock();
        if let Some(replies) = waiting.get_mut(key) {
            replies.push(reply);
            return false;
        }
        waiting.insert(key.clone(), vec![reply]);
        true
    }

    /// Those who wait for a read that begins now.
    fn take(&self, key: &K) -> Vec<Reply<F>> {
        let mut replies = self.lock().get_mut(key).map(std::mem::take).unwrap_or_default();
        replies.retain(|reply| !reply.is_closed());
        replies
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Vec<Reply<F>>>> {
        self.0.lock()
    }
}

async fn serve<K: Clone + Eq + Hash, F: Clone, R: Future<Output = Result<F, RepositoryError>>>(
    read: Arc<impl Fn(K) -> R>,
    queue: Arc<AsyncMutex<mpsc::Receiver<K>>>,
    waiting: Arc<Waiting<K, F>>,
    keys: mpsc::WeakSender<K>,
) {
    loop {
        let Some(key) = queue.lock().await.recv().await else { return };
        let mut replies = waiting.take(&key);
        let _reading = Reading { key: key.clone(), waiting: &waiting, keys: &keys };
        if replies.is_empty() {
            continue;
        }
        let found = tokio::select! {
            found = timeout(READING, read(key)) => found,
            () = all_hung_up(&mut replies) => continue,
        };
        if let Ok(found) = found {
            for reply in replies {
                drop(reply.send(found.clone()));
            }
        } else {
            // Dropping a reply answers it: the store is unavailable.
            tracing::error!("the database did not respond within the time limit");
        }
    }
}

/// Returns when all callers have disconnected.
async fn all_hung_up<F>(replies: &mut [Reply<F>]) {
    for reply in replies {
        reply.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    use super::SharedReads;

    const LONG: Duration = Duration::from_secs(10);

    /// A queue whose reads each wait for a permit, and the number of those that began.
    fn gated() -> (Arc<SharedReads<u32, u32>>, Arc<Semaphore>, Arc<AtomicUsize>) {
        let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (of_reads, counted) = (Arc::clone(&gate), Arc::clone(&begun));
        let reads = SharedReads::start(1, LONG, move |key| {
            let (gate, begun) = (Arc::clone(&of_reads), Arc::clone(&counted));
            async move {
                begun.fetch_add(1, Ordering::Relaxed);
                gate.acquire().await.expect("it is open").forget();
                Ok(key)
            }
        });
        (Arc::new(reads), gate, begun)
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn each_is_answered_when_it_is_read() {
        let (reads, gate, _) = gated();
        let mut tasks = JoinSet::new();
        for key in 0..3 {
            let reads = Arc::clone(&reads);
            tasks.spawn(async move { reads.read(key).await });
        }
        for _ in 0..3 {
            gate.add_permits(1);
            assert!(tasks.join_next().await.is_some_and(|done| matches!(done, Ok(Ok(_)))));
        }
    }

    #[tokio::test]
    async fn equal_reads_that_wait_are_done_once_and_none_joins_one_that_began() {
        let (reads, gate, begun) = gated();
        let mut tasks = JoinSet::new();
        let read = |key| {
            let reads = Arc::clone(&reads);
            async move { reads.read(key).await }
        };
        tasks.spawn(read(1));
        until(|| begun.load(Ordering::Relaxed) == 1).await;
        for _ in 0..5 {
            tasks.spawn(read(1));
        }
        until(|| reads.waiting.lock().get(&1).is_some_and(|waiting| waiting.len() == 5)).await;
        gate.add_permits(2);
        assert_eq!(tasks.join_all().await, [Ok(1); 6]);
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn an_abandoned_read_is_dropped_or_not_begun() {
        let (reads, gate, begun) = gated();
        let mut tasks = JoinSet::new();
        for key in [1, 2] {
            let reads = Arc::clone(&reads);
            tasks.spawn(async move { reads.read(key).await });
        }
        let waiting = || reads.waiting.lock().values().flatten().count();
        until(|| begun.load(Ordering::Relaxed) == 1 && waiting() == 1).await;
        tasks.shutdown().await;
        gate.add_permits(1);
        assert_eq!(reads.read(3).await, Ok(3), "the permit was left");
        assert_eq!(begun.load(Ordering::Relaxed), 2, "the second was not begun");
    }
}
