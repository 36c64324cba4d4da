//! `export`: the whole history, as lines of JSON.

use std::io::{self, BufWriter, Write};

use indicatif::ProgressBar;
use sha2::{Digest as _, Sha256};
use storage_adapter::LogReader;
use tokio::task::spawn_blocking;

use super::format;
use super::new_file::NewFile;
use crate::commands::error::{CommandError, Result};
use crate::commands::joined;
use crate::commands::options::ExportOptions;
use crate::commands::progress::ProgressMeter;
use crate::store_options;

const BAR: &str = "{bar:32} {percent:>3} %  change {human_pos} of {human_len}, {eta} left";

const BUFFER: usize = 1 << 16;

pub async fn export(options: &ExportOptions) -> Result<()> {
    let file = options.file.as_deref().map(NewFile::create).transpose()?;
    let mut meter = ProgressMeter::start(None, BAR, "exporting, by change number")?;
    let log = meter.watch(LogReader::open(&store_options(&options.database))).await?;
    meter.bar.set_length(log.last.0.unsigned_abs());
    let out: Box<dyn Write + Send> = match &file {
        Some(file) => Box::new(file.handle()?),
        None => Box::new(io::stdout()),
    };
    let (bar, path) = (meter.bar.clone(), options.file.clone());
    let write_error = move |cause| match &path {
        Some(path) => CommandError::Target(path.clone(), cause),
        None => cause.into(),
    };
    let work = spawn_blocking(move || write_all(log, out, &bar, &write_error));
    let changes = meter.watch(joined(work)).await?;
    meter.end();
    let Some(file) = file else {
        tracing::info!(changes, "exported to standard output");
        return Ok(());
    };
    file.finish()?;
    crate::commands::print(&format!("exported {changes} changes in {:.1} s\n", meter.seconds()))
}

fn write_all(
    mut log: LogReader,
    out: impl Write,
    bar: &ProgressBar,
    write_error: &dyn Fn(io::Error) -> CommandError,
) -> Result<u64> {
    let (mut out, mut digest) = (BufWriter::with_capacity(BUFFER, out), Sha256::new());
    let mut write = |line: &str| {
        digest.update(line);
        out.write_all(line.as_bytes()).map_err(write_error)
    };
    write(&format::header())?;
    let mut changes = 0;
    while let Some(batch) = log.next_batch() {
        for change in batch? {
            write(&format::change(&change))?;
            changes += 1;
            bar.set_position(change.sequence.0.unsigned_abs());
        }
    }
    let trailer = format::trailer(changes, &format::checksum(digest));
    out.write_all(trailer.as_bytes()).and_then(|()| out.flush()).map_err(write_error)?;
    Ok(changes)
}
