//! `proposal-service export`: everything that was ever stored, as lines of JSON.

use std::io::{self, BufWriter, Write};

use application::maintenance::HistoryReader;
use indicatif::ProgressBar;
use tokio::task::spawn_blocking;

use super::format::{self, Digest};
use super::new_file::NewFile;
use super::watch;
use crate::Wiring;
use crate::error::CommandError;
use crate::options::ExportOptions;
use crate::progress::Meter;
use crate::signals::Signals;

const BAR: &str = "{bar:32} {percent:>3} %  change {human_pos} of {human_len}, {eta} left";

/// Bytes that are written at a time.
const BUFFER: usize = 1 << 16;

/// Makes an error of writing one of the file or of standard output.
type WriteError = Box<dyn Fn(io::Error) -> CommandError + Send>;

/// Writes the store that the options name to where they say.
pub async fn export(options: &ExportOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    let file = options.file.as_deref().map(NewFile::create).transpose()?;
    let maintenance = (wiring.maintenance)(&options.database);
    let log = tokio::select! {
        log = maintenance.read_history() => log?,
        signal = signals.next() => return Err(CommandError::Stopped(signal)),
    };
    let mut meter = Meter::start(Some(log.last().0.unsigned_abs()), BAR);
    let (out, write_error) = output(file.as_ref())?;
    let bar = meter.bar().clone();
    let work = spawn_blocking(move || write_all(log, out, &bar, &write_error));
    let written =
        watch(work, &mut signals, &mut meter, "exporting, by the numbers of the changes").await;
    meter.end();
    let changes = written?;
    let Some(file) = file else {
        tracing::info!(changes, "exported to standard output");
        return Ok(());
    };
    file.finish()?;
    crate::print(&format!("exported {changes} changes in {:.1} s\n", meter.seconds()))
}

fn output(file: Option<&NewFile>) -> Result<(Box<dyn Write + Send>, WriteError), CommandError> {
    let Some(file) = file else {
        return Ok((Box::new(io::stdout()), Box::new(CommandError::Output)));
    };
    let path = file.path().to_owned();
    Ok((
        Box::new(file.handle()?),
        Box::new(move |cause| CommandError::Target { path: path.clone(), cause }),
    ))
}

/// Writes header, changes and trailer; the number of changes.
fn write_all(
    mut log: Box<dyn HistoryReader>,
    out: impl Write,
    bar: &ProgressBar,
    write_error: &dyn Fn(io::Error) -> CommandError,
) -> Result<u64, CommandError> {
    let (mut out, mut digest) = (BufWriter::with_capacity(BUFFER, out), Digest::default());
    let mut put = |line: &str| {
        digest.add(line.as_bytes());
        out.write_all(line.as_bytes()).map_err(write_error)
    };
    put(&format::header())?;
    let (mut line, mut changes) = (String::new(), 0);
    while let Some(batch) = log.next_batch() {
        for change in batch? {
            line.clear();
            format::push_change(&mut line, &change);
            put(&line)?;
            changes += 1;
            bar.set_position(change.sequence.0.unsigned_abs());
        }
    }
    out.write_all(format::trailer(changes, &digest.finish()).as_bytes())
        .and_then(|()| out.flush())
        .map_err(write_error)?;
    Ok(changes)
}
