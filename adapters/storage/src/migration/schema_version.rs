//! The version of a database's schema, and how old a service may be that uses it.
//!
//! A newer service may add to the schema while older ones go on: it writes down the oldest version
//! that still reads, and the oldest that still writes, what is stored now.

use sea_orm::{ConnectionTrait, DbBackend, DbErr};

use crate::error::StoreError;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// The version of the schema that this service knows.
pub(crate) const SCHEMA_VERSION: i32 = 2;

const VERSIONS: &str = "SELECT version, oldest_reader, oldest_writer FROM schema_version";

/// A table has another number in a database that was restored from a dump.
const HISTORY: [&str; 2] = [
    "SELECT id FROM history",
    "SELECT id || to_hex('history'::regclass::oid::bigint) AS id FROM history",
];

/// The way a database is to be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The id of the history that the database holds. The schema must be up to date.
///
/// # Errors
/// Where the database cannot be queried.
pub(crate) async fn history(database: &impl ConnectionTrait) -> Result<String, StoreError> {
    let dialect = Dialect::of(database.get_database_backend());
    let query = HISTORY[usize::from(dialect.backend != DbBackend::Sqlite)];
    let row = database.query_one_raw(dialect.statement(query, [])).await;
    let id = row.and_then(|row| {
        let row = row.ok_or_else(|| DbErr::RecordNotFound("the history's id".to_owned()))?;
        row_mapping::get::<String>(&row, "id")
    });
    id.map_err(StoreError::schema)
}

/// Returns whether the schema is as this service needs it; `false` where it has yet to be migrated.
///
/// # Errors
/// Where the database cannot be queried, or its schema is too new, or that of the first edition.
pub(crate) async fn is_up_to_date(
    database: &impl ConnectionTrait,
    access: Access,
) -> Result<bool, StoreError> {
    let dialect = Dialect::of(database.get_database_backend());
    let has = async |table: &str| {
        let found = database.query_one_raw(dialect.statement(dialect.has_table, [table.into()]));
        Ok::<_, StoreError>(found.await.map_err(StoreError::schema)?.is_some())
    };
    if !has("schema_version").await? {
        let is_first_edition = has("collection_totals").await?;
        return if is_first_edition { Err(StoreError::FirstEdition) } else { Ok(false) };
    }
    let row = database.query_one_raw(dialect.statement(VERSIONS, [])).await;
    let versions = row.and_then(|row| {
        let row = row.ok_or_else(|| DbErr::RecordNotFound("the schema's version".to_owned()))?;
        let get = |column| row_mapping::get::<i32>(&row, column);
        Ok((get("version")?, get("oldest_reader")?, get("oldest_writer")?))
    });
    let (version, reader, writer) = versions.map_err(StoreError::schema)?;
    let oldest = if access == Access::Read { reader } else { writer };
    if SCHEMA_VERSION < oldest {
        return Err(StoreError::TooNew { found: version, known: SCHEMA_VERSION });
    }
    Ok(version >= SCHEMA_VERSION)
}
