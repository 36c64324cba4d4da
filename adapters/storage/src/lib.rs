//! The only crate that knows SQL. It stores items in SQLite or PostgreSQL. `docs/storage.md`
//! follows a read and a write through the files, and explains the decisions.
//!
//! - [`Store::connect`] opens an engine (`engine.rs`): `sqlite/` or `postgres/`.
//! - Reads: `read/` (single-flight), `cache/`, and the statements of `sql/`.
//! - Writes: `write/`, and the transactions of `postgres/writes.rs` and `sqlite/writer.rs`.
//! - `search_index/` is the full-text index of the log; `transfer/` exports, imports and backs up.
//!
//! A new proposal field needs no change here. A new table or column is in `schema.sql` of both
//! engines and in `check_tables.sql`. A new condition on a write is in `write/condition.rs`.

/// The text of a file in `sql/`: `sql_file!("both/FOLDER/NAME")`, or the one of a dialect's engine.
macro_rules! sql_file {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/", $path, ".sql"))
    };
    ($dialect:expr, $name:literal) => {
        match $dialect.backend {
            sea_orm::DbBackend::Sqlite => {
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/sqlite/", $name, ".sql"))
            }
            _ => include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/", $name, ".sql")),
        }
    };
}

mod cache;
mod callers;
mod contents;
mod engine;
mod error;
mod metrics;
mod migration;
mod options;
mod postgres;
mod read;
mod replicas;
mod repository;
mod retention;
mod search_index;
mod sessions;
mod spans;
mod sql;
mod sqlite;
mod store;
mod transfer;
mod upkeep;
mod write;

pub use error::StoreError;
pub use migration::plan::MigrationStep;
pub use migration::schema_version::SCHEMA_VERSION;
pub use options::{ReplicaOptions, StoreOptions};
pub use store::Store;
pub use transfer::{
    ChangeRecord, CheckedChange, CollectionSummary, HistoryValidator, ImportTransaction, LogReader,
};
