//! Copies of a whole store: its history read from the change log, a history replayed into an empty
//! store, and a backup of an `SQLite` file.
//!
//! - `log_reader.rs` reads all changes, each with the members that it left;
//! - `history_validator.rs` checks that changes can follow each other, whatever they are to be
//!   stored in;
//! - `import.rs` stores them (`sqlite_import.rs`, `postgres_import.rs`);
//! - `backup.rs` copies an `SQLite` file page by page;
//! - `maintenance.rs` offers all of it as the port `Maintenance`.
//!
//! All of it works beside the repository, on connections of its own: what is copied was judged when
//! it was written.

mod backup;
mod history_validator;
mod import;
mod log_reader;
mod maintenance;
mod postgres_import;
mod record;
mod sqlite_import;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sea_orm::DbErr;
use thiserror::Error;

use crate::error::StoreError;

/// Why a store was not copied. Each is one line that an operator can act on.
#[derive(Debug, Error)]
enum CopyError {
    /// The store cannot be opened or prepared.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database holds no tables of the service.
    #[error(
        "the database holds no store: no version of the service has prepared it; name another with --database-url"
    )]
    NoStore,
    /// Something was written to the store before.
    #[error(
        "the store is not empty; import into a new one: a file that does not exist, or an empty database. Changes of two stores cannot \
         be put together, because their times would no longer follow the order of the log"
    )]
    NotEmpty,
    /// A `PostgreSQL` database was to be backed up.
    #[error(
        "a PostgreSQL database is backed up with its own tools, which also do so while it is used: \
         pg_dump --format=custom --file=FILE \"$PROPOSAL_SERVICE_DATABASE_URL\""
    )]
    NotAFile,
    /// Rows of the change log were removed.
    #[error(
        "the change log is not whole: nothing tells what {item} was at version {version}. A store whose log was pruned cannot be \
         exported; back it up instead (docs/copies.md)"
    )]
    Incomplete {
        /// The item.
        item: String,
        /// The version whose members are lost.
        version: i64,
    },
    /// The database failed.
    #[error("cannot {step}: {cause}")]
    Database {
        /// What was done.
        step: &'static str,
        /// What the database said.
        cause: String,
    },
}

impl CopyError {
    fn sqlite(step: &'static str) -> impl Fn(rusqlite::Error) -> Self {
        move |error| Self::database(step, &error)
    }

    fn sea(step: &'static str) -> impl Fn(DbErr) -> Self {
        move |error| Self::database(step, &error)
    }

    fn database(step: &'static str, cause: &dyn std::fmt::Display) -> Self {
        Self::Database { step, cause: cause.to_string().replace(['\n', '\r'], " ") }
    }

    fn not_understood(what: &str, found: impl std::fmt::Display) -> Self {
        Self::database("understand the change log", &format!("{what}: {found}"))
    }
}

/// Opens an `SQLite` file to look at it, beside a process that serves it: it takes no lock of the
/// service's, and cannot write.
fn looking_at(file: &Path) -> Result<Connection, CopyError> {
    if !file.exists() {
        return Err(StoreError::Missing(file.to_owned()).into());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).and_then(|connection| {
        connection.busy_timeout(crate::sqlite::BUSY_TIMEOUT)?;
        Ok(connection)
    });
    connection.map_err(|error| StoreError::open(file, &error).into())
}
