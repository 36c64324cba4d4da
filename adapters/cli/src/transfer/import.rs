//! `proposal-service import`: what was exported, into an empty store.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use application::maintenance::{CollectionSummary, Maintenance};
use tokio::sync::mpsc::channel;
use tokio::task::spawn_blocking;

use super::reading::{Found, Reading};
use super::{joined, log, watch};
use crate::Wiring;
use crate::error::CommandError;
use crate::options::ImportOptions;
use crate::progress::Meter;
use crate::signals::Signals;

const BAR: &str = "{bar:32} {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left";

/// Of what comes in it is not known how much there is.
const SPINNER: &str = "{spinner} {binary_bytes} read, {binary_bytes_per_sec}";

/// Largest members, whatever is allowed: the engines take no longer texts.
const LARGEST: usize = 900_000_000;

const WHAT: &str = "importing, in bytes";

/// Where an export is read from.
type Source = Box<dyn BufRead + Send>;

/// Checks and stores what the options name. The header is read before the store is touched.
pub async fn import(options: &ImportOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    let (source, named, length) = open(options.file.as_deref())?;
    let mut meter = Meter::start(length, if length.is_some() { BAR } else { SPINNER });
    let most = options.max_body.min(LARGEST);
    let (bar, maintenance) = (meter.bar().clone(), (wiring.maintenance)(&options.database));
    let validator = maintenance.validate_history()?;
    let begun = spawn_blocking(move || Reading::begin(source, named, most, bar, validator));
    let reading = watch(begun, &mut signals, &mut meter, WHAT).await?;
    let found = if options.dry_run {
        maintenance.check_is_empty().await?;
        watch(spawn_blocking(move || reading.finish(None)), &mut signals, &mut meter, WHAT).await
    } else {
        store(&*maintenance, reading, &mut signals, &mut meter).await
    };
    meter.end();
    crate::print(&summary(&found?, options.dry_run, meter.seconds()))
}

/// Stores what is read while more is read.
async fn store(
    maintenance: &dyn Maintenance,
    reading: Reading<Source>,
    signals: &mut Signals,
    meter: &mut Meter,
) -> Result<Found, CommandError> {
    let mut import = tokio::select! {
        import = maintenance.begin_import() => import?,
        signal = signals.next() => return Err(CommandError::Stopped(signal)),
    };
    let (sender, mut checked) = channel(1);
    let work = spawn_blocking(move || reading.finish(Some(sender)));
    loop {
        tokio::select! {
            batch = checked.recv() => match batch {
                Some(batch) => import.store(batch).await?,
                None => break,
            },
            signal = signals.next() => return Err(CommandError::Stopped(signal)),
            () = meter.line_is_due() => log(meter, WHAT),
        }
    }
    let found = joined(work.await)?;
    import.commit().await?;
    Ok(found)
}

/// The source, its name, and how long it is if that is known.
fn open(file: Option<&Path>) -> Result<(Source, String, Option<u64>), CommandError> {
    let Some(path) = file else {
        return Ok((Box::new(BufReader::new(io::stdin())), "standard input".to_owned(), None));
    };
    let named = path.display().to_string();
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, file) = opened.map_err(|cause| CommandError::Source(named.clone(), cause))?;
    Ok((Box::new(BufReader::new(file)), named, metadata.is_file().then_some(metadata.len())))
}

/// A line that says what was stored.
fn summary(found: &Found, is_dry_run: bool, seconds: f64) -> String {
    let changes = found.changes;
    let mut text = if is_dry_run {
        format!(
            "nothing was stored; the file has no errors and the store empty: an import would store {changes} changes"
        )
    } else {
        format!("stored {changes} changes in {seconds:.1} s")
    };
    for (number, CollectionSummary { collection, items, deleted }) in
        found.summary.iter().enumerate()
    {
        // Writing to a String cannot fail.
        let _ = write!(text, "{} {collection} {items}", if number == 0 { "; items:" } else { "," });
        if *deleted > 0 {
            let _ = write!(text, " (and {deleted} deleted)");
        }
    }
    text.push('\n');
    text
}
