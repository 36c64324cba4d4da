//! What a database's error means to those above: one reading of the engines' codes, for reads,
//! writes and start-up.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use application::RepositoryError;
use sea_orm::sqlx::Error as SqlxError;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{DbErr, RuntimeErr, SqlxSqliteError};
use thiserror::Error;

/// Why the store could not be opened or prepared. Each is one line that an operator can act on;
/// none names a password.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The URL names no engine this crate knows.
    #[error("the database URL must begin with sqlite:// or postgres://")]
    UnknownScheme,
    /// The URL cannot be read.
    #[error("the database URL is not understood: {0}")]
    InvalidUrl(String),
    /// An in-memory database would be lost, and every connection would see another.
    #[error(
        "an in-memory SQLite database is not supported; name a file, such as sqlite://data/proposals.db?mode=rwc"
    )]
    InMemory,
    /// The folder of the `SQLite` file is not there and cannot be made.
    #[error(
        "cannot create the folder {} of the database file: {cause}; create it, or name a file elsewhere with --database-url",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The `SQLite` file is not there, and the URL does not allow it to be created.
    #[error(
        "there is no database file {path}; write sqlite://{path}?mode=rwc to create it, or name an existing one with --database-url",
        path = .0.display()
    )]
    NoFile(PathBuf),
    /// The `SQLite` file that is to be read is not there.
    #[error("there is no database file {}; name the store with --database-url", .0.display())]
    Missing(PathBuf),
    /// The `SQLite` file cannot be opened.
    #[error(
        "cannot open the database file {}: {cause}; check that it is an SQLite file that this user may read and write",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// Another process has the `SQLite` file open.
    #[error("the database file {} is in use by another process of this service; stop that one, or use PostgreSQL for several", .0.display())]
    InUse(PathBuf),
    /// The file that says who uses the `SQLite` file cannot be made or locked.
    #[error("cannot lock {}: {cause}", path.display())]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The database does not let us in, or is not there.
    #[error(
        "cannot open the database {target}: {cause}; check that it runs, that it accepts this user, and that --database-url is right"
    )]
    Connect {
        /// Which database, without credentials.
        target: String,
        /// What it, or the network, said.
        cause: String,
    },
    /// The operating system gives no thread to write on.
    #[error("cannot start the thread that writes: {0}")]
    Thread(std::io::Error),
    /// The schema could not be read or brought up to date.
    #[error("cannot prepare the database schema: {0}")]
    Schema(String),
}

impl StoreError {
    pub(crate) fn connect(target: String, error: &dyn Display) -> Self {
        Self::Connect { target, cause: error.to_string().replace(['\n', '\r'], " ") }
    }

    pub(crate) fn open(file: &Path, error: &rusqlite::Error) -> Self {
        Self::Open { path: file.to_owned(), cause: error.to_string() }
    }

    pub(crate) fn open_pool(file: &Path, error: &DbErr) -> Self {
        Self::Open { path: file.to_owned(), cause: one_line(error) }
    }

    pub(crate) fn schema(error: &DbErr) -> Self {
        Self::Schema(one_line(error))
    }
}

fn one_line(error: &DbErr) -> String {
    match source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
    .replace(['\n', '\r'], " ")
}

/// What the callers of the port are told. The cause is for the log alone, so it is written here.
pub(crate) fn logged(error: &DbErr, step: &'static str) -> RepositoryError {
    log(error, step, meaning(error))
}

/// The same of an error of the writer of an `SQLite` file.
pub(crate) fn logged_sqlite(error: &rusqlite::Error, step: &'static str) -> RepositoryError {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code.cast_unsigned());
    log(error, step, sqlite_meaning(code))
}

fn log(
    error: &dyn std::fmt::Display,
    step: &'static str,
    told: RepositoryError,
) -> RepositoryError {
    match told {
        RepositoryError::Unavailable => tracing::warn!(%error, step, "the store is unavailable"),
        RepositoryError::Full => tracing::error!(%error, step, "the store is full"),
        _ => tracing::error!(%error, step, "the store failed unexpectedly"),
    }
    told
}

