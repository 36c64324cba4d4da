//! Signals that stop the process.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::commands::error::Result;
use crate::failed;

/// SIGTERM and SIGINT. They end the process until [`Signals::listen`] is called.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub fn listen() -> Result<Self> {
        let refused = |error| failed(format!("cannot wait for signals: {error}"));
        let listen = |kind| signal(kind).map_err(refused);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for the first signal, sets `leaving` and continues to serve for `delay`. A second
    /// signal ends the process immediately, at any time.
    pub async fn stop(mut self, delay: Duration, leaving: watch::Sender<bool>) {
        let signal = self.next().await;
        tracing::info!(
            signal,
            ?delay,
            "stopping after the delay, then requests in flight may finish; another signal stops immediately"
        );
        leaving.send_replace(true);
        tokio::spawn(async move {
            let signal = self.next().await;
            tracing::warn!(signal, "stopped immediately");
            std::process::exit(1);
        });
        sleep(delay).await;
    }
}
