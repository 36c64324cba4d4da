//! What a request that is sent again was told beside the item, such as the warnings of rules.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbErr, DeriveMigrationName};
use sea_orm_migration::{MigrationTrait, SchemaManager};

#[derive(DeriveMigrationName)]
pub(super) struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let text = "ALTER TABLE idempotency_keys ADD COLUMN remarks TEXT NOT NULL DEFAULT ''";
        manager.get_connection().execute_unprepared(text).await?;
        Ok(())
    }
}
