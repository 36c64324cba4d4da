//! Reads that wait at the same time share a statement.
//!
//! The cost of a read is mostly the way to the database and back. A few workers alternate: each
//! takes all the reads that have queued up while the others were busy, and does them with as few
//! statements as it can: items of a scope are found together. A read only ever joins statements
//! that begin after its request, so it sees every write that was acknowledged earlier. If a worker
//! is free, a read is sent at once.

use std::sync::Arc;
use std::time::Duration;

use application::RepositoryError;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

/// The most reads that may wait.
pub(crate) const QUEUE: usize = 4096;

/// The most reads that a worker takes.
const TAKEN: usize = 64;

/// The time that a worker waits for the database. Longer than any request: a database that fell
/// silent must not keep the worker.
pub(crate) const READING: Duration = Duration::from_mins(1);

/// The results of reads, in the order of their keys.
pub(crate) type Results<F> = Vec<Result<F, RepositoryError>>;

struct Job<K, F> {
    key: K,
    reply: oneshot::Sender<Result<F, RepositoryError>>,
}

/// The queue to the workers. They end when it is dropped.
pub(crate) struct ReadQueue<K, F> {
    jobs: mpsc::Sender<Job<K, F>>,
    queue_timeout: Duration,
}

impl<K: Clone + Send + Sync + 'static, F: Send + 'static> ReadQueue<K, F> {
    /// Starts workers that read several keys together. The keys may repeat.
    pub fn start<R: Future<Output = Results<F>> + Send + 'static>(
        workers: usize,
        queue_timeout: Duration,
        read: impl Fn(Vec<K>) -> R + Send + Sync + 'static,
    ) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (read, queue) = (Arc::new(read), Arc::new(Mutex::new(queue)));
        for _ in 0..workers {
            tokio::spawn(serve(Arc::clone(&read), Arc::clone(&queue)));
        }
        Self { jobs, queue_timeout }
    }

    /// Queues a read and waits for what it finds.
    pub async fn read(&self, key: K) -> Result<F, RepositoryError> {
        let (reply, found) = oneshot::channel();
        let reason = match timeout(self.queue_timeout, self.jobs.send(Job { key, reply })).await {
            Ok(Ok(())) => return found.await.unwrap_or(Err(RepositoryError::Unavailable)),
            Ok(Err(_)) => "the workers have stopped",
            Err(_) => "the queue of reads is full",
        };
        tracing::warn!(reason, "a read was not executed");
        Err(RepositoryError::Unavailable)
    }

    /// Returns how many reads wait.
    pub fn length(&self) -> usize {
        self.jobs.max_capacity() - self.jobs.capacity()
    }

    /// Returns whether there is still a worker to do the reads.
    pub fn is_alive(&self) -> bool {
        !self.jobs.is_closed()
    }
}

async fn serve<K: Clone, F, R: Future<Output = Results<F>>>(
    read: Arc<impl Fn(Vec<K>) -> R>,
    queue: Arc<Mutex<mpsc::Receiver<Job<K, F>>>>,
) {
    let mut jobs = Vec::with_capacity(TAKEN);
    while queue.lock().await.recv_many(&mut jobs, TAKEN).await > 0 {
        // Skips the reads of clients that have disconnected.
        jobs.retain(|job| !job.reply.is_closed());
        let keys: Vec<_> = jobs.iter().map(|job| job.key.clone()).collect();
        if let Ok(found) = timeout(READING, read(keys)).await {
            jobs.drain(..).zip(found).for_each(|(job, found)| drop(job.reply.send(found)));
        } else {
            tracing::error!(
                reads = jobs.len(),
                "the database did not respond within the time limit"
            );
            // Dropping a job answers it: the store is unavailable.
            jobs.clear();
        }
    }
}
