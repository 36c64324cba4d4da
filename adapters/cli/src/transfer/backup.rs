//! `proposal-service backup`: a copy of the `SQLite` file, also while it is served.

use application::maintenance::BackupProgress;
use tokio::task::spawn_blocking;

use super::new_file::NewFile;
use super::watch;
use crate::Wiring;
use crate::error::CommandError;
use crate::options::BackupOptions;
use crate::progress::Meter;
use crate::signals::Signals;

const BAR: &str = "{bar:32} {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left";

/// Copies the file that the options name.
pub async fn backup(options: &BackupOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    let file = NewFile::create(&options.file)?;
    let mut meter = Meter::start(None, BAR);
    let (maintenance, to, bar) =
        ((wiring.maintenance)(&options.database), file.partial().to_owned(), meter.bar().clone());
    let report = move |BackupProgress { copied, total }| {
        bar.set_length(total);
        bar.set_position(copied);
    };
    let work = spawn_blocking(move || Ok(maintenance.back_up(&to, &report)?));
    let copied = watch(work, &mut signals, &mut meter, "copying the database file, in bytes").await;
    meter.end();
    copied?;
    file.finish()?;
    crate::print(&format!(
        "backed up {} bytes in {:.1} s\n",
        meter.bar().position(),
        meter.seconds()
    ))
}
