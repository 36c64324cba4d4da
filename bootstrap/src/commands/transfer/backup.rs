//! `backup`: a copy of the `SQLite` file, also while it is in service.

use tokio::task::spawn_blocking;

use super::new_file::NewFile;
use crate::commands::back_up_contents;
use crate::commands::error::Result;
use crate::commands::joined;
use crate::commands::options::BackupOptions;
use crate::commands::progress::ProgressMeter;
use crate::{failed, store_options};

const BAR: &str = "{bar:32} {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left";

pub async fn backup(options: &BackupOptions) -> Result<()> {
    let mut meter = ProgressMeter::start(None, BAR, "copying the database file")?;
    let file = NewFile::create(&options.file)?;
    let (store, to, bar) =
        (store_options(&options.database), file.partial().to_owned(), meter.bar.clone());
    let report = move |copied, total| {
        bar.set_length(total);
        bar.set_position(copied);
    };
    meter.watch(joined(spawn_blocking(move || store.back_up(&to, &report)))).await?;
    meter.end();
    let (place, database, target) =
        (options.contents.clone(), options.database.clone(), options.file.clone());
    let copied = spawn_blocking(move || back_up_contents(&place, &database, &target));
    copied.await.unwrap_or_else(|error| Err(failed(error)))?;
    file.finish()?;
    let (bytes, seconds) = (meter.bar.position(), meter.seconds());
    crate::commands::print(&format!("backed up {bytes} bytes in {seconds:.1} s\n"))
}
