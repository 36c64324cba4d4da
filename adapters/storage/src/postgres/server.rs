//! The server, and the settings of the connections to it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Error as SqlxError, Row as _, raw_sql,
};
use tokio::time::{Instant, timeout_at};

use crate::error::StoreError;
use crate::metrics::StoreMetrics;
use crate::options::StoreOptions;
use crate::postgres::losses::Losses;
use crate::postgres::session::lost;

/// Prepared statements per connection: more than this crate has.
const STATEMENTS_KEPT: usize = 256;

const LONGEST_SILENCE: Duration = Duration::from_secs(1);

/// The time for the other servers after one accepted writes: another may have taken over.
const OTHERS_ANSWER: Duration = Duration::from_millis(250);

type Setting = (&'static str, &'static str);

/// The server ends the idle transaction of a stopped instance, and so frees its locks.
const SAFETY: &[Setting] = &[("idle_in_transaction_session_timeout", "5s"), ("lock_timeout", "8s")];

/// Statements are planned once, for tables of any size. They find items by ids, so sequential scans
/// are never better. JIT takes longer than the execution. A read behind the fence must see all
/// earlier writes, also if the default isolation level is another one.
const WRITING: &[Setting] = &[
    ("statement_timeout", "20s"),
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
    ("default_transaction_isolation", "read committed"),
];

/// A plan made for few rows is kept for many, and would scan the table for each. Without a usable
/// index a table is scanned all the same. Parallel workers take about 40 ms to start (docs/capacity.md).
const READING: &[Setting] =
    &[("enable_seqscan", "off"), ("jit", "off"), ("max_parallel_workers_per_gather", "0")];

/// Each of these statements keeps one processor busy.
const SEARCHING: &[Setting] =
    &[("max_parallel_workers_per_gather", "0"), ("statement_timeout", "40s")];

/// Limits for clients that are gone. Not verified: poolers have their own; some systems lack some.
const NETWORK: &str = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
                       SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'; \
                       SET client_connection_check_interval = '2s'";

/// The name of a file of the write-ahead log begins with the timeline.
const TIMELINE: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() \
                        THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";

/// No two servers were started in the same microsecond.
const STARTED: &str = "SELECT pg_postmaster_start_time()::text";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Search,
    Write,
    /// Watches a standby: leads to any server, the others only to the watched one.
    Watch,
}

impl Purpose {
    pub fn settings(self) -> impl Iterator<Item = &'static Setting> {
        let own = match self {
            Self::Read | Self::Watch => READING,
            Self::Search => SEARCHING,
            Self::Write => WRITING,
        };
        SAFETY.iter().chain(own)
    }
}

/// One server, or several; exactly one of them accepts writes.
pub(crate) struct Server {
    servers: Vec<PgConnectOptions>,
    current: AtomicUsize,
    timeline: AtomicU32,
    /// Start of the watched standby; empty for a primary. An address may lead to several servers,
    /// which have replayed the log to different positions.
    started: Mutex<String>,
    pub losses: Losses,
    pub acquire_timeout: Duration,
    pub metrics: Arc<StoreMetrics>,
}

