//! The service manager that started the process, such as systemd. It is told that the service is
//! ready, reads its files again, is alive and stops (`sd_notify(3)`). Without one nothing is told.

use std::sync::Arc;
use std::time::Duration;

use application::Readiness;
use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// The shortest time between two signs of life, whatever the environment asks for.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How long reading files again may take before the service counts as ready again.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Tells the service manager that the service is ready, and then of its state, for ever.
///
/// - When `is_leaving` becomes true the service is stopping.
/// - At SIGHUP it is reloading, until files of all kinds were read after the last signal. `readings` are
///   the number of signals, and for each kind the number of those after which they were read.
/// - While the manager keeps a watchdog, it is alive as long as `store` answers. An error is an
///   answer too: restarting the service does not bring a lost database back.
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
    let mut told = 0;
    // An error means that the service ended.
    while let Ok(asked) = readings.wait_for(|(asked, _)| *asked > told).await.map(|it| it.0) {
        told = asked;
        tell(NotifyState::Reloading).await;
        let is_over = |(asked, done): &(u64, Vec<u64>)| {
            *asked > told || done.iter().all(|done| *done >= told)
        };
        // Files that hang, as on a lost network file system, do not keep the manager waiting.
        let _ = timeout(RELOAD_TIMEOUT, readings.wait_for(is_over)).await;
        // With another signal it is reloading anew.
        if readings.borrow().0 == told {
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
        let told = Mutex::new(Vec::new());
        let tell = |state: NotifyState<'static>| {
            told.lock().unwrap().push(matches!(state, NotifyState::Ready));
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
                let told = std::mem::take(&mut *told.lock().unwrap());
                assert_eq!(told, expected, "{asked} {done:?}");
            }
        };
        tokio::select! {
            biased;
            () = report_reloads(readings, tell) => {}
            () = steps => {}
        }
    }
}
