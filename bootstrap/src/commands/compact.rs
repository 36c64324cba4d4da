//! `compact`: removes the bodies of old versions in one pass.

use std::time::Duration;

use application::{Compaction, CompactionOutcome, CompactionStep, RepositoryError, Sequence};
use bytesize::ByteSize;
use indicatif::ProgressBar;
use storage_adapter::Store;
use tokio::time::sleep;

use crate::commands::error::{CommandError, Result};
use crate::commands::options::CompactOptions;
use crate::commands::print;
use crate::commands::progress::ProgressMeter;
use crate::retention::{RetentionSettings, sum_of};
use crate::{close, connect, failed, look};

const BAR: &str = "{bar:32} {percent:>3} %  change {human_pos} of {human_len}, {eta} left";

/// Interval between checks for another worker.
const BUSY: Duration = Duration::from_secs(1);

pub async fn run(options: &CompactOptions) -> Result<()> {
    let mut meter = ProgressMeter::start(None, BAR, "removing old bodies, by change number")?;
    let (compaction, store, last) = meter.watch(open(options)).await?;
    meter.bar.set_length(last.0.unsigned_abs());
    let bar = meter.bar.clone();
    let work = async {
        if !options.dry_run && store.wait_until_indexed().await.is_err() {
            tracing::warn!(
                "the full-text index is behind; versions that are not indexed yet keep their bodies until the next run"
            );
        }
        pass(&compaction, options.dry_run, &bar).await
    };
    let outcome = meter.watch(work).await;
    meter.end();
    close(store).await;
    let CompactionStep { removed, bytes, held, .. } = outcome.map_err(|error| match error {
        CommandError::Stopped(signal) => failed(format!(
            "stopped by {signal}; completed work is kept, and the next run does the rest"
        )),
        error => error,
    })?;
    let would = if options.dry_run { "would remove" } else { "removed" };
    print(&format!(
        "{would} the bodies of {removed} versions, {} in the store; {held} more are kept for legal holds\n",
        ByteSize(bytes)
    ))
}

/// Opens the store, and returns its last change. A dry run is read-only, so the store may be in
/// service.
async fn open(options: &CompactOptions) -> Result<(Compaction, Store, Sequence)> {
    let retention = RetentionSettings::open(&options.retention)?;
    let store = if options.dry_run {
        look(&options.database).await?
    } else {
        let store = connect(&options.database).await?;
        store.is_migrated().await?.then_some(store).ok_or(CommandError::NotMigrated)?
    };
    let last = store.change_log().last().await.map_err(failed)?;
    let compaction = retention.worker(&store, &options.time_zone.zone);
    let compaction = compaction.ok_or_else(|| {
        CommandError::Usage(
            "give --history-keep, --history-thin or both; without them every version keeps its body".to_owned(),
        )
    })?;
    Ok((compaction, store, last))
}

async fn pass(
    compaction: &Compaction,
    is_dry_run: bool,
    bar: &ProgressBar,
) -> Result<CompactionStep> {
    let failed = |error: RepositoryError| failed(format!("cannot compact: {error}"));
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
                    "another process is removing bodies from this store; waiting for it to finish"
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
