//! Erasing the name of a caller, also while another process serves the store.
//!
//! The service of an `SQLite` file is the only process that writes items to it, because it trusts its
//! cache. It caches the names of callers for at most a minute, so another process may write to their
//! table: its short transactions wait for those of the service, and vice versa.

use jiff::Timestamp;
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::TransferError;
use crate::callers::erasure;
use crate::error::StoreError;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::postgres::single_connection;
use crate::sql::dialect::Dialect;
use crate::{StoreOptions, sqlite};

const STEP: &str = "erase the name of the caller";

/// Erases the name of a caller. Returns whether one was known until now.
pub(super) async fn erase(
    options: &StoreOptions,
    id: &str,
    time: Timestamp,
) -> Result<bool, TransferError> {
    let connection = connect(options).await?;
    if !is_up_to_date(&connection, Access::Write).await? {
        return Err(TransferError::NoStore);
    }
    let dialect = Dialect::of(connection.get_database_backend());
    let [mark, clear] = erasure(dialect, id, time);
    connection.execute_raw(mark).await.map_err(TransferError::at(STEP))?;
    let cleared = connection.execute_raw(clear).await.map_err(TransferError::at(STEP))?;
    connection.close().await.map_err(TransferError::at(STEP))?;
    Ok(cleared.rows_affected() > 0)
}

async fn connect(options: &StoreOptions) -> Result<DatabaseConnection, StoreError> {
    match options.url.split_once(':') {
        // What is erased is overwritten where it stood in the file.
        Some(("sqlite", _)) => {
            sqlite::connect_to_look(options, 1, |file| file.pragma("secure_delete", "ON")).await
        }
        Some(("postgres" | "postgresql", _)) => single_connection(options).await,
        _ => Err(StoreError::UnknownScheme),
    }
}
