//! The service manager that started the process, such as systemd. It is told that the service is
//! ready, reads its files again, is alive and stops (`sd_notify(3)`). Without one nothing is told.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use application::Readiness;
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

/// The shortest time between two signs of life, whatever the environment asks for.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How long reading files again may take before the service counts as ready again.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Tells the service manager that the service is ready, and then of its state, for ever.
///
/// - When `is_leaving` becomes true the service is stopping.
/// - At SIGHUP it is reloading, until every sender of `reloads` has sent a message.
/// - While the manager keeps a watchdog, it is alive as long as `store` answers. An error is an
///   answer too: restarting the service does not bring a lost database back.
pub async fn inform_service_manager(
    store: Arc<dyn Readiness>,
    is_leaving: watch::Receiver<bool>,
    reloads: mpsc::Receiver<()>,
) {
    tell(NotifyState::Ready).await;
    tokio::join!(feed_watchdog(store), report_reloads(reloads), report_stop(is_leaving));
}

async fn feed_watchdog(store: Arc<dyn Readiness>) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        let _ = store.check().await;
        tell(NotifyState::Watchdog).await;
        sleep((limit / 4).max(SHORTEST_PAUSE)).await;
    }
}

async fn report_reloads(mut reloads: mpsc::Receiver<()>) {
    let Ok(mut hang_ups) = signal(SignalKind::hangup()) else { return pending().await };
    while hang_ups.recv().await.is_some() {
        tell(NotifyState::Reloading).await;
        let all = async {
            for _ in 0..reloads.sender_strong_count() {
                reloads.recv().await;
            }
        };
        // Files that hang, as on a lost network file system, do not keep the manager waiting.
        let _ = timeout(RELOAD_TIMEOUT, all).await;
        // Two signals at once may be one to some of those who read.
        while reloads.try_recv().is_ok() {}
        tell(NotifyState::Ready).await;
    }
}

async fn report_stop(mut is_leaving: watch::Receiver<bool>) {
    // An error means that the service ended without a signal.
    if is_leaving.wait_for(|is_leaving| *is_leaving).await.is_ok() {
        tell(NotifyState::Stopping).await;
    }
}

/// Sends a state to the service manager, on a thread that may wait for it.
async fn tell(state: NotifyState<'static>) {
    let told = tokio::task::spawn_blocking(move || {
        if matches!(state, NotifyState::Reloading) {
            // systemd wants the time of it, to tell reloads apart.
            return sd_notify::notify(&[state, NotifyState::monotonic_usec_now()?]);
        }
        sd_notify::notify(&[state])
    });
    if let Ok(Err(error)) = told.await {
        tracing::warn!(%error, "the service manager that NOTIFY_SOCKET names cannot be told of the service's state");
    }
}
