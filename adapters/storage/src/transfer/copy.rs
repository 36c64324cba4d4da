//! Copies of an SQLite file, and their history ids. The id is part of every entity tag and cursor,
//! so a copy needs another: its next versions have equal numbers and different content.

use std::path::Path;
use std::sync::Arc;

use rusqlite::backup::{Backup, Progress, StepResult};
use rusqlite::{Connection, OpenFlags};
use sea_orm::DbBackend;

use crate::sqlite::BUSY_TIMEOUT;
use crate::sqlite::file::{OwnedFile, existing_file};
use crate::sqlite::marks::another;
use crate::{StoreError, StoreOptions};

/// Pages copied at a time, 16 MiB.
const PAGES: i32 = 4_096;

impl StoreOptions {
    /// Backs up the file as of one moment into the empty file at `to`, during writes. Reports the
    /// copied and the total bytes. Blocks. The caller flushes the copy to the disk. A backup
    /// restarts after each write between two of its steps, and never ends with a busy writer, so
    /// all steps run in one read transaction. `VACUUM INTO` rebuilds every index, which takes
    /// several times the processor time, and reports no progress.
    pub fn back_up(&self, to: &Path, report: &dyn Fn(u64, u64)) -> Result<(), StoreError> {
        let file = self.file(StoreError::NotAFile)?;
        let mut source = connect(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let page_size: u64 = source.pragma_query_value(None, "page_size", |row| row.get(0))?;
        // A transaction begins with its first read.
        let snapshot = source.transaction()?;
        snapshot.prepare(sql_file!("sqlite/migration/has_table"))?.exists(["history"])?;
        // An incomplete copy is deleted, so it needs neither a rollback nor a flush.
        let mut copy = connect(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
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
                _ => return Err(StoreError::CopyLocked),
            }
        }
        drop(backup);
        begin_history(&copy)?;
        Ok(())
    }

    /// Gives a byte-wise copy a new history. Fails while a service has it open and caches the id.
    pub fn renew_history(&self) -> Result<(), StoreError> {
        let file = self.file(StoreError::RenewsItself)?;
        let owned = OwnedFile::take(&file)?;
        let connection = connect(&file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let is_renewed = begin_history(&connection);
        // The lock on the file is released after `SQLite` has closed it.
        drop(connection);
        owned.let_go();
        if is_renewed? { Ok(()) } else { Err(StoreError::NoStore) }
    }

    /// The `SQLite` file, or the error of `PostgreSQL`.
    fn file(&self, other: StoreError) -> Result<Arc<Path>, StoreError> {
        match self.backend()? {
            DbBackend::Sqlite => Ok(existing_file(&self.url)?),
            _ => Err(other),
        }
    }
}

fn connect(file: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(file, access | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let connection = connection.and_then(|connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    });
    connection.map_err(|error| StoreError::Open(file.to_owned(), error.to_string()))
}

/// Writes a new history id and another mark, and removes sessions. Returns `false` if the file has no store.
fn begin_history(copy: &Connection) -> rusqlite::Result<bool> {
    let has_table = |name| copy.prepare(sql_file!("sqlite/migration/has_table"))?.exists([name]);
    let has_history = has_table("history")?;
    if has_history {
        copy.execute(sql_file!("sqlite/transfer/history_renew"), [])?;
        let mark: i32 = copy.pragma_query_value(None, "user_version", |row| row.get(0))?;
        copy.pragma_update(None, "user_version", another(&[mark]))?;
    }
    if has_table("sessions")? {
        copy.execute(sql_file!("sqlite/transfer/sessions_remove"), [])?;
    }
    Ok(has_history)
}
