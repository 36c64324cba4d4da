//! The version of a schema, and the oldest versions of services that may read and write it.

use sea_orm::{ConnectionTrait, DbErr};

use crate::error::{DbResult, StoreError};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::get;

/// The version of the schema that this service knows. Builds for tests of upgrades are ahead.
pub const SCHEMA_VERSION: i32 = if cfg!(feature = "next-schema") { BASE + 1 } else { BASE };

/// The version of `sql/*/schema.sql`. Older stores are refused: until the first release, a change
/// of the tables edits those files and raises this number.
const BASE: i32 = 10;

/// The version of stores without the table `schema_version`.
const FIRST: i32 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The id of the history that the database holds. The schema must be up to date.
pub(crate) async fn history(database: &impl ConnectionTrait) -> DbResult<String> {
    let dialect = Dialect::of(database.get_database_backend());
    let row = database.query_one_raw(dialect.statement(sql_file!(dialect, "history"), [])).await?;
    get(&row.ok_or_else(|| DbErr::RecordNotFound("the history's id".to_owned()))?, "id")
}

/// Fails if a table or a column is missing.
pub(crate) async fn check_tables(database: &impl ConnectionTrait) -> Result<(), StoreError> {
    let checked = database.execute_unprepared(sql_file!("both/migration/check_tables")).await;
    checked.map(drop).map_err(StoreError::tables)
}

pub(crate) async fn has_table(database: &impl ConnectionTrait, table: &str) -> DbResult<bool> {
    let dialect = Dialect::of(database.get_database_backend());
    let look = dialect.statement(sql_file!(dialect, "migration/has_table"), [table.into()]);
    database.query_one_raw(look).await.map(|row| row.is_some())
}

/// Returns false if the schema must be migrated first. Fails if it is too new or too old.
pub(crate) async fn is_up_to_date(
    database: &impl ConnectionTrait,
    access: Access,
) -> Result<bool, StoreError> {
    if !has_table(database, "schema_version").await? {
        let is_old = has_table(database, "collection_totals").await?;
        return if is_old { Err(too_old(FIRST)) } else { Ok(false) };
    }
    let dialect = Dialect::of(database.get_database_backend());
    let row =
        database.query_one_raw(dialect.statement(sql_file!("both/migration/schema_version"), []));
    let missing = || DbErr::RecordNotFound("the schema's version".to_owned());
    let row = row.await?.ok_or_else(missing)?;
    let version = get(&row, "version")?;
    let oldest = if access == Access::Read { "oldest_reader" } else { "oldest_writer" };
    if SCHEMA_VERSION < get(&row, oldest)? {
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
