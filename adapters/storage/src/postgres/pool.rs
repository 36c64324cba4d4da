//! A pool in which every wait has a limit.
//!
//! The driver's own pool waits for a connection that is given back as long as it takes, and it pings
//! each. When open connections fall silent without a reset, as after the failover of an address, it
//! would never have room again. Here a connection is closed when it is not ready in time, and one
//! that answered as it should is given back without a ping.

use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Connection, Error as SqlxError};
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::metrics::StoreMetrics;
use crate::postgres::losses::Losses;
use crate::postgres::server::{LONGEST_SILENCE, Purpose, Server};

/// The time in which a connection that is tried must answer.
const PING: Duration = Duration::from_secs(2);

/// Pauses between attempts to connect to a server that is starting up; they double.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A connection idle for so long is closed when another is given back.
const IDLE_FOR: Duration = Duration::from_mins(10);

/// A connection is used for so long, then replaced by a new one.
const LIFETIME: Duration = Duration::from_mins(30);

/// The time that the connections in use have to come back when the pool is closed.
const CLOSING: Duration = Duration::from_secs(5);

/// Connections for one purpose.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    server: Arc<Server>,
    purpose: Purpose,
    connections: u32,
    permits: Arc<Semaphore>,
    /// The one used last is used next.
    idle: Mutex<Vec<Idle>>,
    losses: Arc<Losses>,
    acquire_timeout: Duration,
    metrics: Arc<StoreMetrics>,
}

struct Idle {
    connection: PgConnection,
    timeline: u32,
    opened: Instant,
    since: Instant,
}

/// A connection that is used by one at a time. Dropped it is closed, unless it is given back.
pub(crate) struct Lease {
    pub connection: PgConnection,
    /// The timeline of its server; 0 where the server does not tell.
    pub timeline: u32,
    opened: Instant,
    pool: Arc<Inner>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub fn new(
        server: Arc<Server>,
        purpose: Purpose,
        connections: u32,
        losses: Arc<Losses>,
        acquire_timeout: Duration,
        metrics: Arc<StoreMetrics>,
    ) -> Self {
        let permits = usize::try_from(connections).unwrap_or(Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner {
            server,
            purpose,
            connections,
            permits: Arc::new(Semaphore::new(permits)),
            idle: Mutex::default(),
            losses,
            acquire_timeout,
            metrics,
        }))
    }

    /// The name of the database for messages.
    pub fn target(&self) -> String {
        self.0.server.target()
    }

    /// The timeline of the server that the last connection was opened to.
    pub fn timeline(&self) -> u32 {
        self.0.server.timeline()
    }

    pub fn losses(&self) -> &Arc<Losses> {
        &self.0.losses
    }

    /// Waits for a connection, and opens one where none is idle.
    pub async fn acquire(&self) -> Result<Lease, DbErr> {
        let (began, metrics) = (Instant::now(), &self.0.metrics);
        let acquired = timeout(self.0.acquire_timeout, self.wait()).await;
        metrics.connection_wait.observe(began.elapsed().as_secs_f64());
        acquired.unwrap_or_else(|_| {
            metrics.connection_timeouts.inc();
            Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
        })
    }

    /// The metrics.
    pub fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.0.metrics
    }

    /// The numbers of connections in use, or being opened, and of idle ones.
    pub fn sizes(&self) -> (usize, usize) {
        let used = (self.0.connections as usize).saturating_sub(self.0.permits.available_permits());
        (used, self.0.idle.lock().len())
    }

    async fn wait(&self) -> Result<Lease, DbErr> {
        let permit = Arc::clone(&self.0.permits).acquire_owned().await;
        let closed = |_| DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed);
        let permit = permit.map_err(closed)?;
        let lease = |connection, timeline, opened| Lease {
            connection,
            timeline,
            opened,
            pool: Arc::clone(&self.0),
            _permit: permit,
        };
        if let Some(Idle { connection, timeline, opened, .. }) = self.0.usable().await {
            return Ok(lease(connection, timeline, opened));
        }
        let connected = self.0.connect().await;
        connected
            .map(|(connection, timeline)| lease(connection, timeline, Instant::now()))
            .map_err(|error| DbErr::Conn(RuntimeErr::SqlxError(error.into())))
    }

    /// Looks for a server that took over from the current one, which still accepts writes. Its
    /// connections are replaced.
    pub async fn find_successor(&self) {
        let Inner { server, purpose, losses, .. } = &*self.0;
        if !server.has_several() {
            return;
        }
        match server.connect_to_newest(*purpose, LONGEST_SILENCE).await {
            Ok((connection, timeline)) => {
                let known = server.timeline();
                if timeline > known {
                    tracing::warn!(
                        timeline,
                        known,
                        "the primary was replaced, although it still accepts writes"
                    );
                    // Before the timeline: what was read before is not of the new one.
                    losses.note();
                    server.set_timeline(timeline);
                }
                if let Err(error) = connection.close().await {
                    tracing::debug!(%error, "a PostgreSQL connection did not close cleanly");
                }
            }
            Err(error) => tracing::debug!(%error, "no server accepts writes"),
        }
    }

    /// Closes all connections, those in use when they come back.
    pub async fn close(&self) {
        let all = self.0.permits.acquire_many(self.0.connections);
        if timeout(CLOSING, all).await.is_err() {
            tracing::warn!("closing the pool although PostgreSQL connections are still in use");
        }
        self.0.permits.close();
        let idle = std::mem::take(&mut *self.0.idle.lock());
        for Idle { connection, .. } in idle {
            if !matches!(timeout(PING, connection.close()).await, Ok(Ok(()))) {
                tracing::debug!("a PostgreSQL connection did not close cleanly");
            }
        }
    }
}

