//! The signals that ask the process to stop.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::commands::error::CommandError;
use crate::failed;

/// SIGTERM and SIGINT, from the moment [`Signals::listen`] was called: until then they end the
/// process.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn listen() -> Result<Self, CommandError> {
        let refused = |error| failed(format!("cannot wait for signals: {error}"));
        let listen = |kind| signal(kind).map_err(refused);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal; its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for the first signal, tells `leaving` of it, and waits for `delay`, while everything is
    /// still served. A second signal ends the process at once, then and later.
    pub async fn stop(mut self, delay: Duration, leaving: watch::Sender<bool>) {
        let signal = self.next().await;
        tracing::info!(
            signal,
            ?delay,
            "stopping after the delay: requests in flight may finish then; another signal stops at once"
        );
        leaving.send_replace(true);
        tokio::spawn(async move {
            let signal = self.next().await;
            tracing::warn!(signal, "stopped at once");
            std::process::exit(1);
        });
        sleep(delay).await;
    }
}
