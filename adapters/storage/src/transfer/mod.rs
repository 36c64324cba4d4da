//! Backup and transfer of a store, past the repository: the data was validated when it was written.

mod change_record;
mod copy;
mod history_validator;
mod import;
mod log_reader;

use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::{DatabaseConnection, DbBackend};

use crate::StoreOptions;
use crate::error::StoreError;
use crate::postgres::single_connection;
use crate::sqlite;

pub use change_record::{ChangeRecord, CheckedChange};
pub use history_validator::{CollectionSummary, HistoryValidator};
pub use import::ImportTransaction;
pub use log_reader::LogReader;

/// Rows of an `SQLite` file that are read ahead: a row may be as large as a request.
const ROWS_READ_AHEAD: usize = 4;

/// Opens a connection while another process may serve the store. The settings are for `SQLite`.
pub(crate) async fn connect_with(
    options: &StoreOptions,
    settings: fn(SqliteConnectOptions) -> SqliteConnectOptions,
) -> Result<DatabaseConnection, StoreError> {
    match options.backend()? {
        DbBackend::Sqlite => sqlite::connect_to_look(options, 1, settings).await,
        _ => single_connection(options).await,
    }
}

/// Opens a connection that reads, read-only on SQLite, while another process may serve the store.
pub(crate) async fn connect_to_look(
    options: &StoreOptions,
) -> Result<DatabaseConnection, StoreError> {
    connect_with(options, |file| file.read_only(true).row_buffer_size(ROWS_READ_AHEAD)).await
}
