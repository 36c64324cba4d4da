//! The view `proposals`: a column per field of a proposal, for people who query with SQL.
//!
//! Its columns come from the field table of the domain, so a new field needs no migration: the view
//! is made anew whenever its columns differ from that table.

use domain::Collection;
use domain::proposal::fields::FIELDS;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};

use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;
use crate::sql::statements::ITEMS;

/// Columns that say what the item is, before those that say what it holds.
const ITEM_COLUMNS: [&str; 4] = ["id", "version", "created_at", "updated_at"];

/// Makes the view have the columns it should have.
pub(crate) async fn refresh(
    database: &impl ConnectionTrait,
    dialect: &Dialect,
) -> Result<(), DbErr> {
    let wanted: Vec<_> =
        ITEM_COLUMNS.into_iter().chain(FIELDS.iter().map(|field| field.name)).collect();
    let rows = database.query_all_raw(dialect.statement(dialect.view_columns, [])).await?;
    let found = rows
        .iter()
        .map(|row| row_mapping::get::<String>(row, "name"))
        .collect::<Result<Vec<_>, _>>()?;
    if found == wanted {
        return Ok(());
    }
    // Replaced in place where that is possible, the view keeps the rights granted on it and the
    // views that use it.
    let in_place = dialect.backend == DbBackend::Postgres
        && wanted.iter().zip(&found).all(|(wanted, found)| wanted == found)
        && found.len() < wanted.len();
    if !in_place {
        database.execute_unprepared("DROP VIEW IF EXISTS proposals").await?;
    }
    let create = if in_place { "CREATE OR REPLACE VIEW" } else { "CREATE VIEW" };
    database.execute_unprepared(&definition(dialect, create)).await?;
    Ok(())
}

fn definition(dialect: &Dialect, create: &str) -> String {
    let fields: Vec<_> = FIELDS
        .iter()
        .map(|field| format!("c.members ->> '{name}' AS \"{name}\"", name = field.name))
        .collect();
    format!(
        "{create} proposals AS SELECT {id} AS id, i.version, {created_at} AS created_at, {updated_at} AS updated_at, {fields} \
         FROM {ITEMS} WHERE i.collection = '{collection}'",
        id = dialect.readable_id,
        created_at = (dialect.readable_time)("i.created_at"),
        updated_at = (dialect.readable_time)("i.updated_at"),
        fields = fields.join(", "),
        collection = Collection::known("proposals").name(),
    )
}
