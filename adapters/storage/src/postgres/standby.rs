//! A standby, with a connection that watches its state. All reading connections must lead to the
//! watched server, so a read contains every change that the watcher saw replayed before.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sea_orm::{ConnectionTrait as _, QueryResult, Statement};
use tokio::sync::{Notify, watch as channel};
use tokio::time::{sleep, timeout};

use crate::StoreOptions;
use crate::engine::{ReadEngine, ReadMode, Workers};
use crate::error::{DbResult, StoreError, read_only};
use crate::metrics::StoreMetrics;
use crate::migration::schema_version::{self, Access};
use crate::postgres::connections::Connections;
use crate::postgres::readers::{Readers, WORKERS};
use crate::postgres::server::{Purpose, Server};
use crate::postgres::session::{Limits, Session};
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::sql::row_mapping::{first, get};

const TRUSTED_FOR: Duration = Duration::from_secs(3);

const INTERVAL: Duration = Duration::from_millis(500);

/// The interval while a read waits for a position.
const WHILE_AWAITED: Duration = Duration::from_millis(3);

const PAUSE: Duration = Duration::from_secs(1);

type Unusable = Box<dyn Error + Send + Sync>;

#[derive(Clone, Debug)]
pub(crate) struct StandbyState {
    pub history: Arc<str>,
    /// The timeline that it follows, or an earlier one for a while after a failover.
    pub timeline: u32,
    pub replayed: u64,
    /// The [connections](Standby::connections) before the look. While they are the same, no
    /// connection leads to a server that was restarted since, and may know less.
    pub connections: u64,
    at: Instant,
}

pub(crate) struct Standby {
    pub reads: AtomicU64,
    pub server: Arc<Server>,
    readers: Readers,
    watcher: Arc<Connections>,
    /// `None` while it cannot be read. Reads that wait for a position subscribe to it.
    state: channel::Sender<Option<StandbyState>>,
    is_awaited: Notify,
}

impl Standby {
    /// Connects when it is [watched](Self::watch). The metrics are those of the store.
    pub fn new(
        url: &str,
        options: &StoreOptions,
        metrics: &Arc<StoreMetrics>,
    ) -> Result<Self, StoreError> {
        let server = Arc::new(Server::parse(url, options, Arc::clone(metrics))?);
        Ok(Self {
            reads: AtomicU64::new(0),
            readers: Readers::new(&server, options.connections, 0),
            watcher: Connections::new(&server, Purpose::Watch, 1, None),
            server,
            state: channel::Sender::new(None),
            is_awaited: Notify::new(),
        })
    }

    pub fn state(&self) -> Option<StandbyState> {
        self.state.borrow().clone().filter(|state| state.at.elapsed() < TRUSTED_FOR)
    }

    pub fn connections(&self) -> u64 {
        self.server.losses.count()
    }

    /// Returns when it has replayed up to a position, or cannot be read any more.
    pub async fn replay(&self, position: u64) {
        let mut state = self.state.subscribe();
        self.is_awaited.notify_one();
        let has_replayed = |state: &StandbyState| {
            state.replayed >= position && state.connections == self.connections()
        };
        let is_over = |state: &Option<StandbyState>| state.as_ref().is_none_or(has_replayed);
        // The sender is not dropped while it is borrowed.
        let _ = state.wait_for(is_over).await;
    }

    /// Watches until the task is cancelled. Logs each new reason why the standby is unusable.
    pub async fn watch(&self) {
        let mut logged = String::new();
        loop {
            let Err(reason) = self.follow(&mut logged).await;
            self.state.send_replace(None);
            let reason = reason.to_string();
            if reason != logged {
                tracing::warn!(standby = self.server.target(), reason, "a standby cannot be read");
                logged = reason;
            }
            sleep(PAUSE).await;
        }
    }

    async fn follow(&self, logged: &mut String) -> Result<Infallible, Unusable> {
        let session = self.watcher.session(Limits::BRIEF).await?;
        loop {
            let state = self.look(&session).await?;
            if self.state.send_replace(Some(state)).is_none() {
                tracing::info!(standby = self.server.target(), "a standby is read");
                logged.clear();
            }
            if self.state.receiver_count() == 0 {
                let _ = timeout(INTERVAL, self.is_awaited.notified()).await;
            } else {
                sleep(WHILE_AWAITED).await;
            }
        }
    }

