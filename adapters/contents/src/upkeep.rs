use std::sync::Arc;
use std::time::Duration;

use application::{Clock, ContentService};
use jiff::{SignedDuration, Timestamp};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::{ContentMetrics, Location};

const SWEPT_EVERY: Duration = Duration::from_mins(1);

/// The pause of a verification for each byte in nanoseconds, about 16 MB/s: it must not delay downloads.
const PAUSE_PER_BYTE: u64 = 60;

/// Removes the bytes that no item has, and samples the metrics, forever.
pub async fn keep_sweeping(contents: ContentService, location: Location, metrics: ContentMetrics) {
    loop {
        if let Ok(totals) = contents.totals().await {
            let location = location.clone();
            let disk = spawn_blocking(move || location.disk()).await;
            metrics.set(totals, disk.ok().flatten());
        }
        match contents.sweep().await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "bytes without an item removed"),
            Err(error) => tracing::warn!(%error, "cannot remove bytes without an item; retrying"),
        }
        sleep(SWEPT_EVERY).await;
    }
}

/// Verifies each content once within `period`, forever.
pub async fn keep_verifying(contents: ContentService, clock: Arc<dyn Clock>, period: Duration) {
    let period = SignedDuration::try_from(period).unwrap_or(SignedDuration::MAX);
    let pause = async |bytes: usize| {
        sleep(Duration::from_nanos(bytes as u64 * PAUSE_PER_BYTE)).await;
    };
    loop {
        let before = clock.now().checked_sub(period).unwrap_or(Timestamp::MIN);
        match contents.verify_next(before, pause).await {
            Ok(Some((_, None))) => continue,
            Ok(Some((content, Some(damage)))) => {
                let (damage, digest) = (damage.name(), content.digest);
                tracing::error!(id = %content.id.0, %digest, damage, "a content is damaged; restore it from a backup");
                continue;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "cannot verify contents; retrying"),
        }
        sleep(SWEPT_EVERY).await;
    }
}
