//! Group commit: the cost of a write is mostly the round trip and the flush to the disk. One worker
//! takes all writes that have queued up: one batches better than two, and large batches are
//! cheaper. Each write is answered after its commit, and executed even if its client disconnects.
//! If the writer panics, its batch is answered as unavailable and the next one is executed.

use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use application::traces::scope;
use application::{RepositoryError, trace_span};
use async_trait::async_trait;
use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::{Instrument as _, Span};

use crate::metrics::{OperationKind, StoreMetrics, count};
use crate::spans;
use crate::sql::dialect::Dialect;
use crate::write::command::{Answer, Write};

/// The most bytes of members that may wait.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// The bytes that a write counts as at least, so that at most 1,024 wait.
const LEAST_BYTES: usize = QUEUE_BYTES / 1024;

const BATCH: usize = 256;

/// A batch that takes longer is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(15);

#[async_trait]
pub(crate) trait Writer: Send + Sync + 'static {
    const DIALECT: &'static Dialect;

    /// Starts the task of the queue.
    fn start(worker: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(worker)
    }

    /// Makes each write atomic and durable. The answers are in the order of the writes.
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer>;
}

struct Job {
    write: Write,
    reply: oneshot::Sender<Answer>,
    queued: Instant,
    span: Span,
    /// Its bytes in the queue, until it is answered.
    _place: OwnedSemaphorePermit,
}

pub(crate) struct WriteQueue {
    jobs: Mutex<Option<mpsc::UnboundedSender<Job>>>,
    places: Arc<Semaphore>,
    worker: Mutex<Option<JoinHandle<()>>>,
    health: Arc<Health>,
    queue_timeout: Duration,
    metrics: Arc<StoreMetrics>,
}

#[derive(Default)]
struct Health {
    busy_since: Mutex<Option<Instant>>,
    has_panicked: AtomicBool,
}

impl Health {
    fn set_busy_since(&self, since: Option<Instant>) {
        *self.busy_since.lock() = since;
    }

    fn is_good(&self, stuck_after: Duration) -> bool {
        let busy_since = *self.busy_since.lock();
        !self.has_panicked.load(Ordering::Relaxed)
            && busy_since.is_none_or(|since| since.elapsed() < stuck_after)
    }
}

impl WriteQueue {
    pub fn start<W: Writer>(
        writer: W,
        queue_timeout: Duration,
        metrics: &Arc<StoreMetrics>,
    ) -> Self {
        let (jobs, queue) = mpsc::unbounded_channel();
        let (metrics, health) = (Arc::clone(metrics), Arc::<Health>::default());
        let worker = W::start(serve(writer, queue, Arc::clone(&health), Arc::clone(&metrics)));
        let worker = Mutex::new(Some(worker));
        let places = Arc::new(Semaphore::new(QUEUE_BYTES));
        Self { jobs: Mutex::new(Some(jobs)), places, worker, health, queue_timeout, metrics }
    }

    /// Returns whether the queue is open, the last batch did not panic, and no batch is stuck.
    pub fn is_alive(&self) -> bool {
        let jobs = self.jobs.lock();
        jobs.as_ref().is_some_and(|jobs| !jobs.is_closed()) && self.health.is_good(STUCK_AFTER)
    }

    pub async fn write(&self, write: Write) -> Answer {
        let span = trace_span!("write queue");
        self.answer(write, span.clone()).instrument(span).await
    }

    async fn answer(&self, write: Write, span: Span) -> Answer {
        let queued = Instant::now();
        let place = Arc::clone(&self.places).acquire_many_owned(bytes(&write));
        let place = timeout(self.queue_timeout, place).await;
        let Ok(Ok(place)) = place else { return Err(unavailable("the queue of writes is full")) };
        let queue = self.jobs.lock().clone();
        let queue = queue.ok_or_else(|| unavailable("the store is closed"))?;
        let (reply, answer) = oneshot::channel();
        let job = Job { write, reply, queued, span, _place: place };
        // Before the worker can take it.
        self.metrics.queued_writes.inc();
        if queue.send(job).is_err() {
            self.metrics.queued_writes.dec();
            return Err(unavailable("the writer has stopped"));
        }
        answer
            .await
            .unwrap_or_else(|_| Err(unavailable("the writer stopped before the write was done")))
    }

    /// Takes no more writes and waits for those in the queue.
    pub async fn close(&self) {
        drop(self.jobs.lock().take());
        let worker = self.worker.lock().take();
        if let Some(worker) = worker
            && let Err(error) = worker.await
        {
            tracing::error!(%error, "a writer failed");
        }
    }
}

fn bytes(write: &Write) -> u32 {
    let bytes = write.rows().iter().map(|row| row.members.len()).sum::<usize>();
    u32::try_from(bytes.clamp(LEAST_BYTES, QUEUE_BYTES)).unwrap_or(u32::MAX)
}

