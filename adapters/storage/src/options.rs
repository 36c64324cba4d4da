use std::time::Duration;

use sea_orm::DbBackend;

use crate::error::StoreError;
use crate::sqlite::file::named_file;
use crate::sqlite::marks::companion;

#[derive(Clone)]
pub struct StoreOptions {
    /// `sqlite://PATH?mode=rwc` (a third slash makes PATH absolute), or
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE` of each PostgreSQL server, separated by spaces
    /// or line ends. One server accepts writes.
    pub url: String,
    /// The most connections to `PostgreSQL`, or the number of readers of an `SQLite` file.
    pub connections: u32,
    /// The longest wait for a connection or a place in the queue; then the store is unavailable.
    pub acquire_timeout: Duration,
}

#[derive(Clone)]
pub struct ReplicaOptions {
    /// `postgres://…` of each standby, separated by spaces or line ends. Each leads to one server.
    pub urls: String,
    /// The longest lag with which a standby is read.
    pub max_lag: Duration,
}

impl StoreOptions {
    /// The folder for contents next to an SQLite file; `None` for another store.
    pub fn contents_folder(&self) -> Option<String> {
        (self.backend().ok()? == DbBackend::Sqlite)
            .then(|| named_file(&self.url).ok())?
            .map(|file| companion(&file, ".contents").to_string_lossy().into_owned())
    }

    pub(crate) fn backend(&self) -> Result<DbBackend, StoreError> {
        match self.url.split_once(':') {
            Some(("sqlite", _)) => Ok(DbBackend::Sqlite),
            Some(("postgres" | "postgresql", _)) => Ok(DbBackend::Postgres),
            _ => Err(StoreError::UnknownScheme),
        }
    }
}
