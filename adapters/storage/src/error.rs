//! The meaning of a database's error to the layers above.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use application::RepositoryError;
use rusqlite::ffi;
use sea_orm::sqlx::Error as SqlxError;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{DbErr, RuntimeErr, SqlxPostgresError};
use thiserror::Error;

const READ_ONLY: &str = "the store is only read here";

/// The codes of a table and of a column that are not there.
const UNDEFINED: [&str; 2] = ["42P01", "42703"];

/// "Cached plan must not change result type".
const STALE_PLAN: &str = "0A000";

pub(crate) type DbResult<T> = Result<T, DbErr>;

/// Why the store could not be opened, prepared or transferred: one line with the fix, no password.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("the database URL must begin with sqlite:// or postgres://")]
    UnknownScheme,
    #[error("invalid database URL: {0}")]
    InvalidUrl(String),
    #[error(
        "an in-memory SQLite database is not supported; name a file, such as sqlite://data/proposals.db?mode=rwc"
    )]
    InMemory,
    #[error("cannot create the folder {path} of the database file: {1}; create it, or name a file elsewhere with --database-url", path = .0.display())]
    Folder(PathBuf, io::Error),
    #[error(
        "the database file {path} does not exist; write sqlite://{path}?mode=rwc to create it, or name an existing one with --database-url",
        path = .0.display()
    )]
    NoFile(PathBuf),
    #[error("the database file {} does not exist; name the store with --database-url", .0.display())]
    Missing(PathBuf),
    #[error("cannot open the database file {path}: {1}; check that it is an SQLite file that this user may read and write", path = .0.display())]
    Open(PathBuf, String),
    #[error("the database file {} is in use by another process of this service; stop that one, or use PostgreSQL for several", .0.display())]
    InUse(PathBuf),
    #[error("the database file {} has {} hard links; keep only one", .0.display(), .1)]
    HardLinks(PathBuf, u64),
    #[error("cannot lock {path}: {1}", path = .0.display())]
    Lock(PathBuf, io::Error),
    #[error(
        "cannot open the database {0}: {1}; check that it runs, that it accepts this user, and that --database-url is right"
    )]
    Connect(String, String),
    #[error(
        "--replica-url (or PROPOSAL_SERVICE_REPLICA_URL): {0}; give postgres://USER:PASSWORD@HOST:PORT/DATABASE of a standby"
    )]
    ReplicaUrl(String),
    #[error(
        "--replica-url (or PROPOSAL_SERVICE_REPLICA_URL) names a standby, but only PostgreSQL has standbys; omit it, or name a PostgreSQL server with --database-url"
    )]
    NoReplicas,
    #[error(
        "the connections to the database {0} do not keep their settings, as with a pooler in transaction mode; connect directly, use session pooling, or set them for the user: {1}"
    )]
    Settings(String, String),
    #[error(
        "the database {0} cannot keep the data of this service: {1}; use PostgreSQL 15 or newer"
    )]
    Unsuitable(String, &'static str),
    #[error(
        "the store has schema version {found}, but this service cannot upgrade versions before {oldest}: export it with the older binary \
         (`proposal-service export FILE`), and import FILE into a new store with this one (docs/backup.md)"
    )]
    TooOld { found: i32, oldest: i32 },
    #[error(
        "the tables of the store do not match this build ({}): another build prepared them; export the store with that build, and import \
         the export into a new store (docs/backup.md)",
        one_line(.0)
    )]
    Tables(DbErr),
    #[error(
        "this service is too old for the store: it knows schema version {known}, but the store has {found}; install the version that \
         prepared the store, or a newer one"
    )]
    TooNew { found: i32, known: i32 },
    #[error(
        "the database is not prepared for this version: run `proposal-service migrate` first, and contract it once only this version runs"
    )]
    NotExpanded,
    #[error(
        "a service with schema version {version} was seen {seconds} s ago (at {address}, instance {id}) and cannot run after this change: \
         stop all services of that version or upgrade them, and run this again. A killed service counts for a minute"
    )]
    OlderInstance { address: String, id: String, version: i32, seconds: i64 },
    #[error(
        "cannot prepare the database schema: {}: another session holds a long lock on a table, as pg_dump does (see pg_locks); no step \
         was left incomplete, so run this again after that session ends",
        one_line(.0)
    )]
    Locked(DbErr),
    #[error(
        "stored data could not be migrated to the new schema version (see the log); completed work is kept: run this again"
    )]
    Unfilled,
    #[error("cannot prepare the database schema: {}", one_line(.0))]
    Schema(DbErr),
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
    #[error("cannot read or write the database file: {0}")]
    File(#[from] rusqlite::Error),
    #[error("cannot copy the database file: it is locked by another program")]
    CopyLocked,
    #[error("cannot check the changes in the folder for temporary files: {0}")]
    Check(rusqlite::Error),
    #[error("the database failed: {}", one_line(.0))]
    Database(#[from] DbErr),
}

impl StoreError {
    /// Returns whether the options are wrong, or name a store that cannot do this.
    pub const fn is_of_options(&self) -> bool {
        use StoreError::{
            InMemory, InvalidUrl, NoReplicas, NotAFile, RenewsItself, ReplicaUrl, UnknownScheme,
        };
        matches!(
            self,
            UnknownScheme
                | InvalidUrl(_)
                | InMemory
                | ReplicaUrl(_)
                | NoReplicas
                | NotAFile
                | RenewsItself
        )
    }

    pub(crate) fn connect(target: String, error: &dyn Display) -> Self {
        Self::Connect(target, error.to_string().replace(['\n', '\r'], " "))
    }

    pub(crate) fn open_pool(file: &Path, error: &DbErr) -> Self {
        Self::Open(file.to_owned(), one_line(error))
    }

    /// The error of a query that names tables and columns.
    pub(crate) fn tables(error: DbErr) -> Self {
        let is_missing = match source(&error) {
            Some(cause @ SqlxError::Database(error)) => {
                error.message().starts_with("no such ") || UNDEFINED.contains(&&*code(cause))
            }
            _ => false,
        };
        if is_missing { Self::Tables(error) } else { Self::Database(error) }
    }
}

pub(crate) fn one_line(error: &DbErr) -> String {
    match source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
    .replace(['\n', '\r'], " ")
}

/// Returns the error for the callers of the port, and logs the cause, which is for operators alone.
pub(crate) fn logged(error: &DbErr, step: &'static str) -> RepositoryError {
    if matches!(error, DbErr::Custom(reason) if reason == READ_ONLY) {
        tracing::debug!(step, "a read needs the primary");
        return RepositoryError::Unavailable;
    }
    let meaning = meaning(error);
    match meaning {
        RepositoryError::Unavailable => tracing::warn!(%error, step, "the store is unavailable"),
        RepositoryError::Full => tracing::error!(%error, step, "storage full"),
        _ => tracing::error!(%error, step, "unexpected storage error"),
    }
    meaning
}

fn meaning(error: &DbErr) -> RepositoryError {
    match (error, source(error)) {
        (_, Some(cause @ SqlxError::Database(error))) => {
            let code = code(cause);
            match error.try_downcast_ref::<SqlxPostgresError>() {
                Some(_) => postgres_meaning(&code),
                None => sqlite_meaning(code.parse().unwrap_or_default()),
            }
        }
        (_, Some(error)) if is_transport(error) => {
            rusqlite_code(error).map_or(RepositoryError::Unavailable, sqlite_meaning)
        }
        // The bytes of a content were removed meanwhile.
        (DbErr::ConnectionAcquire(_) | DbErr::Conn(_) | DbErr::RecordNotUpdated, _) => {
            RepositoryError::Unavailable
        }
        _ => RepositoryError::Corrupt,
    }
}

/// The error of an operation that a standby cannot do. It is no failure: the primary can.
pub(crate) fn read_only() -> DbErr {
    DbErr::Custom(READ_ONLY.to_owned())
}

pub(crate) fn of_rusqlite(error: rusqlite::Error) -> DbErr {
    let error = SqlxError::Io(io::Error::other(error));
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}

/// The code of an error of the connection that writes to an SQLite file.
fn rusqlite_code(error: &SqlxError) -> Option<u32> {
    let SqlxError::Io(error) = error else { return None };
    let error = error.get_ref()?.downcast_ref::<rusqlite::Error>()?;
    Some(error.sqlite_error().map_or(0, |error| error.extended_code.cast_unsigned()))
}

/// Returns whether the connection was lost, or never there, rather than the statement refused.
pub(crate) fn is_lost(error: &DbErr) -> bool {
    source(error).is_some_and(is_connection_lost)
}

/// Returns whether a connection is unusable: lost, to a server without writes (25006), in an
/// aborted transaction (25P02), or ended by the server (25P03: its transaction was idle).
pub(crate) fn is_connection_lost(error: &SqlxError) -> bool {
    const OF_NO_USE: [&str; 6] = ["25006", "25P02", "25P03", "57P01", "57P02", "57P03"];
    let code = code(error);
    is_transport(error) || code.starts_with("08") || OF_NO_USE.contains(&&*code)
}

/// Returns whether a failed commit committed nothing. An intervention (57) may follow a commit.
pub(crate) fn is_refusal(error: &SqlxError) -> bool {
    let code = code(error);
    !code.is_empty() && !code.starts_with("08") && !code.starts_with("57")
}

/// Returns whether a rolled-back write may succeed again: serialisation failure, deadlock, foreign
/// key of a concurrent insert, cancelled statement, read-only server, lost connection, stale plan.
pub(crate) fn is_worth_retrying(error: &DbErr) -> bool {
    const WORTH: [&str; 9] =
        [STALE_PLAN, "23503", "25006", "25P03", "40001", "40P01", "57014", "57P01", "57P02"];
    matches!(error, DbErr::RecordNotInserted) || has_code(error, &WORTH)
}

/// Returns whether a statement timed out while it waited for a lock, or a deadlock was ended.
pub(crate) fn is_contended(error: &DbErr) -> bool {
    has_code(error, &["55P03", "40P01"])
}

pub(crate) fn is_schema_change(error: &SqlxError) -> bool {
    let code = code(error);
    code == STALE_PLAN || UNDEFINED.contains(&&*code)
}

pub(crate) fn needs_new_plan(error: &DbErr) -> bool {
    has_code(error, &[STALE_PLAN])
}

fn source(error: &DbErr) -> Option<&SqlxError> {
    match error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => Some(error),
        _ => None,
    }
}

