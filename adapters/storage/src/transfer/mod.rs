//! Backup and transfer of a whole store. They bypass the repository and use separate connections,
//! because the transferred data was validated when it was written.

mod change_record;
mod copy;
mod history_validator;
mod import;
mod log_reader;

use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::{DatabaseConnection, DbBackend, DbErr};
use thiserror::Error;

use crate::StoreOptions;
use crate::error::{StoreError, one_line};
use crate::postgres::single_connection;
use crate::sqlite;

pub use change_record::{ChangeRecord, CheckedChange};
pub use history_validator::{CollectionSummary, HistoryValidator};
pub use import::ImportTransaction;
pub use log_reader::LogReader;

/// Rows of an `SQLite` file that are read ahead: a row may be as large as a request.
const ROWS_READ_AHEAD: usize = 4;

/// Why a store was not backed up or transferred: one line with the fix.
#[derive(Debug, Error)]
pub enum TransferError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the database contains no store; name another one with --database-url")]
    NoStore,
    #[error(
        "the store is not empty; import into a new file or an empty database. Changes of two stores cannot be merged, because their \
         times would no longer follow the order of the log"
    )]
    NotEmpty,
    #[error(
        "back up a PostgreSQL database with its own tools, which also work while the service runs: \
         pg_dump --format=custom --file=FILE \"$PROPOSAL_SERVICE_DATABASE_URL\""
    )]
    NotAFile,
    #[error(
        "a PostgreSQL database restored from a dump or to a point in time gets a new history automatically; \
         `history renew` is for copies of an SQLite file: name one with --database-url"
    )]
    RenewsItself,
    #[error(
        "the change log is incomplete: version {version} of {item} is missing. A store with a pruned log cannot be \
         exported; back it up instead (docs/backup.md)"
    )]
    Incomplete { item: String, version: i64 },
    #[error("the database failed: {}", one_line(.0))]
    Database(#[from] DbErr),
    #[error("cannot copy the database file: {0}")]
    Copy(#[from] rusqlite::Error),
    #[error("cannot copy the database file: it is locked by another program")]
    Locked,
    #[error("cannot check the changes in the folder for temporary files: {0}")]
    Check(rusqlite::Error),
}

impl TransferError {
    /// Returns whether the options are wrong, or name a store that cannot do this.
    #[must_use]
    pub fn is_of_options(&self) -> bool {
        match self {
            Self::Store(error) => error.is_of_options(),
            error => matches!(error, Self::NotAFile | Self::RenewsItself),
        }
    }
}

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

/// Opens a read-only connection while another process may serve the store.
pub(crate) async fn connect_to_look(
    options: &StoreOptions,
) -> Result<DatabaseConnection, StoreError> {
    connect_with(options, |file| file.read_only(true).row_buffer_size(ROWS_READ_AHEAD)).await
}
