//! The migrations in their order: each is one file here and one line in the list. None is ever
//! undone.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, SchemaManager};

use crate::sql::dialect::Dialect;

mod m20261122_000001_store;
mod m20261123_000002_amounts;
mod m20261124_000003_flat;
pub(crate) mod m20261125_000004_retention;
pub(crate) mod proposals_view;
pub(crate) mod schema_version;

/// Brings a database's schema up to date.
pub(crate) struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            statements("m20261122_000001_store", m20261122_000001_store::statements),
            statements("m20261123_000002_amounts", m20261123_000002_amounts::statements),
            statements("m20261124_000003_flat", m20261124_000003_flat::statements),
            statements("m20261125_000004_retention", m20261125_000004_retention::statements),
        ]
    }
}

/// A migration that is statements alone, under the name that databases keep it by.
struct Statements(&'static str, fn(&Dialect) -> Vec<String>);

fn statements(name: &'static str, of: fn(&Dialect) -> Vec<String>) -> Box<dyn MigrationTrait> {
    Box::new(Statements(name, of))
}

impl MigrationName for Statements {
    fn name(&self) -> &str {
        self.0
    }
}

#[async_trait]
impl MigrationTrait for Statements {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for statement in self.1(Dialect::of(manager.get_database_backend())) {
            manager.get_connection().execute_unprepared(&statement).await?;
        }
        Ok(())
    }
}
