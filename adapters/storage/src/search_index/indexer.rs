//! Indexes between writes, if many changes wait, and for a search. A search waits for all changes
//! committed before its request, or fails at once if that takes too long (`pace.rs`).

use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use application::ports::{RepositoryError, Result};
use futures_util::FutureExt as _;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::engine::{ReadEngine, ReadMode, WriteEngine};
use crate::error::{logged, read_only};
use crate::metrics::{OperationKind, count};
use crate::read::high_water_mark::HighWaterMark;
use crate::search_index::pace::{Measurement, Pace};
use crate::search_index::step::Step;
use crate::sql::row_mapping;

/// Changes that are indexed at a time: on `SQLite` a concurrent write waits for them.
const AT_A_TIME: i64 = 512;

/// The longest delay of a write while the index is far behind.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// The time without a write after which waiting changes are indexed.
const IDLE: Duration = Duration::from_millis(20);

/// The longest time that a search waits.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause while another instance indexes.
const WHILE_ANOTHER_INDEXES: Duration = Duration::from_millis(50);

const AFTER_FAILURE: Duration = Duration::from_secs(1);

pub(crate) struct Indexer {
    engine: Arc<dyn ReadEngine>,
    /// The number of changes that wait, as far as this process knows.
    waiting: AtomicI64,
    /// The change up to which a search needs the index.
    wanted: AtomicI64,
    progress: watch::Sender<Progress>,
    news: Notify,
    most_waiting: i64,
    pace: Pace,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    /// The change up to which the items are indexed.
    indexed: i64,
    failures: u64,
}

impl Indexer {
    pub fn start(engine: Arc<dyn WriteEngine>, high_water_mark: Arc<HighWaterMark>) -> Arc<Self> {
        let indexer = Self::new(Arc::<dyn WriteEngine>::clone(&engine), engine.most_waiting());
        let task = tokio::spawn(Arc::clone(&indexer).serve(engine, high_water_mark));
        *indexer.task.lock() = Some(task);
        indexer
    }

    /// Indexes nothing: another engine writes to the store.
    pub fn none(engine: Arc<dyn ReadEngine>) -> Arc<Self> {
        Self::new(engine, 0)
    }

    fn new(engine: Arc<dyn ReadEngine>, most_waiting: i64) -> Arc<Self> {
        Arc::new(Self {
            engine,
            waiting: AtomicI64::new(0),
            wanted: AtomicI64::new(0),
            progress: watch::Sender::default(),
            news: Notify::new(),
            most_waiting,
            pace: Pace::new(most_waiting),
            task: Mutex::default(),
        })
    }

    /// Delays a write while the index is far behind, at most for the longest delay.
    pub async fn apply_back_pressure(&self) {
        let is_overfull = || self.waiting.load(Ordering::Relaxed) > 2 * self.most_waiting;
        if is_overfull() {
            let mut progress = self.progress.subscribe();
            let has_room = async { while is_overfull() && progress.changed().await.is_ok() {} };
            let began = Instant::now();
            let _ = timeout(MAX_DELAY, has_room).await;
            self.engine.metrics().held_back.inc_by(began.elapsed().as_secs_f64());
        }
    }

    pub fn written(&self, changes: usize) {
        let changes = i64::try_from(changes).unwrap_or(i64::MAX / 2);
        self.waiting.fetch_add(changes, Ordering::Relaxed);
        self.news.notify_one();
    }

    /// Waits until all earlier commits are indexed; `IndexBuilding` if that would take too long.
    pub async fn wait_until_indexed(&self) -> Result<()> {
        let progress = self.engine.dialect().statement(sql_file!("both/index/progress"), []);
        let read_rows = |rows: &[_]| {
            let row = row_mapping::first(rows)?;
            Ok((row_mapping::get(row, "indexed")?, row_mapping::get(row, "written")?))
        };
        let step = "wait_until_indexed";
        let (indexed, written): (i64, i64) =
            self.engine.query(step, ReadMode::QUICK, progress, read_rows).await?;
        if indexed >= written {
            return Ok(());
        }
        if !self.is_alive() {
            // The store is only read here. Its writer indexes when a search there needs it.
            return Err(logged(&read_only(), step));
        }
        let mut progress = self.progress.subscribe();
        let failures = progress.borrow().failures;
        self.wanted.fetch_max(written, Ordering::Relaxed);
        self.news.notify_one();
        self.pace.require_within(indexed, written, SEARCH_TIMEOUT)?;
        let is_over = |now: &Progress| now.indexed >= written || now.failures > failures;
        let failed = match timeout(SEARCH_TIMEOUT, progress.wait_for(is_over)).await {
            Ok(Ok(now)) if now.indexed >= written => return Ok(()),
            Ok(_) => RepositoryError::Unavailable,
            Err(_) => self.pace.behind(indexed.max(self.progress.borrow().indexed), written),
        };
        tracing::warn!(
            changes = written - indexed,
            "a search timed out waiting for the full-text index"
        );
        Err(failed)
    }

    pub fn is_alive(&self) -> bool {
        self.task.lock().as_ref().is_some_and(|task| !task.is_finished())
    }

    /// Ends the task; changes that wait are indexed when the store is opened again.
    pub async fn close(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
            drop(task.await);
        }
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > self.progress.borrow().indexed
    }

    fn is_urgent(&self) -> bool {
        self.is_wanted() || self.waiting.load(Ordering::Relaxed) > self.most_waiting
    }

    /// Returns when changes wait and either no write arrives for a while or the index is urgent.
    async fn is_due(&self) {
        while self.waiting.load(Ordering::Relaxed) <= 0 && !self.is_wanted() {
            self.news.notified().await;
        }
        while !self.is_urgent() && timeout(IDLE, self.news.notified()).await.is_ok() {}
    }

    fn stepped(&self, waited: i64, step: Step) {
        // After a final step no known change waits, including those of other instances.
        let taken = i64::try_from(step.changes).unwrap_or(i64::MAX);
        let indexed = if step.has_more { taken.min(waited - 1) } else { waited };
        self.waiting.fetch_sub(indexed, Ordering::Relaxed);
        self.progress.send_if_modified(|known| {
            let is_news = step.indexed > known.indexed;
            known.indexed = known.indexed.max(step.indexed);
            is_news
        });
    }

    async fn serve(
        self: Arc<Self>,
        engine: Arc<dyn WriteEngine>,
        high_water_mark: Arc<HighWaterMark>,
    ) {
        let mut measurement = Measurement::default();
        loop {
            self.is_due().await;
            let (waited, began) = (self.waiting.load(Ordering::Relaxed), Instant::now());
            let step = async {
                let last = high_water_mark.last().await?;
                engine.index(AT_A_TIME, last).await
            };
            let step = AssertUnwindSafe(step).catch_unwind().await;
            let Ok(Ok(step)) = step else {
                // The error is already logged. The waiting searches fail at once.
                if step.is_err() {
                    tracing::error!("indexing panicked; retrying");
                }
                self.progress.send_modify(|progress| progress.failures += 1);
                sleep(AFTER_FAILURE).await;
                continue;
            };
            // A step that is not full takes longer for each of its changes.
            if step.has_more && step.changes > 0 {
                self.pace.note(&mut measurement, step.changes, began.elapsed());
            }
            self.stepped(waited, step);
            let metrics = engine.metrics();
            metrics.operation(OperationKind::Index).observe(began.elapsed().as_secs_f64());
            metrics.index_step.observe(count(step.changes));
            if step.has_more && step.changes == 0 {
                sleep(WHILE_ANOTHER_INDEXES).await;
            }
        }
    }
}
