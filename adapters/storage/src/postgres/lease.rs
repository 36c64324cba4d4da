//! The lease that permits an instance to write: the database has recorded the instance recently, and
//! its version was not too old for the schema.
//!
//! Each instance has a row with the schema version that it knows. A migration that raises the oldest
//! writing version locks the row of `schema_version` and reads these rows. An instance that renews
//! its row takes the same lock. So either the migration sees the instance and refuses, or the
//! instance sees that it is too old. An instance whose lease expired during a pause renews it before
//! it writes.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::RepositoryError;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::gauge::ConstGauge;
use sea_orm::{ConnectionTrait as _, DbErr, RuntimeErr};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use uuid::Uuid;

use crate::error::logged;
use crate::metrics::write_series;
use crate::migration::schema_version::SCHEMA_VERSION;
use crate::postgres::connections::Connections;
use crate::postgres::session::Limits;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// How often an instance renews its row.
const INTERVAL: Duration = Duration::from_secs(10);

/// The time for which it may write then. It counts as running for a minute (`migration/runner.rs`):
/// the difference is more than a write waits before its statement begins.
const TERM: Duration = Duration::from_secs(30);

const LIMITS: Limits = Limits { answer: Duration::from_secs(3), can_repeat: true };

/// The access to the schema that an instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permission {
    All,
    Reading,
    Nothing,
}

#[derive(Clone, Copy)]
struct State {
    permitted: Permission,
    /// When the database was asked last.
    asked: Option<Instant>,
}

impl State {
    fn is_valid(self) -> bool {
        self.asked.is_some_and(|asked| asked.elapsed() < TERM)
    }
}

/// The lease of one instance.
pub(crate) struct Lease {
    id: String,
    writers: Connections,
    state: Mutex<State>,
    /// One asks, the others wait for the answer.
    asking: tokio::sync::Mutex<()>,
    renewal: Mutex<Option<JoinHandle<()>>>,
}

impl Lease {
    #[expect(clippy::disallowed_methods, reason = "it names the process, not an item")]
    pub fn new(writers: Connections) -> Arc<Self> {
        let lease = Arc::new(Self {
            id: Uuid::now_v7().to_string(),
            writers,
            state: Mutex::new(State { permitted: Permission::All, asked: None }),
            asking: tokio::sync::Mutex::default(),
            renewal: Mutex::default(),
        });
        let renewing = Arc::downgrade(&lease);
        let losses = Arc::clone(lease.writers.losses());
        let renewal = tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = sleep(INTERVAL) => {}
                    () = losses.schema_change() => {}
                }
                let Some(lease) = renewing.upgrade() else { return };
                lease.writers.find_successor().await;
                // An instance that has not written yet has no row to renew.
                if lease.state().asked.is_some()
                    && let Err(error) = lease.ask().await
                {
                    tracing::debug!(%error, "cannot renew the lease");
                }
            }
        });
        *lease.renewal.lock() = Some(renewal);
        lease
    }

    fn state(&self) -> State {
        *self.state.lock()
    }

    /// Writes the access to the schema that this instance has.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let permitted = self.state().permitted;
        let accesses =
            [("read", permitted != Permission::Nothing), ("write", permitted == Permission::All)];
        let series = accesses.map(|(access, is_permitted)| {
            ([("access", access)], ConstGauge::new(i64::from(is_permitted)))
        });
        let help = "1 if this version of the service may read or write the PostgreSQL schema, by access; 0 if the schema requires a newer version.";
        write_series(encoder, "proposal_service_schema_access", help, series)
    }

    /// # Errors
    /// Where the schema is too new to be read.
    pub fn require_reads(&self) -> Result<(), DbErr> {
        if self.state().permitted == Permission::Nothing {
            let reason = "the schema is too new to be read by this version of the service";
            return Err(DbErr::Conn(RuntimeErr::Internal(reason.to_owned())));
        }
        Ok(())
    }

    /// Asks the database where the lease has ended.
    pub async fn require_writes(&self) -> Result<(), RepositoryError> {
        let mut state = self.state();
        if !state.is_valid() {
            let _asking = self.asking.lock().await;
            if !self.state().is_valid() {
                self.ask().await.map_err(|error| logged(&error, "lease"))?;
            }
            state = self.state();
        }
        match state.permitted {
            Permission::All => Ok(()),
            Permission::Reading | Permission::Nothing => Err(RepositoryError::Unavailable),
        }
    }

    /// Renews the row of this instance, unless it is too old, and reads its permissions.
    async fn ask(&self) -> Result<(), DbErr> {
        let asked = Instant::now();
        let values = [self.id.clone().into(), SCHEMA_VERSION.into()];
        let renew = POSTGRES.statement(sql_file!("postgres/lease_renew"), values);
        let rows = self.writers.query(LIMITS, renew).await?;
        let Some(row) = rows.first() else {
            return Err(DbErr::RecordNotFound("the schema's version".to_owned()));
        };
        let column = |name| row_mapping::get::<i32>(row, name);
        let (reader, writer) = (column("oldest_reader")?, column("oldest_writer")?);
        let permitted = match SCHEMA_VERSION {
            version if version < reader => Permission::Nothing,
            version if version < writer => Permission::Reading,
            _ => Permission::All,
        };
        let now = State { permitted, asked: Some(asked) };
        let before = std::mem::replace(&mut *self.state.lock(), now);
        if permitted != before.permitted {
            report(permitted, column("version")?);
        }
        Ok(())
    }

    /// Deletes the row, so that a migration does not wait for an instance that has ended.
    pub async fn end(&self) {
        if let Some(renewal) = self.renewal.lock().take() {
            renewal.abort();
        }
        if self.state().asked.is_none() {
            return;
        }
        let end = POSTGRES.statement(sql_file!("postgres/lease_end"), [self.id.clone().into()]);
        let ended = async {
            let session = self.writers.session(LIMITS).await?;
            session.execute_raw(end).await
        };
        if let Err(error) = ended.await {
            tracing::debug!(%error, "cannot remove the row of this instance");
        }
    }
}

/// Logs a change of the permission once.
fn report(permitted: Permission, version: i32) {
    match permitted {
        Permission::All => {
            tracing::info!(version, "the schema accepts writes from this version of the service");
        }
        Permission::Reading => tracing::error!(
            "the schema has version {version}, but this instance supports only {SCHEMA_VERSION}: it is now read-only and not ready; \
             replace it with a newer version"
        ),
        Permission::Nothing => tracing::error!(
            "the schema has version {version}, but this instance supports only {SCHEMA_VERSION}: it can no longer read or write and is not ready; \
             replace it with a newer version"
        ),
    }
}
