//! The lock that shows an instance that its database is restored.
//!
//! A dump is restored by dropping and creating the tables, whose numbers are part of the history's
//! id (`sql/postgres/history.sql`). Each instance keeps the table `history` locked in ACCESS SHARE
//! mode, so `DROP TABLE` waits for it. Every second another session takes the same lock, and the
//! earlier one lets it go: no transaction becomes old, and there is no gap. The new session must wait
//! only if another one, such as a restore, waits to change the table. Then the instance refuses reads
//! and writes, waits for the writes in progress, and lets the lock go. When it gets the lock again,
//! the id shows whether the database was restored.
//!
//! A read counts only if the lock was held from its beginning to its end. The server ends the
//! transaction of an instance that was stopped for a minute. Such an instance does not trust its lock
//! any more by then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use sea_orm::{ConnAcquireErr, DbErr, QueryResult};
use tokio::sync::{RwLockReadGuard, watch as channel};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::error::{StoreError, is_contended, is_lost};
use crate::postgres::connections::Connections;
use crate::postgres::session::{Limits, Session};
use crate::read::past::on_timeline;
use crate::sql::row_mapping;

/// How often another session takes the lock.
const PERIOD: Duration = Duration::from_secs(1);

/// The pause between two attempts to get it again.
const PAUSE: Duration = Duration::from_millis(200);

/// The time for which the lock counts as held. The server keeps it for a minute: the difference is
/// more than a statement takes that began before.
const TERM: Duration = Duration::from_secs(30);

/// The time that a request waits for the lock.
const WAIT: Duration = Duration::from_secs(3);

/// The time that writes in progress have to end. Their own limits are shorter.
const WRITES_END: Duration = Duration::from_secs(30);

const LIMITS: Limits = Limits { answer: Duration::from_secs(3), can_repeat: true };

/// One session takes the lock while the other holds it.
pub(crate) const CONNECTIONS: u32 = 2;

/// Takes the lock. It waits less than the server takes to look for a deadlock.
const TAKE: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL lock_timeout = '200ms'; ";

/// A restore creates foreign keys last.
const IS_COMPLETE: &str = "SELECT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass('items') AND contype = 'f') AS is_complete";

/// The lock of one instance.
pub(crate) struct HistoryLock {
    pool: Connections,
    state: channel::Sender<State>,
    /// The last known id.
    id: RwLock<Arc<str>>,
    writes: tokio::sync::RwLock<()>,
    watching: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The schema is still to be prepared.
    NotBegun,
    Held {
        since: Instant,
        confirmed: Instant,
    },
    /// Its connection was lost.
    Lost,
    /// Another session changes or restores the database.
    Changing,
}

/// The time since which the lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldSince(Option<Instant>);

impl State {
    fn held(self) -> Option<HeldSince> {
        match self {
            Self::NotBegun => Some(HeldSince(None)),
            Self::Held { since, confirmed } if confirmed.elapsed() < TERM => {
                Some(HeldSince(Some(since)))
            }
            Self::Held { .. } | Self::Lost | Self::Changing => None,
        }
    }
}

impl HistoryLock {
    pub fn new(pool: Connections) -> Arc<Self> {
        Arc::new(Self {
            pool,
            state: channel::Sender::new(State::NotBegun),
            id: RwLock::default(),
            writes: tokio::sync::RwLock::default(),
            watching: Mutex::default(),
        })
    }

    /// The id of the history in the database, which is the same on every timeline.
    pub fn id(&self) -> Arc<str> {
        Arc::clone(&self.id.read())
    }

    /// The id of the history that a session writes to.
    pub fn on(&self, session: &Session) -> Arc<str> {
        on_timeline(&self.id(), session.timeline())
    }

    /// Takes the lock, and keeps it from now on. The schema must be up to date.
    pub async fn begin(self: &Arc<Self>) -> Result<(), StoreError> {
        if self.watching.lock().is_some() {
            return Ok(());
        }
        let session = self.take().await?;
        let lock = Arc::clone(self);
        let watching = tokio::spawn(async move { lock.keep(session).await });
        *self.watching.lock() = Some(watching);
        Ok(())
    }

