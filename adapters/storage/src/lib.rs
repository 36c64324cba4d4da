//! The only crate that knows SQL: it keeps the items of [`application::ItemRepository`] in `SQLite`
//! or `PostgreSQL`.
//!
//! # How it works
//! [`Store::connect`] reads the URL's scheme and opens one of two engines behind the same trait
//! (`engine.rs`). Reads use the same SQL text on both (`sql/statements.rs`), concurrent readers
//! share them (`read/`), and one module maps their rows to items (`sql/row_mapping.rs`). Slow
//! statements have separate connections and are cancelled when the last caller has gone. Writes are
//! data (`write/command.rs`), so that they can be queued and retried. `write/statements.rs` executes
//! their rows with the SQL files of the engine; `postgres/writes.rs` and `sqlite/writer.rs` have the
//! transactions.
//!
//! A write that was decided on other items is made only while they are the same: what
//! `sql/lookup.rs` found is looked for again in the transaction that writes (`write/read_set.rs`).
//!
//! On both, the times and numbers of an item's changes grow with its versions. On `PostgreSQL` writes
//! run concurrently, and a fence waits until none is in progress (`postgres/fence.rs`). The
//! full-text index follows the log (`search_index/indexer.rs`).
//!
//! Pages are walked in an index first (`sql/page.rs`, with filters from `sql/filter.rs`, orders
//! from `sql/sort.rs` and searches from `sql/full_text.rs`), and joined to their items in the same
//! statement. Cached values are used only while they are known to be current: `cache/write_through.rs`
//! if this process alone writes, otherwise `cache/revisions.rs`.
//!
//! Whole stores are transferred by what is in `transfer/`: the change log is read to its end, or
//! replayed into an empty store.
//!
//! # How to change it
//! A new proposal field needs no change here: [`Store::migrate`] recreates the view when its columns
//! differ from the field table. A new table or column is in `sql/*/schema.sql`, or later in a
//! migration, and is in `sql/both/check_tables.sql`. A new condition on a write needs a row in
//! `write/condition.rs`, and a case in `tests/tests/repository/`, which runs on both engines.

/// The text of a file in `sql/`: `sql_file!("both/NAME")`, or the one of a dialect's engine.
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
mod engine;
mod entities;
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
    TransferError,
};
