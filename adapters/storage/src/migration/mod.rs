//! The migrations in their order, never undone. [`runner`] executes the pending steps. Steps of
//! later migrations may have several phases, so that older services keep running.

pub(crate) mod backfill;
#[cfg(feature = "next-schema")]
mod next_schema;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod proposals_view;
pub(crate) mod runner;
pub(crate) mod schema_version;

use crate::sql::dialect::Dialect;

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "store",
        steps: |dialect| vec![(EXPAND, Step::Transaction(schema(dialect).to_owned()))],
    },
    #[cfg(feature = "next-schema")]
    next_schema::MIGRATION,
];

/// Adds tables, columns and indexes. The last step raises `schema_version.version`.
pub(crate) const EXPAND: &str = "expand";

/// Fills in stored rows while services run.
pub(crate) const BACKFILL: &str = "backfill";

/// Removes the parts that only older versions use. The first step raises `oldest_writer` or
/// `oldest_reader`, which is refused while such services run.
pub(crate) const CONTRACT: &str = "contract";

pub(crate) struct Migration {
    pub name: &'static str,
    /// Phases and steps.
    pub steps: fn(&Dialect) -> Vec<(&'static str, Step)>,
}

pub(crate) enum Step {
    /// Statements of one brief transaction, since readers wait for its locks. Each ends with `;\n`.
    Transaction(String),
    #[cfg_attr(
        not(feature = "next-schema"),
        expect(dead_code, reason = "the first migration needs no such index")
    )]
    Index(Index),
    #[cfg_attr(
        not(feature = "next-schema"),
        expect(dead_code, reason = "the first migration fills in nothing")
    )]
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
    /// The condition of the rows that need it.
    pub stale: fn(&Dialect) -> &'static str,
}

pub(crate) const fn schema(dialect: &Dialect) -> &'static str {
    sql_file!(dialect, "schema")
}
