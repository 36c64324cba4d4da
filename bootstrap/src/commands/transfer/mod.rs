//! Backup and transfer of a whole store: a copy of an `SQLite` file, and a history that is exported
//! from one store and imported into another, which may be of the other kind.
//!
//! - [`mod@backup`], [`mod@export`] and [`mod@import`] are the commands;
//! - [`mod@format`] is what an export looks like, line by line, [`lines`] how its lines are read
//!   within bounds;
//! - [`reading`] checks a whole export, [`new_file`] makes sure that no incomplete file is taken for
//!   a complete one.
//!
//! Long work is done on threads of its own, so that a signal ends the process at any time.

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
