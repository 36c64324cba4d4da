//! `import`: an export, into an empty store.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use storage_adapter::{CollectionSummary, HistoryValidator, ImportTransaction, StoreOptions};
use tokio::sync::mpsc::channel;
use tokio::task::spawn_blocking;

use super::reading::{ExportReading, ReadExport};
use crate::commands::error::{CommandError, Result};
use crate::commands::joined;
use crate::commands::options::ImportOptions;
use crate::commands::progress::ProgressMeter;
use crate::store_options;

const BAR: &str = "{bar:32} {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left";

const SPINNER: &str = "{spinner} {binary_bytes} read, {binary_bytes_per_sec}";

/// Upper limit for any option: the database engines take no longer strings.
const LARGEST: usize = 900_000_000;

type ByteSource = Box<dyn BufRead + Send>;

/// Checks and stores the export. Reads the header before it opens the store.
pub async fn import(options: &ImportOptions) -> Result<()> {
    let (source, named, length) = open(options.file.as_deref())?;
    let template = if length.is_some() { BAR } else { SPINNER };
    let mut meter = ProgressMeter::start(length, template, "importing")?;
    let largest = options.max_body.min(LARGEST);
    let (bar, options_of_store) = (meter.bar.clone(), store_options(&options.database));
    let validator = HistoryValidator::new()?;
    let begun =
        spawn_blocking(move || ExportReading::begin(source, named, largest, bar, validator));
    let reading = meter.watch(joined(begun)).await?;
    let found = if options.dry_run {
        options_of_store.check_is_empty().await?;
        meter.watch(joined(spawn_blocking(move || reading.finish(None)))).await?
    } else {
        let (import, found) = meter.watch(store(&options_of_store, reading)).await?;
        import.commit().await?;
        found
    };
    meter.end();
    crate::commands::print(&summary(&found, options.dry_run, meter.seconds()))
}

/// Stores changes while it reads more.
async fn store(
    options: &StoreOptions,
    reading: ExportReading<ByteSource>,
) -> Result<(ImportTransaction, ReadExport)> {
    let mut import = ImportTransaction::begin(options).await?;
    let (sender, mut checked) = channel(1);
    let work = spawn_blocking(move || reading.finish(Some(sender)));
    while let Some(batch) = checked.recv().await {
        import.store(&batch).await?;
    }
    Ok((import, joined(work).await?))
}

fn open(file: Option<&Path>) -> Result<(ByteSource, String, Option<u64>)> {
    let Some(path) = file else {
        return Ok((Box::new(BufReader::new(io::stdin())), "standard input".to_owned(), None));
    };
    let named = path.display().to_string();
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, file) = opened.map_err(|cause| CommandError::Source(named.clone(), cause))?;
    Ok((Box::new(BufReader::new(file)), named, metadata.is_file().then_some(metadata.len())))
}

fn summary(found: &ReadExport, is_dry_run: bool, seconds: f64) -> String {
    let changes = found.changes;
    let stored = if is_dry_run {
        format!(
            "dry run: the file has no errors and the store is empty; an import would store {changes} changes"
        )
    } else {
        format!("stored {changes} changes in {seconds:.1} s")
    };
    let items =
        found.summary.iter().map(
            |CollectionSummary { collection, items, deleted }| match deleted {
                0 => format!("{collection} {items}"),
                _ => format!("{collection} {items} (and {deleted} deleted)"),
            },
        );
    let items = items.collect::<Vec<_>>().join(", ");
    let separator = if items.is_empty() { "" } else { "; items: " };
    format!("{stored}{separator}{items}\n")
}
