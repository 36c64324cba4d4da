//! Rules in force: read at the start, and again at SIGHUP or when their files have changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::reloadable::ReloadableRules;

/// How often the files are looked at. A look reads them whole: times and sizes do not tell every
/// change.
const PAUSE: Duration = Duration::from_secs(1);

/// SIGHUP, from now on. Without it the signal ends the process.
#[must_use]
pub fn hang_ups() -> Option<Signal> {
    signal(SignalKind::hangup())
        .map_err(|error| tracing::warn!(%error, "SIGHUP is not listened to"))
        .ok()
}

/// Keeps the rules up to date, for ever.
pub async fn watch(rules: Arc<ReloadableRules>, mut hang_ups: Option<Signal>) {
    let mut seen = None;
    loop {
        let hang_up = async {
            match &mut hang_ups {
                Some(hang_ups) => drop(hang_ups.recv().await),
                None => std::future::pending().await,
            }
        };
        let is_asked_for = tokio::select! {
            () = tokio::time::sleep(PAUSE) => false,
            () = hang_up => true,
        };
        let reading = Arc::clone(&rules);
        // Files are read, and expressions compiled, on a thread that may wait.
        let done = tokio::task::spawn_blocking(move || {
            let changed = reading.changed();
            // Files that are the same at two looks are not being written; an error is told once,
            // unless the operator asks.
            let is_settled = changed.is_some() && changed == seen;
            let read =
                if is_asked_for || is_settled { reading.reload().map(Some) } else { Ok(None) };
            (changed, read)
        });
        let done = done.await.map(|(changed, read)| {
            seen = changed;
            read
        });
        match done {
            Ok(Ok(Some(true))) => tracing::info!(
                rules = rules.current().rules().len(),
                "the rules were read again and are in force"
            ),
            Ok(Ok(Some(false))) => tracing::info!("the rules are as they were"),
            Ok(Ok(None)) => {}
            Ok(Err(errors)) => tracing::error!("the rules stay as they were, because {errors}"),
            Err(error) => tracing::error!(%error, "the rules could not be read again"),
        }
    }
}