/// The code of the database; empty for any other error.
fn code(error: &SqlxError) -> Cow<'_, str> {
    error.as_database_error().and_then(DatabaseError::code).unwrap_or_default()
}

fn has_code(error: &DbErr, codes: &[&str]) -> bool {
    source(error).is_some_and(|error| codes.contains(&&*code(error)))
}

const fn is_transport(error: &SqlxError) -> bool {
    use SqlxError::{Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};
    matches!(error, Io(_) | Tls(_) | Protocol(_) | PoolTimedOut | PoolClosed | WorkerCrashed)
}

/// The primary result code is the low byte of the extended one (<https://sqlite.org/rescode.html>).
const fn sqlite_meaning(code: u32) -> RepositoryError {
    match (code & 0xff).cast_signed() {
        ffi::SQLITE_FULL => RepositoryError::Full,
        ffi::SQLITE_BUSY
        | ffi::SQLITE_LOCKED
        | ffi::SQLITE_NOMEM
        | ffi::SQLITE_READONLY
        | ffi::SQLITE_IOERR
        | ffi::SQLITE_CANTOPEN => RepositoryError::Unavailable,
        _ => RepositoryError::Corrupt,
    }
}

/// SQLSTATE classes: 08 connection, 53 resources, 57 operator intervention. 25006 is a write on a
/// standby, 55P03 a lock timeout; 42P01, 42703 and 0A000 mean that another process changed the
/// schema. Errors that are [worth retrying](is_worth_retrying) arrive here after the last retry.
fn postgres_meaning(code: &str) -> RepositoryError {
    match code {
        "53100" => RepositoryError::Full,
        "25006" | "25P02" | "25P03" | "40001" | "40P01" | "23503" | "42P01" | "42703" | "55P03"
        | STALE_PLAN => RepositoryError::Unavailable,
        _ if code.starts_with("08") || code.starts_with("53") || code.starts_with("57") => {
            RepositoryError::Unavailable
        }
        _ => RepositoryError::Corrupt,
    }
}

#[cfg(test)]
mod tests {
    use application::RepositoryError::{Corrupt, Full, Unavailable};

    use super::{postgres_meaning, sqlite_meaning};

    #[test]
    fn sqlite_codes_are_read_by_their_low_byte() {
        for (code, meaning) in [
            (5, Unavailable),
            (517, Unavailable),
            (13, Full),
            (4874, Unavailable),
            (2067, Corrupt),
            (0, Corrupt),
        ] {
            assert_eq!(sqlite_meaning(code), meaning, "{code}");
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
            ("55P03", Unavailable),
            ("42P01", Unavailable),
            ("42703", Unavailable),
            ("0A000", Unavailable),
        ];
        for (code, meaning) in table.into_iter().chain([("42601", Corrupt), ("23505", Corrupt)]) {
            assert_eq!(postgres_meaning(code), meaning, "{code}");
        }
    }
}
