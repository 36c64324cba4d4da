//! The id of the history that a file holds. It is part of every entity tag and cursor, so a copy of the
//! file needs another: the next versions in both files have equal numbers and different content.

use rusqlite::{Connection, OpenFlags};

use super::{TransferError, connect_to_file};
use crate::StoreError;
use crate::sqlite::file::{OwnedFile, existing_file};
use crate::sqlite::marks::another;

/// Gives an `SQLite` file a new history id. Fails while a service has the file open, because the service
/// caches the old id.
pub(super) fn renew(url: &str) -> Result<(), TransferError> {
    let file = match url.split_once(':') {
        Some(("sqlite", _)) => existing_file(url)?,
        Some(("postgres" | "postgresql", _)) => return Err(TransferError::RenewsItself),
        _ => return Err(StoreError::UnknownScheme.into()),
    };
    let owned = OwnedFile::take(&file)?;
    let connection = connect_to_file(&file, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let connection = connection.map_err(|error| StoreError::open(&file, &error))?;
    let is_renewed = begin(&connection).map_err(TransferError::at("give the file a new history"));
    // The lock on the file is let go after `SQLite` has closed it.
    drop(connection);
    owned.let_go();
    if is_renewed? { Ok(()) } else { Err(TransferError::NoStore) }
}

/// Writes a new history id, and another mark, so that the copy is not taken for the original. Returns
/// `false` if the file has no store.
pub(super) fn begin(copy: &Connection) -> rusqlite::Result<bool> {
    let has_history = copy.prepare(sql_file!("sqlite/has_table"))?.exists(["history"])?;
    if has_history {
        copy.execute(sql_file!("sqlite/history_renew"), [])?;
        let mark: i32 = copy.pragma_query_value(None, "user_version", |row| row.get(0))?;
        copy.pragma_update(None, "user_version", another(&[mark]))?;
    }
    Ok(has_history)
}
