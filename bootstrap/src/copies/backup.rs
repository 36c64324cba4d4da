//! `proposal-service backup`: a copy of the `SQLite` file, also while it is served.

use storage_adapter::{BackupProgress, back_up};
use tokio::task::spawn_blocking;

use super::new_file::NewFile;
use super::watch;
use crate::cli::BackupOptions;
use crate::fault::Fault;
use crate::progress::Meter;
use crate::signals::Signals;

const BAR: &str = "{bar:32} {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left";

/// Copies the file that the options name.
pub async fn backup(options: &BackupOptions) -> Result<(), Fault> {
    let mut signals = Signals::listen().map_err(Fault::Signals)?;
    let file = NewFile::create(&options.file)?;
    let mut meter = Meter::start(None, BAR);
    let (url, to, bar) =
        (options.database.database_url.clone(), file.partial().to_owned(), meter.bar().clone());
    let tell = move |BackupProgress { copied, total }| {
        bar.set_length(total);
        bar.set_position(copied);
    };
    let work = spawn_blocking(move || Ok(back_up(&url, &to, tell)?));
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