impl Server {
    pub fn parse(
        urls: &str,
        options: &StoreOptions,
        metrics: Arc<StoreMetrics>,
    ) -> Result<Self, StoreError> {
        let options_of = |url: &str| {
            let options: PgConnectOptions = url.parse()?;
            // A float is read as it is stored, and poolers do not know this setting.
            let options = options.extra_float_digits(None).disable_statement_logging();
            Ok::<_, SqlxError>(options.statement_cache_capacity(STATEMENTS_KEPT))
        };
        let servers = urls.split_whitespace().map(options_of).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            servers: servers.map_err(|error| StoreError::InvalidUrl(error.to_string()))?,
            current: AtomicUsize::new(0),
            timeline: AtomicU32::new(0),
            started: Mutex::default(),
            losses: Losses::default(),
            acquire_timeout: options.acquire_timeout,
            metrics,
        })
    }

    pub fn options(&self) -> &PgConnectOptions {
        &self.servers[self.current.load(Ordering::Relaxed)]
    }

    /// The name of the database for messages, without credentials.
    pub fn target(&self) -> String {
        let database = self.options().get_database().unwrap_or("postgres");
        let places = self
            .servers
            .iter()
            .map(|server| format!("{}:{}", server.get_host(), server.get_port()));
        format!("{database} at {}", places.collect::<Vec<_>>().join(", "))
    }

    pub fn timeline(&self) -> u32 {
        self.timeline.load(Ordering::Acquire)
    }

    /// Connects to the server that takes writes, or to the only one. Returns its timeline, too.
    pub async fn connect(&self, purpose: Purpose) -> Result<(PgConnection, u32), SqlxError> {
        let connected = self.connect_to_newest(purpose, OTHERS_ANSWER).await?;
        self.losses.connected();
        self.set_timeline(connected.1);
        Ok(connected)
    }

    /// Records the timeline of a new connection before its use, so that no value read on it counts
    /// as one of the timeline before. Of several servers the newest counts.
    fn set_timeline(&self, timeline: u32) {
        if self.has_several() {
            self.timeline.fetch_max(timeline, Ordering::AcqRel);
        } else {
            self.timeline.store(timeline, Ordering::Release);
        }
    }

    /// Looks for a server that took over although the current one still accepts writes.
    pub async fn find_successor(&self) {
        if !self.has_several() {
            return;
        }
        match self.connect_to_newest(Purpose::Write, LONGEST_SILENCE).await {
            Ok((_, timeline)) => {
                let known = self.timeline();
                if timeline > known {
                    tracing::warn!(
                        timeline,
                        known,
                        "the primary was replaced, although it still accepts writes"
                    );
                    // Before the timeline: values that were cached earlier belong to the old one.
                    self.losses.note();
                    self.set_timeline(timeline);
                }
            }
            Err(error) => tracing::debug!(%error, "no server accepts writes"),
        }
    }

    /// Asks all servers at once. Of those that accept writes, the one with the greatest timeline
    /// took over. An earlier timeline is refused: a server whose Patroni hangs accepts writes after
    /// its replacement, and loses them when it learns of its successor.
    async fn connect_to_newest(
        &self,
        purpose: Purpose,
        others_answer: Duration,
    ) -> Result<(PgConnection, u32), SqlxError> {
        let has_several = self.has_several();
        let current = self.current.load(Ordering::Relaxed);
        let connecting = self.servers.iter().enumerate().map(async |(number, server)| {
            let mut connection =
                connect(server, purpose, has_several || purpose == Purpose::Write).await?;
            self.require_watched(&mut connection, purpose).await?;
            let timeline = self.timeline_of(&mut connection).await?;
            Ok::<_, SqlxError>(((timeline, number == current), number, connection))
        });
        let mut answers: FuturesUnordered<_> = connecting.collect();
        let (mut accepting, mut failed) = (Vec::new(), None);
        let longest = if has_several { LONGEST_SILENCE } else { self.acquire_timeout };
        let mut until = Instant::now() + longest;
        while let Ok(Some(answer)) = timeout_at(until, answers.next()).await {
            match answer {
                Ok(connected) => {
                    until = until.min(Instant::now() + others_answer);
                    accepting.push(connected);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let newest = accepting.into_iter().max_by_key(|(rank, ..)| *rank);
        let Some(((timeline, is_current), number, connection)) = newest else {
            return Err(failed.unwrap_or_else(silence));
        };
        let known = self.timeline();
        // The timeline is 0 if the server does not report it.
        if has_several && timeline != 0 && timeline < known {
            let reason = format!(
                "the server is on timeline {timeline} and was replaced by one on timeline {known}; restart the service to use it again"
            );
            return Err(lost(io::ErrorKind::ReadOnlyFilesystem, reason));
        }
        if !is_current {
            self.current.store(number, Ordering::Relaxed);
            let server = &self.servers[number];
            let (host, port) = (server.get_host(), server.get_port());
            tracing::info!(host, port, timeline, "another PostgreSQL server accepts the writes");
        }
        Ok((connection, timeline))
    }

    async fn timeline_of(&self, connection: &mut PgConnection) -> Result<u32, SqlxError> {
        match raw_sql(TIMELINE).fetch_one(connection).await {
            Ok(row) => {
                let timeline = row.try_get::<Option<i64>, _>(0)?;
                Ok(timeline.and_then(|number| u32::try_from(number).ok()).unwrap_or_default())
            }
            Err(SqlxError::Database(error)) => {
                tracing::debug!(%error, "cannot read the timeline of the server");
                Ok(self.timeline())
            }
            Err(error) => Err(error),
        }
    }

    fn has_several(&self) -> bool {
        self.servers.len() > 1
    }

    pub async fn check(
        &self,
        connection: &mut PgConnection,
        purpose: Purpose,
    ) -> Result<(), SqlxError> {
        if purpose == Purpose::Write || self.has_several() {
            return require_writable(connection).await;
        }
        connection.ping().await?;
        self.require_watched(connection, purpose).await
    }

    /// Records the watched standby. Connections to another one are lost.
    pub fn watch(&self, started: String) {
        let mut known = self.started.lock();
        if *known != started {
            *known = started;
            self.losses.note();
        }
    }

    async fn require_watched(
        &self,
        connection: &mut PgConnection,
        purpose: Purpose,
    ) -> Result<(), SqlxError> {
        if purpose == Purpose::Watch || self.started.lock().is_empty() {
            return Ok(());
        }
        let row = raw_sql(STARTED).fetch_one(connection).await?;
        if *self.started.lock() == row.try_get::<&str, _>(0)? {
            return Ok(());
        }
        let reason = "the address leads to another server than the one that is watched";
        Err(lost(io::ErrorKind::AddrNotAvailable, reason))
    }
}

async fn connect(
    server: &PgConnectOptions,
    purpose: Purpose,
    must_write: bool,
) -> Result<PgConnection, SqlxError> {
    let mut connection = server.connect().await?;
    if must_write {
        require_writable(&mut connection).await?;
    }
    let set = purpose.settings().map(|(name, value)| format!("SET {name} = '{value}'"));
    let set = set.collect::<Vec<_>>().join("; ");
    raw_sql(AssertSqlSafe(set)).execute(&mut connection).await?;
    if let Err(error) = raw_sql(NETWORK).execute(&mut connection).await {
        tracing::debug!(%error, "cannot set limits for disconnected clients on the server");
    }
    verify(&mut connection, purpose).await?;
    Ok(connection)
}

/// Some poolers lose startup options and settings.
pub(crate) async fn verify(
    connection: &mut PgConnection,
    purpose: Purpose,
) -> Result<(), SqlxError> {
    let given = purpose.settings().map(|(name, value)| format!("('{name}', '{value}')"));
    let given = given.collect::<Vec<_>>().join(", ");
    let lost = format!(
        "SELECT string_agg(name, ', ') FROM (VALUES {given}) AS given (name, value) WHERE current_setting(name) <> value"
    );
    let row = raw_sql(AssertSqlSafe(lost)).fetch_one(connection).await?;
    row.try_get::<Option<&str>, _>(0)?.map_or(Ok(()), |names| Err(settings_lost(names)))
}

pub(crate) fn settings_lost(reason: &str) -> SqlxError {
    let reason = format!("the connection does not keep its settings: {reason}");
    SqlxError::Configuration(reason.into())
}

async fn require_writable(connection: &mut PgConnection) -> Result<(), SqlxError> {
    let answer = raw_sql("SHOW transaction_read_only").fetch_one(connection).await?;
    if answer.try_get::<&str, _>(0)? == "off" {
        return Ok(());
    }
    let reason = "the server takes no writes: it is a standby, or read-only";
    Err(lost(io::ErrorKind::ReadOnlyFilesystem, reason))
}

pub(crate) fn silence() -> SqlxError {
    lost(io::ErrorKind::TimedOut, "no response from the server")
}
