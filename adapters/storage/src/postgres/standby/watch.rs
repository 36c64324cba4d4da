//! The watch over a standby.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sea_orm::{ConnectionTrait as _, DbErr, QueryResult};
use thiserror::Error;
use tokio::time::{sleep, timeout};

use crate::error::StoreError;
use crate::migration::schema_version::{self, Access};
use crate::postgres::server_process::STARTED;
use crate::postgres::session::{Limits, Session};
use crate::postgres::standby::{Standby, StandbyState};
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// How often it is looked at while somebody waits for a position.
const WHILE_AWAITED: Duration = Duration::from_millis(3);

/// The pause before another attempt to connect.
const PAUSE: Duration = Duration::from_secs(1);

const LIMITS: Limits = Limits { answer: Duration::from_secs(2), can_repeat: true };

/// Why a server is not read as a standby.
#[derive(Debug, Error)]
enum Unusable {
    #[error("it accepts writes itself, or has not replayed any data")]
    NoStandby,
    #[error("its schema is older than this service")]
    OldSchema,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Database(#[from] DbErr),
}

impl Standby {
    /// Watches the standby until the task is cancelled. Logs the reason why it is unusable each time
    /// the reason changes.
    pub async fn watch(&self) {
        let mut logged = String::new();
        loop {
            let Err(reason) = self.follow(&mut logged).await;
            self.state.send_replace(None);
            let reason = reason.to_string();
            if reason != logged {
                tracing::warn!(standby = self.target, reason, "a standby cannot be read");
                logged = reason;
            }
            sleep(PAUSE).await;
        }
    }

    /// Looks at it again and again, on one connection.
    async fn follow(&self, logged: &mut String) -> Result<std::convert::Infallible, Unusable> {
        let session = self.watcher.session(LIMITS).await?;
        let started: String = one(&session, STARTED, "started").await?;
        if self.process.set(started) {
            // The other connections lead to another server or are broken.
            self.losses.note();
        }
        let mut state = self.look(&session).await?;
        tracing::info!(standby = self.target, "a standby is read");
        logged.clear();
        loop {
            self.state.send_replace(Some(state.clone()));
            state = match self.pause(&session, &state).await? {
                Some((replayed, connections)) => StandbyState { replayed, connections, ..state },
                None => self.look(&session).await?,
            };
        }
    }

    /// Reads the history first: a restored one may arrive while it is watched.
    async fn look(&self, session: &Session) -> Result<StandbyState, Unusable> {
        let (at, connections) = (Instant::now(), self.connections());
        let history = schema_version::history(session).await?.into();
        // Each time: a schema that this service cannot read may arrive while it is watched.
        if !schema_version::is_up_to_date(session, Access::Read).await? {
            return Err(Unusable::OldSchema);
        }
        let row = session
            .query_one_raw(POSTGRES.statement(sql_file!("postgres/standby_state"), []))
            .await?;
        let row = row.ok_or_else(|| DbErr::RecordNotFound("the state of a standby".to_owned()))?;
        let replayed: Option<i64> = row_mapping::get(&row, "replayed")?;
        match (row_mapping::get(&row, "is_standby")?, replayed.map(i64::cast_unsigned)) {
            (true, Some(replayed)) => {
                let timeline = row_mapping::get::<i64>(&row, "timeline")?;
                let timeline = u32::try_from(timeline)
                    .map_err(|error| row_mapping::not_understood("timeline", error))?;
                Ok(StandbyState { history, timeline, replayed, connections, at })
            }
            _ => Err(Unusable::NoStandby),
        }
    }

    /// Waits until it is time to look again; meanwhile, as soon as somebody waits for them, the position
    /// and the connections, when they are others.
    async fn pause(
        &self,
        session: &Session,
        state: &StandbyState,
    ) -> Result<Option<(u64, u64)>, Unusable> {
        let until = state.at + INTERVAL;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if self.waiting.load(Ordering::Relaxed) == 0 {
                // Whether somebody waits or the time is up is looked at next.
                let _ = timeout(left, self.is_awaited.notified()).await;
                continue;
            }
            sleep(WHILE_AWAITED).await;
            let connections = self.connections();
            let replayed = one::<i64>(session, sql_file!("postgres/standby_replayed"), "replayed");
            let replayed = replayed.await?.cast_unsigned();
            if (replayed, connections) != (state.replayed, state.connections) {
                return Ok(Some((replayed, connections)));
            }
        }
    }
}

async fn one<T: sea_orm::TryGetable>(
    session: &Session,
    query: &str,
    column: &str,
) -> Result<T, DbErr> {
    let row: Option<QueryResult> = session.query_one_raw(POSTGRES.statement(query, [])).await?;
    row_mapping::get(&row.ok_or_else(|| DbErr::RecordNotFound(column.to_owned()))?, column)
}
