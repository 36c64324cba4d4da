//! Reads that wait at the same time share a statement.
//!
//! What a read costs is mostly the way to the database and back. A few workers take turns: each
//! takes all the reads that have queued up while the others were busy, and does them with as few
//! statements as it can. Items of a scope are found together; the same page is read once for all
//! who want it. A read only ever joins statements that begin after it was asked for, so it sees
//! every write that was acknowledged before. When nothing else is going on a read goes out at once.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use application::RepositoryError;
use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

/// How many reads may wait.
const QUEUE: usize = 4096;

/// How many reads a worker takes at most.
const TAKEN: usize = 64;

/// How long a worker waits for the database. Longer than any request: a database that fell silent
/// must not keep the worker.
const READING: Duration = Duration::from_mins(1);

/// What is read, and how several are read together.
#[async_trait]
pub(crate) trait SharedRead: Send + Sync + 'static {
    /// What is asked for.
    type Key: Clone + Eq + Hash + Send + Sync + 'static;
    /// What comes back.
    type Found: Clone + Send + 'static;

    /// Reads for each key, in the order of the keys. Keys may be equal.
    async fn read(&self, keys: &[Self::Key]) -> Vec<Result<Self::Found, RepositoryError>>;
}

struct Job<R: SharedRead> {
    key: R::Key,
    reply: oneshot::Sender<Result<R::Found, RepositoryError>>,
}

/// The queue to the workers. They end when it is dropped.
pub(crate) struct ReadQueue<R: SharedRead> {
    jobs: mpsc::Sender<Job<R>>,
    queue_timeout: Duration,
}

impl<R: SharedRead> ReadQueue<R> {
    pub fn start(read: R, workers: usize, queue_timeout: Duration) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (read, queue) = (Arc::new(read), Arc::new(Mutex::new(queue)));
        for _ in 0..workers {
            tokio::spawn(serve(Arc::clone(&read), Arc::clone(&queue), READING));
        }
        Self { jobs, queue_timeout }
    }

    /// Queues a read and waits for what it finds.
    pub async fn read(&self, key: R::Key) -> Result<R::Found, RepositoryError> {
        let (reply, found) = oneshot::channel();
        let reason = match timeout(self.queue_timeout, self.jobs.send(Job { key, reply })).await {
            Ok(Ok(())) => return found.await.unwrap_or(Err(RepositoryError::Unavailable)),
            Ok(Err(_)) => "the workers went away",
            Err(_) => "the queue of reads is full",
        };
        tracing::warn!(reason, "a read was not done");
        Err(RepositoryError::Unavailable)
    }

    /// Whether there is still a worker to do the reads.
    pub fn is_alive(&self) -> bool {
        !self.jobs.is_closed()
    }
}

async fn serve<R: SharedRead>(
    read: Arc<R>,
    queue: Arc<Mutex<mpsc::Receiver<Job<R>>>>,
    limit: Duration,
) {
    let mut jobs = Vec::with_capacity(TAKEN);
    while queue.lock().await.recv_many(&mut jobs, TAKEN).await > 0 {
        // Nobody waits for the answer when the client hung up.
        jobs.retain(|job| !job.reply.is_closed());
        let keys: Vec<_> = jobs.iter().map(|job| job.key.clone()).collect();
        if let Ok(found) = timeout(limit, read.read(&keys)).await {
            jobs.drain(..).zip(found).for_each(|(job, found)| drop(job.reply.send(found)));
        } else {
            tracing::error!(reads = jobs.len(), "the database did not answer in time");
            // Dropping a job answers it: the store is unavailable.
            jobs.clear();
        }
    }
}
