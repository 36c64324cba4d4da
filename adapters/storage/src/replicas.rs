//! The port of standbys: which of them may be read now.
//!
//! A standby is read while it is in recovery, has the same history as the primary on the same
//! timeline, and lags no more than the operator permits. Each standby has its own engine, queues and
//! caches, so that data of one server is never mistaken for that of another.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use application::{
    ChangeLog as _, ChosenStandby, LogPosition, RepositoryError, StandbyStore, Standbys,
};
use async_trait::async_trait;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::engine::{ReadEngine, WriteEngine};
use crate::error::StoreError;
use crate::metrics::write_series;
use crate::options::{ReplicaOptions, StoreOptions};
use crate::postgres::standby::{PrimaryPositions, Standby, StandbyState};
use crate::read::high_water_mark::HighWaterMark;
use crate::read::past::PastReads;
use crate::read::reads::Reads;
use crate::read::single_flight::SingleFlight;
use crate::repository::SqlItemRepository;
use crate::search_index::indexer::Indexer;

/// How often the primary is asked for its position.
const INTERVAL: Duration = Duration::from_millis(500);

/// The longest time that a read waits for a standby.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A standby that lags more is not waited for.
const HOPELESS: Duration = Duration::from_secs(3);

/// The standbys of a store.
pub(crate) struct Replicas {
    /// The history of the primary.
    past: Arc<PastReads>,
    primary: Arc<dyn WriteEngine>,
    /// Asks the primary for its position, once for all who want to know it.
    positions: Arc<SingleFlight<(), (u32, u64)>>,
    noted: Mutex<PrimaryPositions>,
    standbys: Vec<Arc<Standby>>,
    stores: Vec<StandbyStore>,
    /// Whose turn it is.
    next: AtomicUsize,
    waits: AtomicU64,
    timed_out: AtomicU64,
    tasks: Mutex<JoinSet<()>>,
}

/// Opens each standby that is named, none of them twice. One that cannot be reached is no error.
fn open_standbys(
    primary: &Arc<dyn WriteEngine>,
    options: &StoreOptions,
    urls: &str,
) -> Result<Vec<Arc<Standby>>, StoreError> {
    let mut named = HashSet::new();
    let open = |url: &str| {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("the scheme is wrong".to_owned());
        }
        let standby =
            Standby::new(url, options, primary.metrics()).map_err(|error| error.to_string())?;
        if !named.insert(standby.server.target()) {
            return Err(format!("{} is given more than once", standby.server.target()));
        }
        Ok(Arc::new(standby))
    };
    urls.split_whitespace().map(open).collect::<Result<_, _>>().map_err(StoreError::ReplicaUrl)
}

impl Replicas {
    /// Starts to watch the standbys. One that cannot be reached is no error: it may come back.
    pub fn start(
        primary: &Arc<dyn WriteEngine>,
        past: Arc<PastReads>,
        options: &StoreOptions,
        replicas: &ReplicaOptions,
    ) -> Result<Arc<Self>, StoreError> {
        let standbys = open_standbys(primary, options, &replicas.urls)?;
        let stores =
            standbys.iter().map(|standby| store_on(Arc::<Standby>::clone(standby))).collect();
        let started = Arc::new(Self {
            past,
            primary: Arc::clone(primary),
            positions: SingleFlight::new(1, 1),
            noted: Mutex::new(PrimaryPositions::new(replicas.max_lag)),
            standbys,
            stores,
            next: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            timed_out: AtomicU64::new(0),
            tasks: Mutex::default(),
        });
        let mut tasks = started.tasks.lock();
        for standby in &started.standbys {
            let standby = Arc::clone(standby);
            tasks.spawn(async move { standby.watch().await });
        }
        let replicas = Arc::downgrade(&started);
        tasks.spawn(async move {
            while let Some(replicas) = replicas.upgrade() {
                replicas.note_position().await;
                drop(replicas);
                sleep(INTERVAL).await;
            }
        });
        drop(tasks);
        Ok(started)
    }

