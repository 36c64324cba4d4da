//! Backup and transfer of a whole store, and erasures. They bypass the repository and use separate
//! connections, because the transferred data was validated when it was written.
//!
//! - `log_reader.rs` reads all changes, each with the resulting members;
//! - `history_validator.rs` checks that changes can follow each other, independently of the store;
//! - `import.rs` stores them in an empty store;
//! - `backup.rs` backs up an `SQLite` file page by page;
//! - `history_id.rs` renews the history id of a copied file;
//! - `erasure.rs` erases the name of a caller;
//! - `maintenance.rs` has the operations that open the store for themselves.

mod backup;
mod change_record;
mod erasure;
mod history_error;
mod history_id;
mod history_validator;
mod import;
mod known_items;
mod log_reader;
mod maintenance;

use std::fmt::Display;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sea_orm::DatabaseConnection;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use thiserror::Error;

use crate::StoreOptions;
use crate::error::StoreError;
use crate::postgres::single_connection;
use crate::sqlite;
use crate::sqlite::BUSY_TIMEOUT;

pub use change_record::{ChangeRecord, CheckedChange};
pub use history_validator::HistoryValidator;
pub use import::ImportTransaction;
pub use known_items::CollectionSummary;
pub use log_reader::LogReader;

/// Rows of an `SQLite` file that are read ahead: a row may be as large as a request.
const ROWS_READ_AHEAD: usize = 4;

/// Why a store was not backed up or transferred. Each is one line that an operator can act on.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The store cannot be opened or prepared.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database holds no tables of the service.
    #[error("the database contains no store; name another one with --database-url")]
    NoStore,
    /// Something was written to the store before.
    #[error(
        "the store is not empty; import into a new file or an empty database. Changes of two stores cannot be merged, because their \
         times would no longer follow the order of the log"
    )]
    NotEmpty,
    /// A `PostgreSQL` database was to be backed up.
    #[error(
        "back up a PostgreSQL database with its own tools, which also work while the service runs: \
         pg_dump --format=custom --file=FILE \"$PROPOSAL_SERVICE_DATABASE_URL\""
    )]
    NotAFile,
    /// A `PostgreSQL` database was to get a new history.
    #[error(
        "a PostgreSQL database restored from a dump or to a point in time gets a new history automatically; \
         `history renew` is for copies of an SQLite file: name one with --database-url"
    )]
    RenewsItself,
    /// Rows of the change log were removed.
    #[error(
        "the change log is incomplete: version {version} of {item} is missing. A store with a pruned log cannot be \
         exported; back it up instead (docs/backup.md)"
    )]
    Incomplete {
        /// The item.
        item: String,
        /// The version that is missing.
        version: i64,
    },
    /// The database failed.
    #[error("cannot {step}: {cause}")]
    Database {
        /// The operation that failed.
        step: &'static str,
        /// The message of the database.
        cause: String,
    },
}

impl TransferError {
    /// Returns whether the options that name the store are wrong, or name one of a kind that cannot do this.
    #[must_use]
    pub fn is_of_options(&self) -> bool {
        match self {
            Self::Store(error) => error.is_of_options(),
            error => matches!(error, Self::NotAFile | Self::RenewsItself),
        }
    }

    /// Makes an error of what a database says in a step.
    fn at<E: Display>(step: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Database { step, cause: error.to_string().replace(['\n', '\r'], " ") }
    }
}

/// Opens a read-only connection while another process may serve the store.
pub(crate) async fn connect_to_look(
    options: &StoreOptions,
) -> Result<DatabaseConnection, StoreError> {
    match options.url.split_once(':') {
        Some(("sqlite", _)) => {
            let read_only =
                |file: SqliteConnectOptions| file.read_only(true).row_buffer_size(ROWS_READ_AHEAD);
            sqlite::connect_to_look(options, 1, read_only).await
        }
        Some(("postgres" | "postgresql", _)) => single_connection(options).await,
        _ => Err(StoreError::UnknownScheme),
    }
}

/// Opens a file that other connections may use.
fn connect_to_file(file: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(file, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}