fn meaning(error: &DbErr) -> RepositoryError {
    match (error, source(error)) {
        (_, Some(SqlxError::Database(error))) => database_meaning(error.as_ref()),
        (_, Some(error)) if is_transport(error) => RepositoryError::Unavailable,
        (DbErr::ConnectionAcquire(_) | DbErr::Conn(_), _) => RepositoryError::Unavailable,
        _ => RepositoryError::Corrupt,
    }
}

/// Whether the connection was lost, or never there, rather than the statement refused.
pub(crate) fn is_lost(error: &DbErr) -> bool {
    match source(error) {
        Some(SqlxError::Database(error)) => {
            error.code().is_some_and(|code| code.starts_with("08") || is_shutdown(&code))
        }
        Some(error) => is_transport(error),
        None => false,
    }
}

/// Whether `PostgreSQL` rolled the statement back for the sake of another, so that running it again
/// may succeed: a serialisation failure, a deadlock, or a foreign key that a concurrent insert came
/// under.
pub(crate) fn is_worth_retrying(error: &DbErr) -> bool {
    match source(error) {
        Some(SqlxError::Database(error)) => {
            matches!(error.code().as_deref(), Some("40001" | "40P01" | "23503"))
        }
        _ => false,
    }
}

fn source(error: &DbErr) -> Option<&SqlxError> {
    match error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => Some(error),
        _ => None,
    }
}

const fn is_transport(error: &SqlxError) -> bool {
    use SqlxError::{Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};
    matches!(error, Io(_) | Tls(_) | Protocol(_) | PoolTimedOut | PoolClosed | WorkerCrashed)
}

fn database_meaning(error: &dyn DatabaseError) -> RepositoryError {
    let code = error.code().unwrap_or_default();
    match error.try_downcast_ref::<SqlxSqliteError>() {
        Some(_) => sqlite_meaning(code.parse().unwrap_or_default()),
        None => postgres_meaning(&code),
    }
}

/// The primary result code is the low byte of the extended one (<https://sqlite.org/rescode.html>).
const fn sqlite_meaning(code: u32) -> RepositoryError {
    const BUSY: u32 = 5;
    const LOCKED: u32 = 6;
    const NO_MEMORY: u32 = 7;
    const READ_ONLY: u32 = 8;
    const INPUT_OUTPUT: u32 = 10;
    const FULL: u32 = 13;
    const CANNOT_OPEN: u32 = 14;
    match code & 0xff {
        FULL => RepositoryError::Full,
        BUSY | LOCKED | NO_MEMORY | READ_ONLY | INPUT_OUTPUT | CANNOT_OPEN => {
            RepositoryError::Unavailable
        }
        _ => RepositoryError::Corrupt,
    }
}

/// SQLSTATE classes: 08 connection, 53 resources, 57 operator intervention; 25006 is a standby that
/// takes no writes. What is [worth retrying](is_worth_retrying) comes here when the retries are
/// used up.
fn postgres_meaning(code: &str) -> RepositoryError {
    match code {
        "53100" => RepositoryError::Full,
        "25006" | "40001" | "40P01" | "23503" => RepositoryError::Unavailable,
        _ if code.starts_with("08") || code.starts_with("53") || code.starts_with("57") => {
            RepositoryError::Unavailable
        }
        _ => RepositoryError::Corrupt,
    }
}

fn is_shutdown(code: &str) -> bool {
    matches!(code, "57P01" | "57P02" | "57P03")
}

#[cfg(test)]
mod tests {
    use application::RepositoryError::{Corrupt, Full, Unavailable};

    use super::{postgres_meaning, sqlite_meaning};

    #[test]
    fn sqlite_codes_are_read_by_their_low_byte() {
        for (code, told) in [
            (5, Unavailable),
            (517, Unavailable),
            (13, Full),
            (4874, Unavailable),
            (2067, Corrupt),
            (0, Corrupt),
        ] {
            assert_eq!(sqlite_meaning(code), told, "{code}");
        }
    }

    #[test]
    fn postgres_codes_are_read_by_their_class() {
        let table = [
            ("53100", Full),
            ("53300", Unavailable),
            ("57P01", Unavailable),
            ("08006", Unavailable),
            ("40P01", Unavailable),
        ];
        for (code, told) in table.into_iter().chain([("42P01", Corrupt), ("23505", Corrupt)]) {
            assert_eq!(postgres_meaning(code), told, "{code}");
        }
    }
}
