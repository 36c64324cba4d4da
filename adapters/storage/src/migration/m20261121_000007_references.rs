//! The column for the programme that a proposal names becomes one for what an item of any
//! collection refers to: score sheets, files and cash programmes refer to a proposal.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, DeriveMigrationName};
use sea_orm_migration::{MigrationTrait, SchemaManager};

/// The key of such an item's `proposal_id` is in the column `subject`. An identifier is a UUID of
/// version 7 in lower case.
const FILL: [&str; 2] = [
    "UPDATE items SET reference_0 = unhex(subject, '-') \
     WHERE collection IN ('gadscores', 'files', 'cashprogram') \
     AND subject LIKE '________-____-7___-____-____________' AND length(unhex(subject, '-')) = 16 \
     AND subject NOT GLOB '*[A-F]*'",
    "UPDATE items SET reference_0 = subject::uuid \
     WHERE collection IN ('gadscores', 'files', 'cashprogram') \
     AND subject ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$'",
];

#[derive(DeriveMigrationName)]
pub(super) struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        for table in ["items", "idempotency_keys"] {
            let rename = format!("ALTER TABLE {table} RENAME COLUMN program TO reference_0");
            connection.execute_unprepared(&rename).await?;
        }
        let is_sqlite = manager.get_database_backend() == DbBackend::Sqlite;
        connection.execute_unprepared(FILL[usize::from(!is_sqlite)]).await?;
        Ok(())
    }
}
