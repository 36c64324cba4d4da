//! The only crate that knows SQL: it keeps the items of [`application::ItemRepository`] in `SQLite`
//! or `PostgreSQL`.
//!
//! # How it works
//! [`Store::connect`] reads the URL's scheme and opens one of two engines behind the same trait
//! (`engine.rs`). Reads are the same SQL text on both (`statements.rs`), shared by those who wait
//! for them at the same time (`read_queue.rs`), and their rows become items in one place
//! (`rows.rs`). Writes are data (`write.rs`), so that they can be queued and run again, and each
//! engine performs them its own way:
//!
//! - `postgres_rows.rs`: all inserts and updates that have queued up in one statement with
//!   data-modifying CTEs, which decides, writes, logs and counts; `postgres_writes.rs`: deletions
//!   and replacements;
//! - `sqlite_writer.rs` and `sqlite_writes.rs`: one thread owns the one writing connection and puts
//!   whatever has queued up into one transaction (group commit), so that a disk flush is shared by
//!   many writes.
//!
//! A write that was decided on other items is made only while they are the same: what `look_up.rs`
//! found is looked for again in the transaction that writes (`grounds.rs`).
//!
//! On both, writes are committed in the order of their times and of their numbers in the change
//! log. The full-text index follows the log (`indexer.rs`).
//!
//! Pages are walked in an index first (`pages.rs`, with filters from `selection.rs`, orders from
//! `order.rs` and searches from `matches.rs`), then their items are read. What is kept in memory is
//! used only while it is known to be current: `current.rs` where this process alone writes,
//! `seen.rs` and the revision where others do too.
//!
//! Whole stores are copied by what is in `copies/`: the change log is read to its end, or replayed
//! into an empty store.
//!
//! # What it keeps
//! | table | content |
//! |---|---|
//! | `items` | the current version of every item of every collection |
//! | `changes` | one row per write, append-only, with the members that the write superseded |
//! | `collection_totals` | how many items and how many writes each scope has |
//! | `search_…` | the words of every item, for full-text search, and up to which change they are known |
//! | `proposals` (view) | the proposals with a column per field, for people who query with SQL |
//!
//! # How to change it
//! A new proposal field needs nothing here: [`Store::migrate`] makes the view anew when its columns
//! differ from the field table. A new table or column is one file in `migration/` and one line in
//! its list. A new condition on a write is a clause in both `*_writes.rs`, and a case in
//! `tests/tests/repository/`, which runs on both engines.

mod change_log;
mod copies;
mod current;
mod dialect;
mod engine;
mod errors;
mod grounds;
mod idempotency;
mod index_text;
mod indexer;
mod indexing;
mod item_repository;
mod kept_items;
mod keys;
mod look_up;
mod matches;
mod member;
mod migration;
mod order;
mod page_cache;
mod pages;
mod past;
mod postgres;
mod postgres_grounds;
mod postgres_indexing;
mod postgres_keys;
mod postgres_rows;
mod postgres_writes;
mod proposals_view;
mod read_queue;
mod row_write;
mod rows;
mod seen;
mod selection;
mod sql_text;
mod sqlite;
mod sqlite_checkpoints;
mod sqlite_grounds;
mod sqlite_indexing;
mod sqlite_readers;
mod sqlite_totals;
mod sqlite_writer;
mod sqlite_writes;
mod statements;
mod store;
mod write;
mod write_queue;

pub use errors::StoreError;
pub use store::{Store, StoreOptions};
