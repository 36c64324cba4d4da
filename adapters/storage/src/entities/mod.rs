//! The tables of one row that are read as a whole, and the check that all tables are there.

pub(crate) mod history;
pub(crate) mod schema_version;

use sea_orm::{ConnectionTrait, DbErr};

/// Returns an error where a table or a column is missing.
pub(crate) async fn check(database: &impl ConnectionTrait) -> Result<(), DbErr> {
    database.execute_unprepared(sql_file!("both/check_tables")).await.map(drop)
}
