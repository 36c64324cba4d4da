//! The signals that ask the process to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;

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
        let listen = |kind| signal(kind).map_err(CommandError::Signals);
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
}
