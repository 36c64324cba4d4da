//! Turns rows into items: the one place that knows what a column holds.

use std::sync::Arc;

use application::{Creator, Links, Revision, ShownItem, Totals};
use domain::json::push_string;
use domain::{Item, ItemId, Version};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, TryGetable};
use uuid::Uuid;

use crate::sql::references;

/// The value of a named column.
pub(crate) fn get<T: TryGetable>(row: &QueryResult, column: &str) -> Result<T, DbErr> {
    row.try_get_by(column)
}

/// The item of a row, with its members from elsewhere.
pub(crate) fn written_item(row: &QueryResult, members: Arc<str>) -> Result<ShownItem, DbErr> {
    let item = Item {
        id: ItemId::from_uuid(get(row, "id")?),
        version: Version::from_number(get(row, "version")?),
        created_at: timestamp(row, "created_at")?,
        updated_at: timestamp(row, "updated_at")?,
        members,
        parent: id(row, "parent")?,
        continues: id(row, "continues")?,
    };
    Ok(ShownItem { item, links: relations(row)? })
}

/// The links of the item of a row.
pub(crate) fn relations(row: &QueryResult) -> Result<Links, DbErr> {
    let links = references::COLUMNS.iter().map(|column| id(row, column));
    Ok(Links {
        continues: id(row, "continues_link")?,
        continued_by: continued_by(row)?,
        references: references::trimmed(links.collect::<Result<_, _>>()?),
        hides_parent: false,
    })
}

/// All items of a query's rows.
pub(crate) fn shown_items(rows: &[QueryResult]) -> Result<Vec<ShownItem>, DbErr> {
    rows.iter().map(shown_item).collect()
}

/// The item of a row.
pub(crate) fn shown_item(row: &QueryResult) -> Result<ShownItem, DbErr> {
    written_item(row, get::<String>(row, "members")?.into())
}

/// The item of a row, with the members that were asked for alone.
pub(crate) fn item_with_fields(row: &QueryResult, fields: &[Arc<str>]) -> Result<ShownItem, DbErr> {
    written_item(row, members_of_fields(row, fields)?)
}

fn members_of_fields(row: &QueryResult, fields: &[Arc<str>]) -> Result<Arc<str>, DbErr> {
    let mut members = String::from("{");
    for (number, name) in fields.iter().enumerate() {
        if let Some(value) = get::<Option<String>>(row, &format!("field_{number}"))? {
            let comma = if members.len() > 1 { "," } else { "" };
            members.push_str(comma);
            push_string(&mut members, name);
            members.push(':');
            members.push_str(&value);
        }
    }
    members.push('}');
    Ok(members.into())
}

/// The creator of an item, if it was found.
pub(crate) fn creator(rows: &[QueryResult]) -> Result<Option<Creator>, DbErr> {
    let creator = |row| {
        let caller: Option<String> = get(row, "created_by")?;
        Ok(Creator { caller: caller.map(Into::into) })
    };
    rows.first().map(creator).transpose()
}

/// The totals of a scope, and whether the item that owns it exists.
pub(crate) fn totals(rows: &[QueryResult]) -> Result<(Totals, bool), DbErr> {
    let row = first(rows)?;
    Ok((
        Totals { items: count(row, "total_items")?, revision: Revision(get(row, "revision")?) },
        get(row, "has_parent")?,
    ))
}

/// The identifier in a column that is never empty.
pub(crate) fn item_id(row: &QueryResult, column: &str) -> Result<ItemId, DbErr> {
    Ok(ItemId::from_uuid(get(row, column)?))
}

/// A column that counts something.
pub(crate) fn count(row: &QueryResult, column: &str) -> Result<u64, DbErr> {
    let count: i64 = get(row, column)?;
    u64::try_from(count).map_err(|_| not_understood(column, count))
}

/// The identifier in a column that may be empty.
pub(crate) fn id(row: &QueryResult, column: &str) -> Result<Option<ItemId>, DbErr> {
    Ok(get::<Option<Uuid>>(row, column)?.map(ItemId::from_uuid))
}

/// The time in a column that is never empty.
pub(crate) fn timestamp(row: &QueryResult, column: &str) -> Result<Timestamp, DbErr> {
    Timestamp::from_microsecond(get(row, column)?).map_err(|error| not_understood(column, error))
}

/// The time in a column that may be empty.
pub(crate) fn optional_timestamp(
    row: &QueryResult,
    column: &str,
) -> Result<Option<Timestamp>, DbErr> {
    let time = get::<Option<i64>>(row, column)?.map(Timestamp::from_microsecond);
    time.transpose().map_err(|error| not_understood(column, error))
}

/// The first of rows that cannot be missing.
pub(crate) fn first(rows: &[QueryResult]) -> Result<&QueryResult, DbErr> {
    rows.first().ok_or_else(|| DbErr::RecordNotFound("a row".to_owned()))
}

fn continued_by(row: &QueryResult) -> Result<Vec<ItemId>, DbErr> {
    let listed: Option<String> = get(row, "continued_by")?;
    ids(&listed.unwrap_or_default()).map_err(|error| not_understood("continued_by", error))
}

/// Reads identifiers with commas between them.
pub(crate) fn ids(listed: &str) -> Result<Vec<ItemId>, uuid::Error> {
    listed
        .split(',')
        .filter(|id| !id.is_empty())
        .map(|id| Uuid::try_parse(id).map(ItemId::from_uuid))
        .collect()
}

/// The error of a stored value that makes no sense.
pub(crate) fn not_understood(what: &str, cause: impl std::fmt::Display) -> DbErr {
    DbErr::Type(format!("{what}: {cause}"))
}
