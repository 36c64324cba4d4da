//! The server, and the settings of the connections to it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Error as SqlxError, Row as _, raw_sql,
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::StoreError;
use crate::postgres::server_process::ServerProcess;

/// Statements a connection keeps prepared: more than this crate has.
const STATEMENTS_KEPT: usize = 256;

/// The time that each of several servers has to answer.
pub(crate) const LONGEST_SILENCE: Duration = Duration::from_secs(1);

/// The time that the others have when one of several servers accepts writes: one of them may have
/// taken over from it.
const OTHERS_ANSWER: Duration = Duration::from_millis(250);

type Setting = (&'static str, &'static str);

/// The settings of all connections. The server ends a transaction in which nothing happens, as that
/// of an instance that was stopped, and so frees what it has locked.
const SAFETY: &[Setting] = &[("idle_in_transaction_session_timeout", "5s"), ("lock_timeout", "8s")];

/// The settings of connections that write. Each statement is planned once. The statements find items
/// by their identifiers only, so sequential scans are never better, however small the tables are at
/// that time. JIT compilation is off, because it takes longer than the execution. A read behind the
/// fence must see all earlier writes, so the isolation level does not depend on the default of the
/// database.
const WRITING: &[Setting] = &[
    ("statement_timeout", "20s"),
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
    ("default_transaction_isolation", "read committed"),
];

/// The settings of connections that read items, answers and usual pages. A plan that is made while
/// a table has few rows is kept when it has many, and would scan it for each; without a usable index
/// a table is scanned all the same.
const READING: &[Setting] =
    &[("enable_seqscan", "off"), ("jit", "off"), ("max_parallel_workers_per_gather", "0")];

/// The settings of connections for statements that may take long: each keeps one processor busy.
const SEARCHING: &[Setting] =
    &[("max_parallel_workers_per_gather", "0"), ("statement_timeout", "40s")];

/// The server's limits for clients that are gone. They are not checked: a connection that does not
/// go over TCP has none, a pooler has its own, and not every system can look for the last one.
const NETWORK: &str = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
                       SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'; \
                       SET client_connection_check_interval = '2s'";

/// The first eight digits of the name of a file of the write-ahead log are those of the timeline.
const TIMELINE: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() \
                        THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END";

/// The use that is made of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Search,
    Write,
}

impl Purpose {
    pub fn settings(self) -> impl Iterator<Item = &'static Setting> {
        let own = match self {
            Self::Read => READING,
            Self::Search => SEARCHING,
            Self::Write => WRITING,
        };
        SAFETY.iter().chain(own)
    }
}

/// Settings that a connection does not have though they were made.
#[derive(Debug)]
struct SettingsLost(Vec<Setting>);

impl fmt::Display for SettingsLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
        write!(f, "the connection does not keep its settings: {}", names.join(", "))
    }
}

impl std::error::Error for SettingsLost {}

/// One server, or several; exactly one of them accepts writes.
pub(crate) struct Server {
    servers: Vec<PgConnectOptions>,
    /// The one that took the last connection.
    current: AtomicUsize,
    timeline: AtomicU32,
    /// The one that every connection must go to, if it matters.
    process: Option<Arc<ServerProcess>>,
}

impl Server {
    /// Reads one URL, or several that are separated by spaces.
    pub fn parse(urls: &str) -> Result<Self, StoreError> {
        let options = |url: &str| {
            let options: PgConnectOptions = url.parse()?;
            // A float is read as it is stored, and poolers do not know this setting.
            let options = options.extra_float_digits(None).disable_statement_logging();
            Ok::<_, SqlxError>(options.statement_cache_capacity(STATEMENTS_KEPT))
        };
        let servers = urls.split_whitespace().map(options).collect::<Result<Vec<_>, _>>();
        let servers = servers.map_err(|error| StoreError::InvalidUrl(error.to_string()))?;
        let (current, timeline) = (AtomicUsize::new(0), AtomicU32::new(0));
        Ok(Self { servers, current, timeline, process: None })
    }

    /// The same server, where every connection must go to this process.
    pub fn bound_to(self, process: Arc<ServerProcess>) -> Self {
        Self { process: Some(process), ..self }
    }