    /// Returns when the lock is held.
    pub async fn held(&self) -> Result<HeldSince, DbErr> {
        let state = *self.state.borrow();
        if let Some(held) = state.held() {
            return Ok(held);
        }
        let mut states = self.state.subscribe();
        let held = timeout(WAIT, states.wait_for(|state| state.held().is_some())).await;
        let held = held.ok().and_then(|state| state.ok()?.held());
        held.ok_or(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    /// Returns whether the lock was held all the time.
    pub fn is_held(&self, since: HeldSince) -> bool {
        self.state.borrow().held() == Some(since)
    }

    /// Returns false while another session changes or restores the database. After the loss of the
    /// connection a standby can be read, because its history is compared with the known one.
    pub fn has(&self) -> bool {
        !matches!(*self.state.borrow(), State::Changing)
    }

    /// Begins a write, which ends when the result is dropped: the lock is held until then.
    pub async fn write(&self) -> Result<RwLockReadGuard<'_, ()>, DbErr> {
        let held = self.held().await?;
        match self.writes.try_read() {
            Ok(writing) if self.is_held(held) => Ok(writing),
            _ => Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        }
    }

    pub async fn close(&self) {
        let watching = self.watching.lock().take();
        if let Some(watching) = watching {
            watching.abort();
            // The session is dropped when the task has ended.
            let _ = watching.await;
        }
        self.pool.close().await;
    }

    async fn keep(&self, mut session: Session) {
        loop {
            sleep(PERIOD).await;
            match self.take().await {
                Ok(next) => session = next,
                Err(error) if is_contended(&error) => {
                    tracing::warn!(
                        "another session changes or restores the database; requests fail until it ends"
                    );
                    self.state.send_replace(State::Changing);
                    if timeout(WRITES_END, self.writes.write()).await.is_err() {
                        tracing::warn!("writes are in progress while the database changes");
                    }
                    session = self.get_again(session).await;
                }
                Err(error) if is_lost(&error) => {
                    tracing::debug!(%error, "the lock of the history was lost");
                    self.state.send_replace(State::Lost);
                    session = self.get_again(session).await;
                }
                // The earlier session has the lock.
                Err(error) => tracing::warn!(%error, "cannot confirm the lock of the history"),
            }
        }
    }

    async fn get_again(&self, session: Session) -> Session {
        drop(session);
        loop {
            match self.take().await {
                Ok(session) => return session,
                Err(error) => tracing::debug!(%error, "cannot lock the history"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Takes the lock on another session. Fails while a restore is incomplete.
    async fn take(&self) -> Result<Session, DbErr> {
        let asked = Instant::now();
        let session = self.pool.session(LIMITS).await?;
        let text = [TAKE, sql_file!("postgres/history"), "; ", IS_COMPLETE].concat();
        let rows = session.begin_with(&text).await?;
        let [id, is_complete] = last_two(&rows)?;
        if !row_mapping::get::<bool>(is_complete, "is_complete")? {
            return Err(DbErr::RecordNotFound("the foreign keys of items".to_owned()));
        }
        self.note(row_mapping::get::<String>(id, "id")?, asked);
        Ok(session)
    }

    fn note(&self, id: String, confirmed: Instant) {
        let known = self.id();
        let is_known = *known == *id;
        if !is_known {
            if !known.is_empty() {
                tracing::warn!(history = id, "the database was restored: it has a new history");
            }
            // Before the id: values that were cached earlier belong to the old history.
            self.pool.losses().note();
            *self.id.write() = id.into();
        }
        self.state.send_modify(|state| {
            let since = match state.held() {
                Some(HeldSince(Some(since))) if is_known => since,
                _ => Instant::now(),
            };
            *state = State::Held { since, confirmed };
        });
    }
}

fn last_two(rows: &[Vec<QueryResult>]) -> Result<[&QueryResult; 2], DbErr> {
    let mut rows = rows.iter().flatten().rev();
    match (rows.next(), rows.next()) {
        (Some(last), Some(before)) => Ok([before, last]),
        _ => Err(DbErr::RecordNotFound("the history's id".to_owned())),
    }
}
