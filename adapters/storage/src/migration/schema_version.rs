//! The version of a database's schema, and how old a service may be that uses it.
//!
//! A newer service may add to the schema while older ones keep running. It records the oldest
//! version that can still read the stored data, and the oldest that can still write it.

use sea_orm::sea_query::{BinOper, Expr, ExprTrait};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, EntityTrait, QuerySelect};

use crate::entities::{self, history, schema_version};
use crate::error::StoreError;
use crate::sql::dialect::Dialect;

/// The version of the schema that this service knows. Builds for tests of upgrades are ahead.
pub const SCHEMA_VERSION: i32 = if cfg!(feature = "next-schema") { BASE + 1 } else { BASE };

/// The version of `sql/*/schema.sql`. Older stores are refused: until the first release, a change of
/// the tables edits those files and raises this number.
const BASE: i32 = 6;

/// The version of stores without the table `schema_version`.
const FIRST: i32 = 1;

/// The number of a table, which is another one in a database that was restored from a dump.
pub(crate) const TABLE_NUMBER: &str = "to_hex('history'::regclass::oid::bigint)";

/// Intended use of a database: reading only, or writing as well.
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
    let mut query = history::Entity::find();
    if database.get_database_backend() != DbBackend::Sqlite {
        let id =
            Expr::col(history::Column::Id).binary(BinOper::Custom("||"), Expr::cust(TABLE_NUMBER));
        query = query.select_only().column_as(id, history::Column::Id);
    }
    let row = query.one(database).await;
    let id = row.and_then(|row| {
        row.map(|row| row.id).ok_or_else(|| DbErr::RecordNotFound("the history's id".to_owned()))
    });
    id.map_err(StoreError::schema)
}

/// Returns an error where a table or a column is missing.
///
/// # Errors
/// Also where the database cannot be queried.
pub(crate) async fn check_tables(database: &impl ConnectionTrait) -> Result<(), StoreError> {
    entities::check(database).await.map_err(StoreError::tables)
}

/// Returns whether the schema is as this service needs it; `false` where it has yet to be migrated.
///
/// # Errors
/// Where the database cannot be queried, or its schema is too new or too old.
pub(crate) async fn is_up_to_date(
    database: &impl ConnectionTrait,
    access: Access,
) -> Result<bool, StoreError> {
    let dialect = Dialect::of(database.get_database_backend());
    let has = async |table: &str| {
        let found = database
            .query_one_raw(dialect.statement(sql_file!(dialect, "has_table"), [table.into()]));
        Ok::<_, StoreError>(found.await.map_err(StoreError::schema)?.is_some())
    };
    if !has("schema_version").await? {
        let is_old = has("collection_totals").await?;
        return if is_old { Err(too_old(FIRST)) } else { Ok(false) };
    }
    let row = schema_version::Entity::find().one(database).await;
    let versions = row.and_then(|row| {
        row.ok_or_else(|| DbErr::RecordNotFound("the schema's version".to_owned()))
    });
    let schema_version::Model { version, oldest_reader, oldest_writer } =
        versions.map_err(StoreError::schema)?;
    let oldest = if access == Access::Read { oldest_reader } else { oldest_writer };
    if SCHEMA_VERSION < oldest {
        return Err(StoreError::TooNew { found: version, known: SCHEMA_VERSION });
    }
    if version < BASE {
        return Err(too_old(version));
    }
    Ok(version >= SCHEMA_VERSION)
}

const fn too_old(found: i32) -> StoreError {
    StoreError::TooOld { found, oldest: BASE }
}

#[cfg(test)]
mod tests {
    use super::BASE;
    use crate::migration::schema;
    use crate::sql::dialect::{POSTGRES, SQLITE};

    #[test]
    fn the_tables_have_the_version() {
        let row = format!("INSERT INTO schema_version VALUES ({BASE}, {BASE}, {BASE});");
        assert!([&SQLITE, &POSTGRES].iter().all(|dialect| schema(dialect).contains(&row)), "{row}");
    }
}