    /// The options of the server that took the last connection.
    pub fn options(&self) -> &PgConnectOptions {
        &self.servers[self.current.load(Ordering::Relaxed) % self.servers.len()]
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

    /// Connects to the server that takes writes, and returns its [timeline](Self::timeline). Where
    /// there is only one it is read from in any case.
    pub async fn connect(&self, purpose: Purpose) -> Result<(PgConnection, u32), SqlxError> {
        let [server] = &self.servers[..] else {
            return self.connect_to_newest(purpose, OTHERS_ANSWER).await;
        };
        let mut connection = connect(server, purpose, purpose == Purpose::Write).await?;
        let timeline = match &self.process {
            Some(process) => process.require(&mut connection).await.map(|()| 0)?,
            None => self.timeline_of(&mut connection).await?,
        };
        Ok((connection, timeline))
    }

    /// The timeline of the server that took the last connection; 0 where it does not tell.
    pub fn timeline(&self) -> u32 {
        self.timeline.load(Ordering::Acquire)
    }

    /// Takes note of the timeline of a new connection, before it is used: nothing that is read on it
    /// counts as of the timeline before. Of several servers the newest counts.
    pub fn set_timeline(&self, timeline: u32) {
        if self.has_several() {
            self.timeline.fetch_max(timeline, Ordering::AcqRel);
        } else {
            self.timeline.store(timeline, Ordering::Release);
        }
    }

    async fn timeline_of(&self, connection: &mut PgConnection) -> Result<u32, SqlxError> {
        match raw_sql(TIMELINE).fetch_one(connection).await {
            Ok(row) => {
                let timeline = row.try_get::<Option<&str>, _>(0)?;
                let number = timeline.and_then(|hex| u32::from_str_radix(hex, 16).ok());
                Ok(number.unwrap_or_default())
            }
            Err(SqlxError::Database(error)) => {
                tracing::debug!(%error, "cannot read the timeline of the server");
                Ok(self.timeline())
            }
            Err(error) => Err(error),
        }
    }

    /// Asks all servers at once; when one accepts writes, the others have a limited time. Of those
    /// that accept writes the one with the greatest timeline took over from the others. An earlier
    /// timeline than the known one is refused: a server whose Patroni hangs accepts writes after it
    /// was replaced, and loses them when it learns of its successor.
    pub async fn connect_to_newest(
        &self,
        purpose: Purpose,
        others_answer: Duration,
    ) -> Result<(PgConnection, u32), SqlxError> {
        let current = self.current.load(Ordering::Relaxed);
        let connecting = self.servers.iter().enumerate().map(async |(number, server)| {
            let mut connection = connect(server, purpose, true).await?;
            let timeline = self.timeline_of(&mut connection).await?;
            Ok::<_, SqlxError>(((timeline, number == current), number, connection))
        });
        let mut answers: FuturesUnordered<_> = connecting.collect();
        let (mut accepting, mut failed) = (Vec::new(), None);
        let mut until = Instant::now() + LONGEST_SILENCE;
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
        self.require_timeline(timeline)?;
        if !is_current {
            self.current.store(number, Ordering::Relaxed);
            let server = &self.servers[number];
            let (host, port) = (server.get_host(), server.get_port());
            tracing::info!(host, port, timeline, "another PostgreSQL server accepts the writes");
        }
        Ok((connection, timeline))
    }

    /// Returns an error for an earlier timeline than that of another server. It is unknown where the
    /// server does not tell.
    fn require_timeline(&self, timeline: u32) -> Result<(), SqlxError> {
        let known = self.timeline();
        if timeline == 0 || timeline >= known {
            return Ok(());
        }
        let reason = format!(
            "the server is on timeline {timeline} and was replaced by one on timeline {known}; restart the service to use it again"
        );
        Err(SqlxError::Io(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, reason)))
    }

    pub const fn has_several(&self) -> bool {
        self.servers.len() > 1
    }

    /// The user of the server that took the last connection.
    pub fn user(&self) -> &str {
        self.options().get_username()
    }

    /// Tries a connection that has been idle.
    pub async fn check(
        &self,
        connection: &mut PgConnection,
        purpose: Purpose,
        limit: Duration,
    ) -> Result<(), SqlxError> {
        let must_write = purpose == Purpose::Write || self.has_several();
        let check = async {
            match &self.process {
                Some(process) => process.require(connection).await,
                None if must_write => require_writable(connection).await,
                None => connection.ping().await,
            }
        };
        timeout(limit, check).await.unwrap_or_else(|_| Err(silence()))
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

/// That a connection has the settings of its purpose. Startup options and settings are lost behind
/// some poolers.
pub(crate) async fn verify(
    connection: &mut PgConnection,
    purpose: Purpose,
) -> Result<(), SqlxError> {
    let current = purpose.settings().map(|(name, _)| format!("current_setting('{name}')"));
    let current = format!("SELECT {}", current.collect::<Vec<_>>().join(", "));
    let row = raw_sql(AssertSqlSafe(current)).fetch_one(connection).await?;
    let mut lost = Vec::new();
    for (column, setting) in purpose.settings().enumerate() {
        if row.try_get::<&str, _>(column)? != setting.1 {
            lost.push(*setting);
        }
    }
    if lost.is_empty() { Ok(()) } else { Err(SqlxError::Configuration(SettingsLost(lost).into())) }
}

/// The error of connections that keep none of the settings of their purpose.
pub(crate) fn settings_lost(purpose: Purpose) -> SqlxError {
    SqlxError::Configuration(SettingsLost(purpose.settings().copied().collect()).into())
}

/// Returns an error if a server takes no writes.
pub(crate) async fn require_writable(connection: &mut PgConnection) -> Result<(), SqlxError> {
    let answer = raw_sql("SHOW transaction_read_only").fetch_one(connection).await?;
    if answer.try_get::<&str, _>(0)? == "off" {
        return Ok(());
    }
    let reason = "the server takes no writes: it is a standby, or read-only";
    Err(SqlxError::Io(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, reason)))
}

fn silence() -> SqlxError {
    SqlxError::Io(io::Error::new(io::ErrorKind::TimedOut, "no response from the server"))
}
