//! The migrations in their order. None is ever undone.
//!
//! A migration is data (`stages.rs`), and [`runner`] executes its pending steps. The first one makes
//! all tables of an empty store. A later one may have stages, so that older services keep running:
//! expand, backfill while services run, and contract after the older ones have ended.

pub(crate) mod backfill;
#[cfg(feature = "next-schema")]
mod next_schema;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod proposals_view;
pub(crate) mod runner;
pub(crate) mod schema_version;
mod stages;

use crate::sql::dialect::Dialect;
use stages::{Migration, Stages, Step};

/// All migrations.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { name: "store", stages: store },
    #[cfg(feature = "next-schema")]
    next_schema::MIGRATION,
];

fn store(dialect: &Dialect) -> Stages {
    let tables = Step::Transaction(schema(dialect).to_owned());
    Stages { expand: vec![tables], ..Stages::default() }
}

/// The statements that make the tables of an empty store.
pub(crate) const fn schema(dialect: &Dialect) -> &'static str {
    sql_file!(dialect, "schema")
}
