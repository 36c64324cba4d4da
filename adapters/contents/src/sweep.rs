use std::time::Duration;

use application::ContentService;
use tokio::time::sleep;

const SWEPT_EVERY: Duration = Duration::from_mins(1);

/// Removes the bytes that no item has, forever.
pub async fn keep_sweeping(contents: ContentService) {
    loop {
        match contents.sweep().await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "bytes without an item removed"),
            Err(error) => tracing::warn!(%error, "cannot remove bytes without an item; retrying"),
        }
        sleep(SWEPT_EVERY).await;
    }
}
