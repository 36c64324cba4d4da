//! Removing the bodies of old versions: the command `compact`, and the task of `serve`.

use std::time::{Duration, Instant};

use application::{Compaction, CompactionOutcome, CompactionStep, RepositoryError, Sequence};
use bytesize::ByteSize;
use indicatif::ProgressBar;
use tokio::time::sleep;

use crate::commands::error::CommandError;
use crate::commands::options::CompactOptions;
use crate::commands::progress::Meter;
use crate::commands::{Wiring, print};

const BAR: &str = "{bar:32} {percent:>3} %  change {human_pos} of {human_len}, {eta} left";

/// The pause after a step of the task: so many times as long as the step took, within these limits.
/// The longest is shorter than a lease.
const SHARE: u32 = 4;
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The time after which the task looks again for something to do.
const IDLE: Duration = Duration::from_mins(1);

/// The time after which the command looks again whether another worker has ended.
const BUSY: Duration = Duration::from_secs(1);

/// Removes the bodies that are not to be kept, in one pass.
pub async fn run(options: &CompactOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut meter = Meter::start(None, BAR, "removing old bodies, by the numbers of the changes")?;
    let opened = meter.watch((wiring.open_to_compact)(options)).await?;
    let (compaction, store) = (opened.compaction, opened.store);
    meter.bar().set_length(opened.last.0.unsigned_abs());
    let bar = meter.bar().clone();
    let work = async {
        if !options.dry_run && store.wait_until_indexed().await.is_err() {
            tracing::warn!(
                "the full-text index is behind; the versions that it has not reached keep their bodies until the next run"
            );
        }
        pass(&compaction, options.dry_run, &bar).await
    };
    let outcome = meter.watch(work).await;
    meter.end();
    crate::commands::close(store).await;
    let CompactionStep { removed, bytes, held, .. } = outcome.map_err(|error| match error {
        CommandError::Stopped(signal) => CommandError::Interrupted(signal),
        error => error,
    })?;
    let would = if options.dry_run { "would remove" } else { "removed" };
    print(&format!(
        "{would} the bodies of {removed} versions, {} in the store; {held} more are kept for legal holds\n",
        ByteSize(bytes)
    ))
}

/// Goes through the whole log, and returns the sum of the steps.
async fn pass(
    compaction: &Compaction,
    is_dry_run: bool,
    bar: &ProgressBar,
) -> Result<CompactionStep, CommandError> {
    let failed = |error: RepositoryError| CommandError::Failed(format!("cannot compact: {error}"));
    let (mut sum, mut after, mut is_waiting) = (CompactionStep::default(), Sequence(0), false);
    loop {
        let outcome = if is_dry_run {
            CompactionOutcome::Done(compaction.step(after, true).await.map_err(failed)?)
        } else {
            compaction.advance(Some(after)).await.map_err(failed)?
        };
        let CompactionOutcome::Done(step) = outcome else {
            if !is_waiting {
                tracing::info!(
                    "another process is removing bodies of this store; waiting for its end"
                );
            }
            is_waiting = true;
            sleep(BUSY).await;
            continue;
        };
        sum = sum_of(sum, step);
        let Some(read_to) = step.read_to else { return Ok(sum) };
        after = read_to;
        bar.set_position(after.0.unsigned_abs());
    }
}

fn sum_of(sum: CompactionStep, step: CompactionStep) -> CompactionStep {
    CompactionStep {
        removed: sum.removed + step.removed,
        bytes: sum.bytes + step.bytes,
        held: sum.held + step.held,
        read_to: step.read_to,
    }
}

/// Removes bodies when a pass is due, a little at a time, for ever.
pub async fn keep_compacting(compaction: Compaction) {
    let mut sum = CompactionStep::default();
    loop {
        let begun = Instant::now();
        let pause = match compaction.advance(None).await {
            Ok(CompactionOutcome::Done(step)) => {
                sum = sum_of(sum, step);
                if step.read_to.is_none() {
                    let CompactionStep { removed, bytes, held, .. } = sum;
                    tracing::info!(removed, bytes, held, "old bodies were removed");
                    sum = CompactionStep::default();
                }
                (begun.elapsed() * SHARE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
            }
            Ok(CompactionOutcome::Busy | CompactionOutcome::NotDue) => IDLE,
            Err(error) => {
                tracing::warn!(%error, "old bodies could not be removed; trying again");
                IDLE
            }
        };
        sleep(pause).await;
    }
}