fn unavailable(reason: &'static str) -> RepositoryError {
    tracing::warn!(reason, "a write was not executed");
    RepositoryError::Unavailable
}

async fn serve<W: Writer>(
    writer: W,
    mut queue: mpsc::UnboundedReceiver<Job>,
    health: Arc<Health>,
    metrics: Arc<StoreMetrics>,
) {
    let mut jobs = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut jobs, BATCH).await > 0 {
        let (queued, began): (Vec<_>, _) =
            (jobs.iter().map(|job: &Job| &job.write).collect(), Instant::now());
        metrics.queued_writes.dec_by(i64::try_from(queued.len()).unwrap_or(0));
        for job in &jobs {
            metrics.queue_wait.observe(began.duration_since(job.queued).as_secs_f64());
        }
        metrics.batch_rows.observe(count(queued.len()));
        health.set_busy_since(Some(began));
        let span = spans::batch(W::DIALECT, queued.len(), jobs.iter().map(|job| &job.span));
        let commit = scope(!span.is_none(), writer.commit(&queued)).instrument(span);
        let answers = AssertUnwindSafe(commit).catch_unwind().await;
        health.set_busy_since(None);
        metrics.operation(OperationKind::Write).observe(began.elapsed().as_secs_f64());
        health.has_panicked.store(answers.is_err(), Ordering::Relaxed);
        let answers = answers.unwrap_or_else(|_| {
            tracing::error!(
                writes = queued.len(),
                "the writer panicked; continuing with the next write"
            );
            vec![Err(RepositoryError::Unavailable); queued.len()]
        });
        for (job, answer) in jobs.drain(..).zip(answers) {
            let _ = job.reply.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use application::{Caller, RepositoryError, Scope, Warrant, WriteMetadata};
    use async_trait::async_trait;
    use domain::{Collection, ItemId, Version};
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::{Dialect, Health, LEAST_BYTES, QUEUE_BYTES, WriteQueue, Writer};
    use crate::sql::dialect::SQLITE;
    use crate::write::command::{Answer, Change, Write, Written};
    use crate::write::row::RowChange;

    #[derive(Default)]
    struct Unsteady(AtomicUsize);

    #[async_trait]
    impl Writer for Unsteady {
        const DIALECT: &'static Dialect = &SQLITE;

        async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
            assert_eq!(self.0.fetch_add(1, Ordering::Relaxed) % 2, 1, "as the test wants it");
            vec![Ok(Written::Nothing); writes.len()]
        }
    }

    fn deletion() -> Write {
        let scope = Scope::of(Collection::known("files"));
        let id = ItemId::from_uuid(Uuid::nil());
        let change = Change::Row(Box::new(RowChange::delete(scope, id, Version::FIRST)));
        Write {
            change,
            metadata: WriteMetadata::under(
                Warrant::of_the_service(&Caller::Anonymous, None),
                Timestamp::UNIX_EPOCH,
            ),
        }
    }

    #[tokio::test]
    async fn a_panic_of_the_writer_is_reported_and_the_queue_continues() {
        let queue = WriteQueue::start(Unsteady::default(), Duration::from_secs(1), &Arc::default());
        assert!(queue.is_alive());
        for _ in 0..3 {
            let answer = queue.write(deletion()).await;
            assert_eq!(answer, Err(RepositoryError::Unavailable));
            assert!(!queue.is_alive(), "the last batch failed as it should not");
            assert_eq!(queue.write(deletion()).await, Ok(Written::Nothing));
            assert!(queue.is_alive());
        }
        queue.close().await;
        assert!(!queue.is_alive());
    }

    struct Stuck;

    #[async_trait]
    impl Writer for Stuck {
        const DIALECT: &'static Dialect = &SQLITE;

        async fn commit(&self, _writes: &[&Write]) -> Vec<Answer> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn the_bytes_that_wait_are_limited() {
        let limit = Duration::from_millis(20);
        let queue = Arc::new(WriteQueue::start(Stuck, limit, &Arc::default()));
        let mut large = deletion();
        if let Change::Row(row) = &mut large.change {
            row.members = " ".repeat(QUEUE_BYTES - LEAST_BYTES).into();
        }
        for write in [large, deletion()] {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.write(write).await });
        }
        while queue.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.write(deletion()).await, Err(RepositoryError::Unavailable));
    }

    #[test]
    fn a_batch_that_takes_too_long_is_noticed() {
        let health = Health::default();
        assert!(health.is_good(Duration::ZERO));
        health.set_busy_since(Some(std::time::Instant::now()));
        assert!(health.is_good(Duration::from_mins(1)) && !health.is_good(Duration::ZERO));
    }
}
