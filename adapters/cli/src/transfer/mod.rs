//! Copies of a whole store: a backup of an `SQLite` file, and a history that is exported from one
//! store and imported into another, which may be of the other kind.
//!
//! - [`mod@backup`], [`mod@export`] and [`mod@import`] are the commands;
//! - [`mod@format`] is what an export looks like, line by line, [`lines`] how its lines are read
//!   within bounds;
//! - [`reading`] checks a whole export, [`new_file`] makes sure that no half copy is taken for a
//!   whole one.
//!
//! Long work is done on threads of its own, so that a signal ends the process at any time.

mod backup;
mod export;
mod format;
mod import;
mod lines;
mod new_file;
mod reading;

use tokio::task::JoinHandle;

use crate::error::CommandError;
use crate::progress::Meter;
use crate::signals::Signals;

pub use backup::backup;
pub use export::export;
pub use import::import;

/// Waits for work on another thread, and tells how far it has come.
async fn watch<T>(
    mut work: JoinHandle<Result<T, CommandError>>,
    signals: &mut Signals,
    meter: &mut Meter,
    what: &str,
) -> Result<T, CommandError> {
    loop {
        tokio::select! {
            done = &mut work => return joined(done),
            signal = signals.next() => return Err(CommandError::Stopped(signal)),
            () = meter.line_is_due() => log(meter, what),
        }
    }
}

fn log(meter: &Meter, what: &str) {
    tracing::info!(done = meter.bar().position(), of = meter.bar().length(), "{what}");
}

/// The outcome of a thread. If it panicked, so does this one.
fn joined<T>(
    done: Result<Result<T, CommandError>, tokio::task::JoinError>,
) -> Result<T, CommandError> {
    done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
