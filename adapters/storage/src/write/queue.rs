//! Writes that wait at the same time are done together.
//!
//! The cost of a write is mostly the way to the database and the flush to its disk. Workers
//! alternate: each takes all the writes that have queued up while the others were busy. Each write is
//! answered after its commit. A client that hangs up takes nothing back: its write is in the queue,
//! not in its request.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use application::RepositoryError;
use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::write::command::{Answer, Write};

/// The most writes that may wait.
const QUEUE: usize = 1024;

/// The most writes that are done together.
const BATCH: usize = 256;

/// Does several writes.
#[async_trait]
pub(crate) trait Writer: Send + Sync + 'static {
    /// Does each of the writes whole or not at all; the answers are in the order of the writes.
    /// Those that were done are on disk.
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer>;
}

/// A write, and who waits for it.
struct Job {
    write: Write,
    reply: oneshot::Sender<Answer>,
}

/// The queue to the workers, and the workers.
pub(crate) struct WriteQueue {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    workers: Mutex<JoinSet<()>>,
    queue_timeout: Duration,
}

impl WriteQueue {
    /// A write waits for its place as long as `queue_timeout` says.
    pub fn start(writer: impl Writer, workers: usize, queue_timeout: Duration) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (writer, queue) = (Arc::new(writer), Arc::new(AsyncMutex::new(queue)));
        let workers =
            (0..workers).map(|_| serve(Arc::clone(&writer), Arc::clone(&queue))).collect();
        Self { jobs: Mutex::new(Some(jobs)), workers: Mutex::new(workers), queue_timeout }
    }

    /// The same with one worker on a thread of its own, for a writer that blocks.
    pub fn start_thread(writer: impl Writer, queue_timeout: Duration) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel::<()>();
        let runtime = Handle::current();
        std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
            runtime.block_on(serve(Arc::new(writer), Arc::new(AsyncMutex::new(queue))));
            drop(end);
        })?;
        let workers = std::iter::once(async { drop(ended.await) }).collect();
        Ok(Self { jobs: Mutex::new(Some(jobs)), workers: Mutex::new(workers), queue_timeout })
    }

    /// Queues a write and waits for its answer.
    pub async fn write(&self, write: Write) -> Answer {
        let queue = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or_else(|| unavailable("the store is closed"))?;
        let (reply, answer) = oneshot::channel();
        match timeout(self.queue_timeout, queue.send(Job { write, reply })).await {
            Ok(Ok(())) => answer
                .await
                .unwrap_or_else(|_| Err(unavailable("the writer went away with the write"))),
            Ok(Err(_)) => Err(unavailable("the writer went away")),
            Err(_) => Err(unavailable("the queue of writes is full")),
        }
    }

    /// Takes no more writes and waits for those in the queue.
    pub async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut workers =
            std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(ended) = workers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a writer ended badly");
            }
        }
    }
}

fn unavailable(reason: &'static str) -> RepositoryError {
    tracing::warn!(reason, "a write was not done");
    RepositoryError::Unavailable
}

/// Ends when the queue is closed and empty.
async fn serve<W: Writer>(writer: Arc<W>, queue: Arc<AsyncMutex<mpsc::Receiver<Job>>>) {
    let mut jobs = Vec::with_capacity(BATCH);
    while queue.lock().await.recv_many(&mut jobs, BATCH).await > 0 {
        let queued: Vec<_> = jobs.iter().map(|job: &Job| &job.write).collect();
        let answers = writer.commit(&queued).await;
        for (job, answer) in jobs.drain(..).zip(answers) {
            // Nobody listens any more when the client hung up; the write is done all the same.
            let _ = job.reply.send(answer);
        }
    }
}
