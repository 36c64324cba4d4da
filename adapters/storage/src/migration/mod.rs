//! The migrations in their order: each is one file here and one line in the list. None is ever
//! undone.
//!
//! A migration is data (`stages.rs`), and [`runner`] executes its pending steps. Most are statements
//! in one transaction. A migration during which older services keep running has stages: expand,
//! backfill while services run, and contract after the older ones have ended.

pub(crate) mod backfill;
mod m20261122_000001_store;
mod m20261123_000002_amounts;
mod m20261123_000003_side_by_side;
mod m20261124_000004_changes_by_collection;
pub(crate) mod m20261125_000005_retention;
pub(crate) mod next_schema;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod proposals_view;
pub(crate) mod runner;
pub(crate) mod schema_version;
mod stages;

use stages::{Migration, staged, statements};

/// All migrations.
pub(crate) fn migrations() -> Vec<Migration> {
    let mut migrations = vec![
        statements("m20261122_000001_store", m20261122_000001_store::statements),
        statements("m20261123_000002_amounts", m20261123_000002_amounts::statements),
        statements("m20261123_000003_side_by_side", m20261123_000003_side_by_side::statements),
        staged(
            "m20261124_000004_changes_by_collection",
            m20261124_000004_changes_by_collection::stages,
        ),
        statements("m20261125_000005_retention", m20261125_000005_retention::statements),
    ];
    migrations.extend(next_schema::migration());
    migrations
}

/// Returns the statements that make the schema on an empty database.
#[cfg(test)]
pub(crate) fn statements_of_all(dialect: &crate::sql::dialect::Dialect) -> Vec<String> {
    use stages::{Index, Step};

    let steps = migrations().into_iter().flat_map(|migration| migration.stages(dialect).expand);
    let statements = steps.flat_map(|step| match step {
        Step::Transaction(statements) => statements,
        Step::Index(Index { name, on }) => vec![format!("CREATE INDEX {name} ON {on}")],
        Step::Backfill(_) => Vec::new(),
    });
    statements.collect()
}
