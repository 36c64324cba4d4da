//! The standbys that may be read now: in recovery, with the primary's history and timeline and a
//! permitted lag. Each has its own engine, queues and caches, so that their data is never mixed up.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use application::ports::{
    ChangeLog as _, ChosenStandby, LogPosition, Result, StandbyStore, Standbys,
};
use async_trait::async_trait;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::engine::{Database, ReadEngine as _, WriteEngine};
use crate::error::StoreError;
use crate::metrics::write_series;
use crate::options::StoreOptions;
use crate::postgres::standby::{PrimaryPositions, Standby, StandbyState};
use crate::read::past::PastReads;
use crate::read::single_flight::SingleFlight;

/// How often the primary is asked for its position.
const INTERVAL: Duration = Duration::from_millis(500);

/// The longest wait of a read for a standby.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A standby that lags more is not waited for.
const HOPELESS: Duration = Duration::from_secs(3);

pub(crate) struct Replicas {
    past: Arc<PastReads>,
    primary: Arc<dyn WriteEngine>,
    /// Asks the primary for its position, once for all waiting callers.
    positions: Arc<SingleFlight<(), (u32, u64)>>,
    noted: Mutex<PrimaryPositions>,
    standbys: Vec<OpenedStandby>,
    next: AtomicUsize,
    /// Reads that waited for a position, by whether it arrived.
    in_time: Counter,
    in_vain: Counter,
    tasks: Mutex<JoinSet<()>>,
}

pub(crate) struct OpenedStandby {
    standby: Arc<Standby>,
    store: StandbyStore,
}

/// Opens each standby, no server twice. A standby that cannot be reached is no error.
pub(crate) fn open_standbys(
    primary: &Arc<dyn WriteEngine>,
    options: &StoreOptions,
    urls: &str,
    store_on: fn(Database) -> StandbyStore,
) -> Result<Vec<OpenedStandby>, StoreError> {
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
        let standby = Arc::new(standby);
        let store = store_on(Database::read_only(Arc::<Standby>::clone(&standby)));
        Ok(OpenedStandby { standby, store })
    };
    urls.split_whitespace().map(open).collect::<Result<_, _>>().map_err(StoreError::ReplicaUrl)
}

impl Replicas {
    pub fn start(
        primary: &Arc<dyn WriteEngine>,
        past: Arc<PastReads>,
        standbys: Vec<OpenedStandby>,
        max_lag: Duration,
    ) -> Arc<Self> {
        let started = Arc::new(Self {
            past,
            primary: Arc::clone(primary),
            positions: SingleFlight::new(1, 1),
            noted: Mutex::new(PrimaryPositions::new(max_lag)),
            standbys,
            next: AtomicUsize::new(0),
            in_time: Counter::default(),
            in_vain: Counter::default(),
            tasks: Mutex::default(),
        });
        let mut tasks = started.tasks.lock();
        for OpenedStandby { standby, .. } in &started.standbys {
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
        started
    }

    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let history = self.past.history_id();
        let named = |standby: &Standby| [("standby", standby.server.target())];
        let lags = self.standbys.iter().filter_map(|OpenedStandby { standby, .. }| {
            let (_, lag) = self.usable(standby, &history)?;
            Some((named(standby), ConstGauge::new(lag.as_secs_f64())))
        });
        let help =
            "Upper bound of the lag of a standby of --replica-url; no series while it is not read.";
        write_series(encoder, "proposal_service_standby_lag_seconds", help, lags)?;
        let reads = self.standbys.iter().map(|OpenedStandby { standby, .. }| {
            (named(standby), ConstCounter::new(standby.reads.load(Ordering::Relaxed)))
        });
        let help = "Requests answered by a standby of --replica-url.";
        write_series(encoder, "proposal_service_standby_reads", help, reads)?;
        let waits = [("in_time", &self.in_time), ("in_vain", &self.in_vain)];
        let waits = waits.map(|(outcome, count)| ([("outcome", outcome)], count.clone()));
        let help = "Reads with a Consistency-Token that waited for a standby, by outcome: the position arrived in time or not.";
        write_series(encoder, "proposal_service_consistency_token_waits", help, waits)
    }

    pub async fn close(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
        for OpenedStandby { standby, .. } in &self.standbys {
            standby.close().await;
        }
    }

    async fn log_position(&self) -> Result<(u32, u64)> {
        let primary = Arc::clone(&self.primary);
        let read = move |_: Vec<()>| {
            let primary = Arc::clone(&primary);
            async move { vec![primary.log_position().await] }
        };
        self.positions.read((), read).await
    }

    async fn note_position(&self) {
        let asked = Instant::now();
        if let Ok((timeline, position)) = self.log_position().await {
            self.noted.lock().note(asked, timeline, position);
        }
    }

    /// The state of a standby, and its lag, while it may be read.
    fn usable(&self, standby: &Standby, history: &str) -> Option<(StandbyState, Duration)> {
        let state = standby.state()?;
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
            let standby = &self.standbys[index].standby;
            let (state, lag) = self.usable(standby, history)?;
            let has = |least| least <= state.replayed && state.connections == standby.connections();
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
        let near = self.standbys.iter().filter_map(|OpenedStandby { standby, .. }| {
            let (state, lag) = self.usable(standby, history)?;
            (lag <= HOPELESS).then_some((state.replayed, standby))
        });
        if let Some((_, standby)) = near.max_by_key(|(replayed, _)| *replayed) {
            let _ = timeout(LONGEST_WAIT, standby.replay(position)).await;
        }
    }
}

#[async_trait]
impl Standbys for Replicas {
    fn stores(&self) -> Vec<StandbyStore> {
        self.standbys.iter().map(|opened| opened.store.clone()).collect()
    }

    async fn position(&self) -> Result<LogPosition> {
        let (timeline, offset) = self.log_position().await?;
        Ok(LogPosition { history: self.past.history_on(timeline), offset })
    }

    async fn choose(&self, least: Option<LogPosition>) -> Option<ChosenStandby> {
        let history = self.past.history_id();
        let Some(LogPosition { history: of, offset }) = least else {
            return self.pick(&history, None);
        };
        // A position of another history or timeline cannot be waited for.
        if of != history || offset == u64::MAX {
            return None;
        }
        if let Some(chosen) = self.pick(&history, Some(offset)) {
            return Some(chosen);
        }
        self.wait(&history, offset).await;
        let chosen = self.pick(&history, Some(offset));
        let waits = if chosen.is_some() { &self.in_time } else { &self.in_vain };
        waits.inc();
        chosen
    }

    fn confirm(&self, chosen: &ChosenStandby) -> bool {
        let standby = &self.standbys[chosen.index].standby;
        let is_valid = chosen.connections.is_none_or(|known| known == standby.connections());
        if is_valid {
            standby.reads.fetch_add(1, Ordering::Relaxed);
        }
        is_valid
    }
}