impl Inner {
    /// An idle connection that may be used. When one is found dead the others that are as suspect
    /// are closed, too: to try them one by one would take longer than to open a new one.
    async fn usable(&self) -> Option<Idle> {
        let timeline = self.server.timeline();
        self.idle.lock().retain(|idle| idle.timeline == timeline);
        let mut idle = self.idle.lock().pop()?;
        if !self.is_suspect(&idle) {
            return Some(idle);
        }
        match self.server.check(&mut idle.connection, self.purpose, PING).await {
            Ok(()) => Some(idle),
            Err(error) => {
                tracing::info!(%error, "an idle connection was lost");
                self.losses.note();
                self.idle.lock().retain(|idle| !self.is_suspect(idle));
                self.idle.lock().pop()
            }
        }
    }

    fn is_suspect(&self, idle: &Idle) -> bool {
        self.losses.is_suspect(idle.opened.elapsed(), idle.since.elapsed())
    }

    /// Connects; a server that is starting up, or has no connection left, is waited for.
    async fn connect(&self) -> Result<(PgConnection, u32), SqlxError> {
        let (mut pause, longest) = PAUSES;
        loop {
            match self.server.connect(self.purpose).await {
                Err(error) if is_passing(&error) => {
                    sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                done => {
                    self.losses.connected();
                    return done.inspect(|(_, timeline)| self.server.set_timeline(*timeline));
                }
            }
        }
    }
}

impl Lease {
    /// Makes the connection available again.
    pub fn give_back(self) {
        let Self { connection, timeline, opened, pool, _permit } = self;
        let mut idle = pool.idle.lock();
        if idle.first().is_some_and(|longest| longest.since.elapsed() >= IDLE_FOR) {
            drop(idle.remove(0));
        }
        if opened.elapsed() < LIFETIME {
            idle.push(Idle { connection, timeline, opened, since: Instant::now() });
        }
    }
}

fn is_passing(error: &SqlxError) -> bool {
    match error {
        SqlxError::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        SqlxError::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}
