//! A copy of an `SQLite` file while it is served, page by page.
//!
//! `SQLite`'s backup begins anew whenever another process has written between two of its steps, and
//! beside a busy writer it never ends. Here all steps are within one read transaction, so they copy
//! the file as it was at one moment: everything that was acknowledged before, and nothing of what
//! came later. With a write-ahead log a reader holds up no writer; the log grows meanwhile by what
//! is written. `VACUUM INTO` gives as consistent a copy in about the same time, but builds every
//! index anew, which takes several times the processor time of copying, and cannot tell how far it
//! has come.

use std::path::Path;

use application::maintenance::BackupProgress;
use rusqlite::backup::{Backup, Progress, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{CopyError, looking_at};
use crate::StoreError;
use crate::sqlite::named_file;

/// Pages copied at a time, 16 MiB.
const PAGES: i32 = 4_096;

const STEP: &str = "copy the database file";

/// Copies the `SQLite` file that a URL names into an empty file, which is to be flushed to the disk
/// by the caller. Tells after each step how far it has come.
///
/// # Errors
/// Where the store is no file, is not there or cannot be read, or the copy cannot be written.
pub(super) fn back_up(
    url: &str,
    to: &Path,
    report: &dyn Fn(BackupProgress),
) -> Result<(), CopyError> {
    let file = match url.split_once(':') {
        Some(("sqlite", _)) => named_file(url)?,
        Some(("postgres" | "postgresql", _)) => return Err(CopyError::NotAFile),
        _ => return Err(StoreError::UnknownScheme.into()),
    };
    let error = CopyError::sqlite(STEP);
    let mut source = looking_at(&file)?;
    let page_size: u64 =
        source.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(&error)?;
    // A transaction begins with what it reads first.
    let moment = source.transaction().map_err(&error)?;
    let _: i64 = moment
        .query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(&error)?;
    let mut copy = copy_at(to).map_err(&error)?;
    let backup = Backup::new(&moment, &mut copy).map_err(&error)?;
    loop {
        let step = backup.step(PAGES).map_err(&error)?;
        report(told(backup.progress(), page_size));
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(CopyError::database(STEP, &"the file is locked by another program")),
        }
    }
}

/// Nobody else knows of the copy, and one that is broken off is thrown away: there is nothing to be
/// undone or flushed.
fn copy_at(to: &Path) -> rusqlite::Result<Connection> {
    let copy = Connection::open_with_flags(
        to,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    copy.pragma_update(None, "journal_mode", "OFF")?;
    copy.pragma_update(None, "synchronous", "OFF")?;
    Ok(copy)
}

fn told(progress: Progress, page_size: u64) -> BackupProgress {
    let bytes = |pages: i32| u64::try_from(pages).unwrap_or_default() * page_size;
    BackupProgress {
        copied: bytes(progress.pagecount - progress.remaining),
        total: bytes(progress.pagecount),
    }
}
