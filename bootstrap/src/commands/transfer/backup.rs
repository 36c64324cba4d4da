//! `proposal-service backup`: a copy of the `SQLite` file, also while it is served.

use application::maintenance::BackupProgress;
use tokio::task::spawn_blocking;

use super::new_file::NewFile;
use crate::commands::error::CommandError;
use crate::commands::options::BackupOptions;
use crate::commands::progress::Meter;
use crate::commands::{Wiring, joined};

const BAR: &str = "{bar:32} {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left";

/// Backs up the file that the options name.
pub async fn backup(options: &BackupOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut meter = Meter::start(None, BAR, "copying the database file, in bytes")?;
    let file = NewFile::create(&options.file)?;
    let (maintenance, to, bar) =
        ((wiring.maintenance)(&options.database), file.partial().to_owned(), meter.bar().clone());
    let report = move |BackupProgress { copied, total }| {
        bar.set_length(total);
        bar.set_position(copied);
    };
    meter.watch(joined(spawn_blocking(move || maintenance.back_up(&to, &report)))).await?;
    meter.end();
    file.finish()?;
    let (bytes, seconds) = (meter.bar().position(), meter.seconds());
    crate::commands::print(&format!("backed up {bytes} bytes in {seconds:.1} s\n"))
}