    /// Reads the history first: a restored one may arrive while it is watched.
    async fn look(&self, session: &Session) -> Result<StandbyState, Unusable> {
        let (at, connections) = (Instant::now(), self.connections());
        let history = schema_version::history(session).await?.into();
        // Each time: a schema that this service cannot read may arrive while it is watched.
        if !schema_version::is_up_to_date(session, Access::Read).await? {
            return Err("its schema is older than this service".into());
        }
        let state = POSTGRES.statement(sql_file!("postgres/servers/standby_state"), []);
        let rows = session.query_all_raw(state).await?;
        let row = first(&rows)?;
        let (is_standby, timeline) = (get(row, "is_standby")?, get::<i64>(row, "timeline")?);
        self.server.watch(get(row, "started")?);
        let Some(replayed) = get::<Option<i64>>(row, "replayed")?.filter(|_| is_standby) else {
            return Err("it accepts writes itself, or has not replayed any data".into());
        };
        let (timeline, replayed) = (u32::try_from(timeline)?, replayed.cast_unsigned());
        Ok(StandbyState { history, timeline, replayed, connections, at })
    }
}

#[async_trait]
impl ReadEngine for Standby {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.server.metrics
    }

    fn workers(&self) -> Workers {
        WORKERS
    }

    async fn read(&self, statement: Statement, mode: ReadMode) -> DbResult<Vec<QueryResult>> {
        if mode.is_settled {
            return Err(read_only());
        }
        self.readers.read(&statement, mode).await
    }

    fn losses(&self) -> u64 {
        self.connections()
    }

    async fn close(&self) {
        self.watcher.close().await;
        self.readers.close().await;
    }
}

/// Positions of the primary, which show the lag of standbys. Without writes, the time of the last
/// replayed transaction does not. A standby with a recorded position is as current as the primary
/// was then. While the primary is unreachable the lag grows: missing changes are unknown.
#[derive(Debug)]
pub(crate) struct PrimaryPositions {
    longest: Duration,
    pub timeline: u32,
    /// The oldest first.
    noted: VecDeque<(Instant, u64)>,
}

impl PrimaryPositions {
    pub const fn new(longest: Duration) -> Self {
        Self { longest, timeline: 0, noted: VecDeque::new() }
    }

    pub fn note(&mut self, asked: Instant, timeline: u32, position: u64) {
        if timeline != self.timeline {
            // On another timeline the same position is another state.
            self.noted.clear();
            self.timeline = timeline;
        }
        let is_too_old = |(then, _): &(Instant, u64)| asked.duration_since(*then) > self.longest;
        while self.noted.front().is_some_and(is_too_old) {
            self.noted.pop_front();
        }
        self.noted.push_back((asked, position));
    }

    /// The longest possible lag of a server that has replayed a position; `None` if it is too long.
    pub fn lag(&self, replayed: u64, now: Instant) -> Option<Duration> {
        let has = self.noted.partition_point(|(_, position)| *position <= replayed);
        let (asked, _) = self.noted.get(has.checked_sub(1)?)?;
        Some(now.saturating_duration_since(*asked)).filter(|lag| *lag <= self.longest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::PrimaryPositions;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_lag_is_the_age_of_the_newest_position_that_was_replayed() {
        let begin = Instant::now();
        let at = |seconds| begin + SECOND * seconds;
        let mut primary = PrimaryPositions::new(SECOND * 9);
        assert_eq!(primary.lag(u64::MAX, begin), None, "nothing is known");
        for (second, position) in [(0, 10), (1, 20), (2, 20), (3, 30)] {
            primary.note(at(second), 1, position);
        }
        for (replayed, lag) in
            [(9, None), (10, Some(4)), (19, Some(4)), (20, Some(2)), (30, Some(1)), (99, Some(1))]
        {
            assert_eq!(primary.lag(replayed, at(4)), lag.map(|lag| SECOND * lag), "{replayed}");
        }
    }

    #[test]
    fn without_a_primary_the_lag_grows() {
        let begin = Instant::now();
        let mut primary = PrimaryPositions::new(SECOND * 9);
        primary.note(begin, 1, 10);
        assert_eq!(primary.lag(10, begin + SECOND * 9), Some(SECOND * 9));
        assert_eq!(primary.lag(10, begin + SECOND * 10), None);
    }

    #[test]
    fn nothing_counts_of_another_timeline() {
        let now = Instant::now();
        let mut primary = PrimaryPositions::new(SECOND);
        primary.note(now, 1, 10);
        primary.note(now, 2, 20);
        assert_eq!((primary.lag(10, now), primary.timeline), (None, 2));
        assert_eq!(primary.lag(20, now), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let begin = Instant::now();
        let mut primary = PrimaryPositions::new(SECOND * 9);
        for second in 0..100 {
            primary.note(begin + SECOND * second, 1, second.into());
        }
        assert_eq!(primary.noted.len(), 10);
    }
}
