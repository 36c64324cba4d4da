//! The parts of a migration.

use crate::sql::dialect::Dialect;

/// A change of the schema, under the name that databases record.
pub(crate) struct Migration {
    pub name: &'static str,
    pub stages: fn(&Dialect) -> Stages,
}

/// The steps of a migration during which older services keep running.
#[derive(Default)]
pub(crate) struct Stages {
    /// Adds tables, columns and indexes. Its last step raises `schema_version.version`.
    pub expand: Vec<Step>,
    /// Fills in stored rows while services run.
    pub backfill: Option<Backfill>,
    /// Removes the parts that only older versions use. Its first step raises `oldest_writer` or
    /// `oldest_reader`, which is refused while such services run.
    pub contract: Vec<Step>,
}

/// An atomic part of a migration.
#[derive(Clone)]
pub(crate) enum Step {
    /// Statements in one transaction, which must be brief, because readers wait for its locks. Each
    /// ends with a semicolon at the end of a line.
    Transaction(String),
    #[cfg_attr(
        not(feature = "next-schema"),
        expect(dead_code, reason = "the first migration needs no such index")
    )]
    Index(Index),
    Backfill(Backfill),
}

/// An index of a table with rows, created without blocking writers.
#[derive(Clone, Copy)]
pub(crate) struct Index {
    pub name: &'static str,
    /// Table and columns, as in `items (collection, id)`.
    pub on: &'static str,
}

/// An idempotent update of many rows of `items`, in batches in the order of their identifiers.
#[derive(Clone, Copy)]
pub(crate) struct Backfill {
    /// The assignment, as in `a = b`.
    pub set: &'static str,
    /// The rows that need it.
    pub stale: fn(&Dialect) -> &'static str,
}
