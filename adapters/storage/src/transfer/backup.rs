//! A copy of an `SQLite` file while it is served, page by page.
//!
//! `SQLite`'s backup restarts whenever another process has written between two of its steps, so with
//! a busy writer it never ends. Here all steps run within one read transaction, so they copy the file
//! as it was at one moment: every write acknowledged before it, and no later one. With a write-ahead
//! log, a reader does not block the writer, but the log grows during the backup. `VACUUM INTO` makes
//! an equally consistent copy in about the same time, but it rebuilds every index, which takes
//! several times the processor time, and it does not report its progress.

use std::path::Path;

use rusqlite::backup::{Backup, Progress, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{TransferError, connect_to_file, history_id};
use crate::StoreError;
use crate::sqlite::file::existing_file;

/// Pages copied at a time, 16 MiB.
const PAGES: i32 = 4_096;

/// Backs up the `SQLite` file that a URL names into an empty file, which is to be flushed to the
/// disk by the caller. Reports the bytes copied and those in all after each step.
pub(super) fn back_up(
    url: &str,
    to: &Path,
    report: &dyn Fn(u64, u64),
) -> Result<(), TransferError> {
    let file = match url.split_once(':') {
        Some(("sqlite", _)) => existing_file(url)?,
        Some(("postgres" | "postgresql", _)) => return Err(TransferError::NotAFile),
        _ => return Err(StoreError::UnknownScheme.into()),
    };
    let source = connect_to_file(&file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let source = source.map_err(|error| StoreError::open(&file, &error))?;
    copy(source, to, report).map_err(TransferError::at("copy the database file"))
}

fn copy(mut source: Connection, to: &Path, report: &dyn Fn(u64, u64)) -> rusqlite::Result<()> {
    let page_size: u64 = source.pragma_query_value(None, "page_size", |row| row.get(0))?;
    // A transaction begins with what it reads first.
    let snapshot = source.transaction()?;
    snapshot.prepare(sql_file!("sqlite/has_table"))?.exists(["history"])?;
    // No other process uses the copy, and an incomplete one is deleted, so it needs neither a
    // rollback nor a flush.
    let mut copy = connect_to_file(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    copy.pragma_update(None, "journal_mode", "OFF")?;
    copy.pragma_update(None, "synchronous", "OFF")?;
    let backup = Backup::new(&snapshot, &mut copy)?;
    let bytes = |pages: i32| u64::try_from(pages).unwrap_or_default() * page_size;
    loop {
        let step = backup.step(PAGES)?;
        let Progress { pagecount, remaining } = backup.progress();
        report(bytes(pagecount - remaining), bytes(pagecount));
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            _ => return Err(locked()),
        }
    }
    drop(backup);
    // Later writes to the original are not in the copy.
    history_id::begin(&copy).map(drop)
}

fn locked() -> rusqlite::Error {
    let message = "the file is locked by another program".to_owned();
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
        Some(message),
    )
}