    /// Writes how far the standbys are behind, and how often they were read.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let history = self.past.history_id();
        let named = |standby: &Standby| [("standby", standby.server.target())];
        let lags = self.standbys.iter().enumerate().filter_map(|(index, standby)| {
            let (_, lag) = self.usable(index, &history)?;
            Some((named(standby), ConstGauge::new(lag.as_secs_f64())))
        });
        let help =
            "Upper bound of the lag of a standby of --replica-url; no series while it is not read.";
        write_series(encoder, "proposal_service_standby_lag_seconds", help, lags)?;
        let reads = self.standbys.iter().map(|standby| {
            (named(standby), ConstCounter::new(standby.reads.load(Ordering::Relaxed)))
        });
        let help = "Requests answered by a standby of --replica-url.";
        write_series(encoder, "proposal_service_standby_reads", help, reads)?;
        let in_vain = self.timed_out.load(Ordering::Relaxed);
        let in_time = self.waits.load(Ordering::Relaxed).saturating_sub(in_vain);
        let waits = [("in_time", in_time), ("in_vain", in_vain)];
        let waits =
            waits.map(|(outcome, count)| ([("outcome", outcome)], ConstCounter::new(count)));
        let help = "Reads with a Consistency-Token that waited for a standby, by outcome: the position arrived in time or not.";
        write_series(encoder, "proposal_service_consistency_token_waits", help, waits)
    }

    pub async fn close(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
        for standby in &self.standbys {
            standby.close().await;
        }
    }

    async fn log_position(&self) -> Result<(u32, u64), RepositoryError> {
        let primary = Arc::clone(&self.primary);
        let read = move |_: Vec<()>| {
            let primary = Arc::clone(&primary);
            async move { vec![primary.log_position().await] }
        };
        self.positions.read((), read).await
    }

    /// An error was logged where it arose; then nothing new is known.
    async fn note_position(&self) {
        let asked = Instant::now();
        if let Ok((timeline, position)) = self.log_position().await {
            self.noted.lock().note(asked, timeline, position);
        }
    }

    /// The state of a standby, and its lag, while it may be read.
    fn usable(&self, index: usize, history: &str) -> Option<(StandbyState, Duration)> {
        let state = self.standbys[index].state()?;
        let noted = self.noted.lock();
        let is_followed = state.timeline == noted.timeline
            && self.past.stored_history().is_some_and(|stored| stored == state.history)
            && *self.past.history_on(state.timeline) == *history;
        let lag = noted.lag(state.replayed, Instant::now()).filter(|_| is_followed)?;
        Some((state, lag))
    }

    /// The next standby that may be read and has all up to a position.
    fn pick(&self, history: &Arc<str>, least: Option<u64>) -> Option<ChosenStandby> {
        let (count, first) = (self.standbys.len(), self.next.fetch_add(1, Ordering::Relaxed));
        (0..count).map(|number| (first % count + number) % count).find_map(|index| {
            let (state, lag) = self.usable(index, history)?;
            let has = |least| {
                least <= state.replayed && state.connections == self.standbys[index].connections()
            };
            least.is_none_or(has).then(|| ChosenStandby {
                index,
                history: Arc::clone(history),
                lag,
                connections: least.map(|_| state.connections),
            })
        })
    }

    /// Waits for the standby that needs the least time.
    async fn wait(&self, history: &Arc<str>, position: u64) {
        let near = (0..self.standbys.len())
            .filter_map(|index| Some((self.usable(index, history)?, index)))
            .filter(|((_, lag), _)| *lag <= HOPELESS)
            .max_by_key(|((state, _), _)| state.replayed);
        if let Some((_, index)) = near {
            // What was reached is looked at next.
            let _ = timeout(LONGEST_WAIT, self.standbys[index].replay(position)).await;
        }
    }
}

#[async_trait]
impl Standbys for Replicas {
    fn stores(&self) -> Vec<StandbyStore> {
        self.stores.clone()
    }

    async fn position(&self) -> Result<LogPosition, RepositoryError> {
        let (timeline, offset) = self.log_position().await?;
        Ok(LogPosition { history: self.past.history_on(timeline), offset })
    }

    async fn choose(&self, least: Option<LogPosition>) -> Option<ChosenStandby> {
        let history = self.past.history_id();
        let Some(LogPosition { history: of, offset }) = least else {
            return self.pick(&history, None);
        };
        // What another history or timeline had at a position cannot be waited for.
        if of != history || offset == u64::MAX {
            return None;
        }
        if let Some(chosen) = self.pick(&history, Some(offset)) {
            return Some(chosen);
        }
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.wait(&history, offset).await;
        let chosen = self.pick(&history, Some(offset));
        if chosen.is_none() {
            self.timed_out.fetch_add(1, Ordering::Relaxed);
        }
        chosen
    }

    fn confirm(&self, chosen: &ChosenStandby) -> bool {
        let standby = &self.standbys[chosen.index];
        let is_valid = chosen.connections.is_none_or(|known| known == standby.connections());
        if is_valid {
            standby.reads.fetch_add(1, Ordering::Relaxed);
        }
        is_valid
    }
}

/// The items and the history of a standby.
fn store_on(engine: Arc<dyn ReadEngine>) -> StandbyStore {
    let high_water_mark = Arc::new(HighWaterMark::new(Arc::clone(&engine)));
    let indexer = Arc::new(Indexer::none(Arc::clone(&engine)));
    let reads = Reads::new(Arc::clone(&engine), Arc::clone(&high_water_mark), indexer);
    let past = PastReads::new(engine, high_water_mark);
    let items = SqlItemRepository { reads, writes: None };
    StandbyStore { items: Arc::new(items), history: Arc::new(past) }
}
