//! Rows of the writer's connection: their parameters, and the items in them.

use std::sync::Arc;

use application::{Links, ShownItem};
use domain::{Item, ItemId, Version};
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Row, ToSql};
use uuid::Uuid;

use crate::sql::{references, row_mapping};

type Outcome<T> = rusqlite::Result<T>;

/// The parameters of a row: some, its references and its keys, then some more.
pub(crate) fn row_values<'a>(
    first: &[&'a dyn ToSql],
    references: &'a [Option<Uuid>],
    keys: &'a [Option<String>],
    last: &[&'a dyn ToSql],
) -> Vec<&'a dyn ToSql> {
    let references = references.iter().map(|id| id as &dyn ToSql);
    let keys = keys.iter().map(|key| key as &dyn ToSql);
    first.iter().copied().chain(references).chain(keys).chain(last.iter().copied()).collect()
}

/// A parameter of a statement that the query builder made.
pub(crate) fn parameter(value: sea_orm::Value) -> Outcome<Value> {
    match value {
        sea_orm::Value::BigInt(number) => Ok(number.into()),
        sea_orm::Value::String(text) => Ok(text.into()),
        other => Err(rusqlite::Error::ToSqlConversionFailure(
            format!("unsupported parameter: {other:?}").into(),
        )),
    }
}

/// The time from microseconds since the Unix epoch.
pub(crate) fn timestamp(micros: i64) -> Outcome<Timestamp> {
    Timestamp::from_microsecond(micros)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, micros))
}

/// The item of a row, with its members from elsewhere.
pub(crate) fn shown(row: &Row<'_>, members: Arc<str>) -> Outcome<ShownItem> {
    let id = |column: &str| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<Uuid>>(column)?.map(ItemId::from_uuid))
    };
    let time = |column: &str| timestamp(row.get(column)?);
    let item = Item {
        id: ItemId::from_uuid(row.get("id")?),
        version: Version::from_number(row.get("version")?),
        created_at: time("created_at")?,
        updated_at: time("updated_at")?,
        members,
        parent: id("parent")?,
        continues: id("continues")?,
    };
    let listed = row.get_ref("continued_by")?;
    let continued_by =
        row_mapping::ids(listed.as_str_or_null()?.unwrap_or_default()).map_err(|_| {
            rusqlite::Error::InvalidColumnType(0, "continued_by".to_owned(), listed.data_type())
        })?;
    let links = references::COLUMNS.iter().map(|column| id(column)).collect::<Outcome<_>>()?;
    let (continues, references) = (id("continues_link")?, references::trimmed(links));
    Ok(ShownItem { item, links: Links { continues, continued_by, references, ..Links::default() } })
}
