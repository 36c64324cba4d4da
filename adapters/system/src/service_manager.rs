//! Notifications to the service manager, such as systemd: ready, reloading, alive, stopping
//! (`sd_notify(3)`). Without a manager it sends no datagram.

use std::sync::Arc;
use std::time::Duration;

use application::Readiness;
use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Minimum time between watchdog messages, for any value in the environment.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// Timeout of a reload. After it the service counts as ready again.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Reports the state of the service, forever: ready, then each change.
///
/// - `is_leaving` true: stopping.
/// - SIGHUP: reloading, until files of all kinds were read after the last signal. `readings` holds
///   the number of signals and, for each kind, the last signal after which it was read.
/// - Watchdog: alive while `store` answers. An error is an answer too: a restart does not bring a
///   lost database back.
pub async fn inform_service_manager(
    store: Arc<dyn Readiness>,
    is_leaving: watch::Receiver<bool>,
    readings: watch::Receiver<(u64, Vec<u64>)>,
) {
    tell(NotifyState::Ready).await;
    tokio::join!(feed_watchdog(store), report_reloads(readings, tell), report_stop(is_leaving));
}

async fn feed_watchdog(store: Arc<dyn Readiness>) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        let _ = store.check().await;
        tell(NotifyState::Watchdog).await;
        sleep((limit / 4).max(SHORTEST_PAUSE)).await;
    }
}

async fn report_reloads<F: Future<Output = ()>>(
    mut readings: watch::Receiver<(u64, Vec<u64>)>,
    tell: impl Fn(NotifyState<'static>) -> F,
) {
    let mut reported = 0;
    // An error means that the service ended.
    while let Ok(asked) = readings.wait_for(|(asked, _)| *asked > reported).await.map(|it| it.0) {
        reported = asked;
        tell(NotifyState::Reloading).await;
        let is_over = |(asked, done): &(u64, Vec<u64>)| {
            *asked > reported || done.iter().all(|done| *done >= reported)
        };
        // Files may hang on a lost network file system. The manager must not wait for them.
        let _ = timeout(RELOAD_TIMEOUT, readings.wait_for(is_over)).await;
        // After another signal the service is reloading again.
        if readings.borrow().0 == reported {
            tell(NotifyState::Ready).await;
        }
    }
}

async fn report_stop(mut is_leaving: watch::Receiver<bool>) {
    // An error means that the service ended without a signal.
    if is_leaving.wait_for(|is_leaving| *is_leaving).await.is_ok() {
        tell(NotifyState::Stopping).await;
    }
}

/// Sends a state on a blocking thread.
async fn tell(state: NotifyState<'static>) {
    let sent = tokio::task::spawn_blocking(move || {
        if matches!(state, NotifyState::Reloading) {
            // systemd needs the time to distinguish reloads.
            return sd_notify::notify(&[state, NotifyState::monotonic_usec_now()?]);
        }
        sd_notify::notify(&[state])
    });
    if let Ok(Err(error)) = sent.await {
        tracing::warn!(%error, "cannot notify the service manager (NOTIFY_SOCKET) of the service's state");
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::Mutex;

    use sd_notify::NotifyState;
    use tokio::sync::watch;
    use tokio::task::yield_now;

    use super::report_reloads;

    #[tokio::test]
    async fn ready_is_said_when_all_files_were_read_after_the_last_signal() {
        let (sender, readings) = watch::channel((0, vec![0, 0]));
        let states = Mutex::new(Vec::new());
        let tell = |state: NotifyState<'static>| {
            states.lock().unwrap().push(matches!(state, NotifyState::Ready));
            ready(())
        };
        let steps = async {
            for (asked, done, expected) in [
                (1, [0, 0], &[false][..]),
                (1, [1, 0], &[]),
                // Another signal, while one kind of files is still being read for the first.
                (2, [1, 0], &[false]),
                (2, [2, 0], &[]),
                (2, [2, 1], &[]),
                (2, [2, 2], &[true]),
                (4, [2, 2], &[false]),
                (4, [4, 4], &[true]),
            ] {
                sender.send_replace((asked, done.to_vec()));
                for _ in 0..10 {
                    yield_now().await;
                }
                let states = std::mem::take(&mut *states.lock().unwrap());
                assert_eq!(states, expected, "{asked} {done:?}");
            }
        };
        tokio::select! {
            biased;
            () = report_reloads(readings, tell) => {}
            () = steps => {}
        }
    }
}
