//! The tables that statements name, each described once. Migrations make them; [`check`] compares the
//! two. The full-text indexes and the fence have no entity.

pub(crate) mod caller;
pub(crate) mod change;
pub(crate) mod compaction;
pub(crate) mod history;
pub(crate) mod idempotency_key;
pub(crate) mod item;
pub(crate) mod schema_version;
pub(crate) mod search_progress;
pub(crate) mod total;
pub(crate) mod value_count;

use sea_orm::{ConnectionTrait, DbErr, EntityTrait, QuerySelect, QueryTrait};

/// Returns an error where a table or a column is missing.
pub(crate) async fn check(database: &impl ConnectionTrait) -> Result<(), DbErr> {
    check_table::<caller::Entity>(database).await?;
    check_table::<change::Entity>(database).await?;
    check_table::<compaction::Entity>(database).await?;
    check_table::<history::Entity>(database).await?;
    check_table::<idempotency_key::Entity>(database).await?;
    check_table::<item::Entity>(database).await?;
    check_table::<schema_version::Entity>(database).await?;
    check_table::<search_progress::Entity>(database).await?;
    check_table::<total::Entity>(database).await?;
    check_table::<value_count::Entity>(database).await
}

async fn check_table<E: EntityTrait>(database: &impl ConnectionTrait) -> Result<(), DbErr> {
    let query = E::find().limit(0).build(database.get_database_backend());
    database.query_all_raw(query).await.map(drop)
}
