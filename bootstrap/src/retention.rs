//! The removal of the bodies of old versions, as the options say.

use std::sync::Arc;

use application::{Compaction, IdGenerator as _};
use cli_adapter::{
    CommandError, CompactOptions, OpenedToCompact, RetentionOptions, keep_compacting,
};
use domain::RetentionPolicy;
use jiff::tz::TimeZone;
use language::Watches;
use storage_adapter::Store;
use system_adapter::{SystemClock, UuidV7Generator};

use crate::commands::legal_holds::HoldFiles;
use crate::{connect, failed, store_error, store_options};

/// The policy, if there is one, and the legal holds.
pub struct Retention {
    policy: Option<RetentionPolicy>,
    holds: Arc<HoldFiles>,
}

impl Retention {
    /// Reads what the options name.
    pub fn open(options: &RetentionOptions) -> Result<Self, CommandError> {
        let holds = options.legal_holds.as_deref().map(HoldFiles::open).transpose();
        let holds = holds.map_err(failed)?.unwrap_or_default().into();
        Ok(Self { policy: options.policy()?, holds })
    }

    /// A worker that carries the policy out.
    fn worker(&self, store: &Store, zone: &TimeZone) -> Option<Compaction> {
        Some(Compaction {
            bodies: store.version_bodies(),
            holds: self.holds.clone(),
            clock: Arc::new(SystemClock::in_zone(zone.clone())),
            policy: self.policy.clone()?,
            zone: zone.clone(),
            worker: UuidV7Generator.next_id().to_string().into(),
        })
    }

    /// Carries it out, with the holds of the moment, while the tasks run.
    pub fn keep(self, watches: &mut Watches, store: &Store, zone: &TimeZone) {
        if let Some(worker) = self.worker(store, zone) {
            watches.tasks.spawn(keep_compacting(worker));
        }
        watches.watch(Arc::clone(&self.holds.0));
    }
}

/// Opens a store for the command `compact`. A dry run only looks, beside who serves it.
pub async fn open_to_compact(options: &CompactOptions) -> Result<OpenedToCompact, CommandError> {
    let retention = Retention::open(&options.retention)?;
    let store = if options.dry_run {
        let store = Store::connect_to_look(&store_options(&options.database)).await;
        store.map_err(store_error)?.ok_or(CommandError::NotMigrated)?
    } else {
        let store = connect(&options.database).await?;
        let is_migrated = store.is_migrated().await.map_err(store_error)?;
        is_migrated.then_some(store).ok_or(CommandError::NotMigrated)?
    };
    let last = store.change_log().last().await.map_err(failed)?;
    let compaction = retention.worker(&store, &options.time_zone.zone);
    let compaction = compaction.ok_or(CommandError::NoRetention)?;
    Ok(OpenedToCompact { compaction, last, store: Box::new(store) })
}
