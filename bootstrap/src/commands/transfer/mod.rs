//! Backup and transfer of a whole store: a copy of an `SQLite` file, or an export that any kind of
//! store can import.
//!
//! Long work runs on separate threads, so that a signal can end the process at any time.

mod backup;
mod export;
mod format;
mod import;
mod lines;
mod new_file;
mod reading;

pub use backup::backup;
pub use export::export;
pub use import::import;
