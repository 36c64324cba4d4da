//! The migrations in their order: each is one file here and one line in the list. None is ever
//! undone.

use sea_orm_migration::{MigrationTrait, MigratorTrait};

mod m20261121_000001_items;
mod m20261121_000002_finding;
mod m20261121_000003_turns;
mod m20261121_000004_history;
mod m20261121_000005_rules;
mod m20261121_000006_subjects;
mod m20261121_000007_references;
pub(crate) mod proposals_view;

/// Brings a database's schema up to date.
pub(crate) struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m20261121_000001_items::Migration),
            Box::new(m20261121_000002_finding::Migration),
            Box::new(m20261121_000003_turns::Migration),
            Box::new(m20261121_000004_history::Migration),
            Box::new(m20261121_000005_rules::Migration),
            Box::new(m20261121_000006_subjects::Migration),
            Box::new(m20261121_000007_references::Migration),
        ]
    }
}
