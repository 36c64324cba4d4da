//! The lease that permits an instance to write: recently recorded, with a version that is not too
//! old. Each instance has a row with its schema version. A migration that raises the oldest writing
//! version locks the row of `schema_version` and reads these rows. An instance takes the same lock
//! to renew its row. So either the migration sees the instance and refuses, or the instance sees
//! that it is too old. An expired lease is renewed before a write.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::ports::{RepositoryError, Result};
use parking_lot::Mutex;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::gauge::ConstGauge;
use sea_orm::{DbErr, RuntimeErr};
use tokio::time::sleep;
use uuid::Uuid;

use crate::error::{DbResult, logged};
use crate::metrics::write_series;
use crate::migration::schema_version::SCHEMA_VERSION;
use crate::postgres::connections::Connections;
use crate::postgres::session::Limits;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping::{first, get};

const INTERVAL: Duration = Duration::from_secs(10);

/// The time for which an instance may write. It counts as running for a minute
/// (`older_instance.sql`): the difference is more than a write waits before its statement begins.
const TERM: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Default)]
struct State {
    oldest_reader: i32,
    oldest_writer: i32,
    asked: Option<Instant>,
}

impl State {
    fn is_valid(self) -> bool {
        self.asked.is_some_and(|asked| asked.elapsed() < TERM)
    }

    const fn may_read(self) -> bool {
        SCHEMA_VERSION >= self.oldest_reader
    }

    const fn may_write(self) -> bool {
        self.may_read() && SCHEMA_VERSION >= self.oldest_writer
    }
}

pub(crate) struct Lease {
    id: String,
    writers: Arc<Connections>,
    state: Mutex<State>,
    /// Single-flight.
    asking: tokio::sync::Mutex<()>,
}

impl Lease {
    #[expect(clippy::disallowed_methods, reason = "it names the process, not an item")]
    pub fn new(writers: Arc<Connections>) -> Self {
        let id = Uuid::now_v7().to_string();
        Self { id, writers, state: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// Renews the lease periodically, and at once after an error that a schema change explains.
    pub async fn keep(&self) {
        let server = &self.writers.server;
        loop {
            tokio::select! {
                () = sleep(INTERVAL) => {}
                () = server.losses.schema_change.notified() => {}
            }
            server.find_successor().await;
            // An instance that has not written yet has no row to renew.
            if self.state().asked.is_some()
                && let Err(error) = self.ask().await
            {
                tracing::debug!(%error, "cannot renew the lease");
            }
        }
    }

    fn state(&self) -> State {
        *self.state.lock()
    }

    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let state = self.state();
        let accesses = [("read", state.may_read()), ("write", state.may_write())];
        let series = accesses.map(|(access, is_permitted)| {
            ([("access", access)], ConstGauge::new(i64::from(is_permitted)))
        });
        let help = "1 if this version of the service may read or write the PostgreSQL schema, by access; 0 if the schema requires a newer version.";
        write_series(encoder, "proposal_service_schema_access", help, series)
    }

    pub fn require_reads(&self) -> DbResult<()> {
        if self.state().may_read() {
            return Ok(());
        }
        let reason = "the schema is too new to be read by this version of the service";
        Err(DbErr::Conn(RuntimeErr::Internal(reason.to_owned())))
    }

    pub async fn require_writes(&self) -> Result<()> {
        if !self.state().is_valid() {
            let _asking = self.asking.lock().await;
            if !self.state().is_valid() {
                self.ask().await.map_err(|error| logged(&error, "lease"))?;
            }
        }
        if self.state().may_write() { Ok(()) } else { Err(RepositoryError::Unavailable) }
    }

    /// Renews the row of this instance, unless it is too old, and reads its permissions.
    async fn ask(&self) -> DbResult<()> {
        let asked = Some(Instant::now());
        let values = [self.id.clone().into(), SCHEMA_VERSION.into()];
        let renew = POSTGRES.statement(sql_file!("postgres/migration/lease_renew"), values);
        let rows = self.writers.query(Limits::BRIEF, renew).await?;
        let row = first(&rows)?;
        let (oldest_reader, oldest_writer) =
            (get(row, "oldest_reader")?, get(row, "oldest_writer")?);
        let now = State { oldest_reader, oldest_writer, asked };
        let before = std::mem::replace(&mut *self.state.lock(), now);
        if (before.may_read(), before.may_write()) != (now.may_read(), now.may_write()) {
            report(now, get(row, "version")?);
        }
        Ok(())
    }

    /// Deletes the row, so that a migration does not wait for an instance that has ended.
    pub async fn end(&self) {
        if self.state().asked.is_none() {
            return;
        }
        let end =
            POSTGRES.statement(sql_file!("postgres/migration/lease_end"), [self.id.clone().into()]);
        if let Err(error) = self.writers.query(Limits::BRIEF, end).await {
            tracing::debug!(%error, "cannot remove the row of this instance");
        }
    }
}

fn report(state: State, version: i32) {
    if state.may_write() {
        tracing::info!(version, "the schema accepts writes from this version of the service");
        return;
    }
    let access = if state.may_read() { "is now read-only" } else { "can no longer read or write" };
    tracing::error!(
        "the schema has version {version}, but this instance supports only {SCHEMA_VERSION}: it {access} and is not ready; \
         replace it with a newer version"
    );
}
