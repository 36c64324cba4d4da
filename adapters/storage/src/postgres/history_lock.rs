//! The lock that shows an instance that its database is restored. A restored dump drops and creates
//! the tables, whose numbers are part of the history's id (`sql/postgres/history.sql`). Each
//! instance locks the table `history` in ACCESS SHARE mode, so `DROP TABLE` waits. Every second
//! another session takes the same lock, and the earlier one releases it: no transaction becomes
//! old, and there is no gap. The new session waits only if another one, such as a restore, waits to
//! change the table. Then the instance refuses requests, waits for the writes in progress, and
//! releases the lock. When it has the lock again, the id shows whether the database was restored. A
//! read counts only if the lock was held all the time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::{RwLockReadGuard, watch as channel};
use tokio::time::{sleep, timeout};

use crate::error::{DbResult, is_contended, is_lost};
use crate::postgres::connections::Connections;
use crate::postgres::session::{Effect, Limits, Session};
use crate::sql::row_mapping::get;

const PERIOD: Duration = Duration::from_secs(1);

const PAUSE: Duration = Duration::from_millis(200);

/// The time for which the lock counts as held. The server ends the transaction of a stopped
/// instance after a minute: the difference is longer than an earlier statement takes.
const TERM: Duration = Duration::from_secs(30);

const WAIT: Duration = Duration::from_secs(3);

/// The time limit for writes in progress. Their own limits are shorter.
const WRITES_END: Duration = Duration::from_secs(30);

/// One session takes the lock while the other holds it.
pub(crate) const CONNECTIONS: u32 = 2;

/// Takes the lock. It waits less than the server takes to look for a deadlock.
const TAKE: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL lock_timeout = '200ms'; ";

/// A restore creates foreign keys last.
const IS_COMPLETE: &str = "SELECT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass('items') AND contype = 'f') AS is_complete";

pub(crate) struct HistoryLock {
    pub pool: Arc<Connections>,
    state: channel::Sender<State>,
    id: RwLock<Arc<str>>,
    writes: tokio::sync::RwLock<()>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Held {
        since: Instant,
        /// `None` while the schema is still to be prepared: then there is no lock.
        confirmed: Option<Instant>,
    },
    Lost,
    /// Another session changes or restores the database.
    Changing,
}

impl State {
    fn held(self) -> Option<Instant> {
        match self {
            Self::Held { since, confirmed } => {
                confirmed.is_none_or(|confirmed| confirmed.elapsed() < TERM).then_some(since)
            }
            Self::Lost | Self::Changing => None,
        }
    }
}

impl HistoryLock {
    pub fn new(pool: Arc<Connections>) -> Self {
        let state = State::Held { since: Instant::now(), confirmed: None };
        let (state, id) = (channel::Sender::new(state), RwLock::default());
        Self { pool, state, id, writes: tokio::sync::RwLock::default() }
    }

    pub fn id(&self) -> Arc<str> {
        Arc::clone(&self.id.read())
    }

    /// Waits until the lock is held. Returns the time since which it is.
    pub async fn held(&self) -> DbResult<Instant> {
        let mut states = self.state.subscribe();
        let held = timeout(WAIT, states.wait_for(|state| state.held().is_some())).await;
        let held = held.ok().and_then(|state| state.ok()?.held());
        held.ok_or(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    pub fn is_held(&self, since: Instant) -> bool {
        self.state.borrow().held() == Some(since)
    }

    /// Returns false while another session changes the database. After a lost connection a standby
    /// can be read, because its history is compared with the known one.
    pub fn has(&self) -> bool {
        !matches!(*self.state.borrow(), State::Changing)
    }

    /// Begins a write, which ends when the result is dropped: the lock is held until then.
    pub async fn write(&self) -> DbResult<RwLockReadGuard<'_, ()>> {
        let held = self.held().await?;
        match self.writes.try_read() {
            Ok(writing) if self.is_held(held) => Ok(writing),
            _ => Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        }
    }

    pub fn is_kept(&self) -> bool {
        !matches!(*self.state.borrow(), State::Held { confirmed: None, .. })
    }

    /// Keeps the lock that a session [took](Self::take), until the task is cancelled.
    pub async fn keep(&self, session: Session) {
        let mut session = Some(session);
        loop {
            sleep(if session.is_some() { PERIOD } else { PAUSE }).await;
            match self.take().await {
                Ok(next) => session = Some(next),
                Err(error) if session.is_none() => {
                    tracing::debug!(%error, "cannot lock the history");
                }
                Err(error) if is_contended(&error) => {
                    tracing::warn!(
                        "another session changes or restores the database; requests fail until it ends"
                    );
                    self.state.send_replace(State::Changing);
                    if timeout(WRITES_END, self.writes.write()).await.is_err() {
                        tracing::warn!("writes are in progress while the database changes");
                    }
                    session = None;
                }
                Err(error) if is_lost(&error) => {
                    tracing::debug!(%error, "the lock of the history was lost");
                    self.state.send_replace(State::Lost);
                    session = None;
                }
                // The earlier session has the lock.
                Err(error) => tracing::warn!(%error, "cannot confirm the lock of the history"),
            }
        }
    }

    /// Takes the lock on another session. Fails while a restore is incomplete.
    pub async fn take(&self) -> DbResult<Session> {
        let confirmed = Instant::now();
        let session = self.pool.session(Limits::BRIEF).await?;
        let text = [TAKE, sql_file!("postgres/history"), "; ", IS_COMPLETE].concat();
        let rows = session.run(Effect::Begin, text).await?;
        let rows = rows.into_iter().flatten().collect::<Vec<_>>();
        let [id, is_complete] = &rows[..] else {
            return Err(DbErr::RecordNotFound("the history's id".to_owned()));
        };
        if !get::<bool>(is_complete, "is_complete")? {
            return Err(DbErr::RecordNotFound("the foreign keys of items".to_owned()));
        }
        self.note(get(id, "id")?, confirmed);
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
            self.pool.server.losses.note();
            *self.id.write() = id.into();
        }
        self.state.send_modify(|state| {
            let since = state.held().filter(|_| is_known).unwrap_or_else(Instant::now);
            *state = State::Held { since, confirmed: Some(confirmed) };
        });
    }
}
