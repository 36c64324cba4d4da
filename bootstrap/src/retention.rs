//! Retention: the removal of the bodies of old versions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use application::{Compaction, CompactionOutcome, CompactionStep, IdGenerator as _};
use domain::RetentionPolicy;
use jiff::tz::TimeZone;
use language::Watches;
use storage_adapter::Store;
use system_adapter::{SystemClock, UuidV7Generator};
use tokio::time::sleep;

use crate::commands::legal_holds::HoldFiles;
use crate::commands::{Result, RetentionOptions};
use crate::failed;

/// Pause after a step: a multiple of its duration, within limits. The maximum is shorter than a
/// lease.
const SHARE: u32 = 4;
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

const IDLE: Duration = Duration::from_mins(1);

pub struct RetentionSettings {
    policy: Option<RetentionPolicy>,
    holds: Arc<HoldFiles>,
}

impl RetentionSettings {
    pub fn open(options: &RetentionOptions) -> Result<Self> {
        let holds = options.legal_holds.as_deref().map(HoldFiles::open).transpose();
        let holds = holds.map_err(failed)?.unwrap_or_default().into();
        Ok(Self { policy: options.policy()?, holds })
    }

    pub fn worker(&self, store: &Store, zone: &TimeZone) -> Option<Compaction> {
        Some(Compaction {
            bodies: store.version_bodies(),
            holds: self.holds.clone(),
            clock: Arc::new(SystemClock::in_zone(zone.clone())),
            policy: self.policy.clone()?,
            zone: zone.clone(),
            worker: UuidV7Generator.next_id().to_string().into(),
        })
    }

    pub fn keep(self, watches: &mut Watches, store: &Store, zone: &TimeZone) {
        if let Some(worker) = self.worker(store, zone) {
            watches.tasks.spawn(keep_compacting(worker));
        }
        watches.watch(Arc::clone(&self.holds.0));
    }
}

/// Runs due passes in small steps, forever.
async fn keep_compacting(compaction: Compaction) {
    let mut sum = CompactionStep::default();
    loop {
        let begun = Instant::now();
        let pause = match compaction.advance(None).await {
            Ok(CompactionOutcome::Done(step)) => {
                sum = sum_of(sum, step);
                if step.read_to.is_none() {
                    let CompactionStep { removed, bytes, held, .. } = sum;
                    tracing::info!(removed, bytes, held, "old bodies removed");
                    sum = CompactionStep::default();
                }
                (begun.elapsed() * SHARE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
            }
            Ok(CompactionOutcome::Busy | CompactionOutcome::NotDue) => IDLE,
            Err(error) => {
                tracing::warn!(%error, "cannot remove old bodies; retrying");
                IDLE
            }
        };
        sleep(pause).await;
    }
}

pub fn sum_of(sum: CompactionStep, step: CompactionStep) -> CompactionStep {
    CompactionStep {
        removed: sum.removed + step.removed,
        bytes: sum.bytes + step.bytes,
        held: sum.held + step.held,
        read_to: step.read_to,
    }
}
