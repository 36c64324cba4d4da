//! Turns rows into items: the one place that knows what a column holds.

use std::sync::Arc;

use application::{ListedPage, Relations, Revision, ShownItem};
use domain::{Item, ItemId, Version};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, TryGetable};
use uuid::Uuid;

/// The value of a named column.
pub(crate) fn get<T: TryGetable>(row: &QueryResult, column: &str) -> Result<T, DbErr> {
    row.try_get_by(column)
}

/// The item of a row that has its members.
pub(crate) fn shown_item(row: &QueryResult) -> Result<ShownItem, DbErr> {
    written_item(row, get::<String>(row, "members")?.into())
}

/// The item of a row that a write answered with; the writer knows the members.
pub(crate) fn written_item(row: &QueryResult, members: Arc<str>) -> Result<ShownItem, DbErr> {
    let item = Item {
        id: ItemId::from_uuid(get(row, "id")?),
        version: Version::from_number(get(row, "version")?),
        created_at: timestamp(row, "created_at")?,
        updated_at: timestamp(row, "updated_at")?,
        members,
        parent: id(row, "parent")?,
        continues: id(row, "predecessor")?,
    };
    let relations = Relations { continues: id(row, "continues")?, continued_by: continued_by(row)?, program: id(row, "program")? };
    Ok(ShownItem { item, relations })
}

/// All items of a query's rows.
pub(crate) fn shown_items(rows: &[QueryResult]) -> Result<Vec<ShownItem>, DbErr> {
    rows.iter().map(shown_item).collect()
}

/// A page, and whether the item that owns the scope exists.
pub(crate) fn page(rows: &[QueryResult]) -> Result<(ListedPage, bool), DbErr> {
    let first = rows.first().ok_or_else(|| DbErr::RecordNotFound("a page without totals".to_owned()))?;
    let total_items: i64 = get(first, "total_items")?;
    let items = if get::<Option<Uuid>>(first, "id")?.is_some() { shown_items(rows)? } else { Vec::new() };
    let page = ListedPage {
        total_items: u64::try_from(total_items).map_err(|_| not_understood("a negative total", total_items))?,
        revision: Revision(get(first, "revision")?),
        items,
    };
    Ok((page, get(first, "has_owner")?))
}

fn id(row: &QueryResult, column: &str) -> Result<Option<ItemId>, DbErr> {
    Ok(get::<Option<Uuid>>(row, column)?.map(ItemId::from_uuid))
}

fn timestamp(row: &QueryResult, column: &str) -> Result<Timestamp, DbErr> {
    Timestamp::from_microsecond(get(row, column)?).map_err(|error| not_understood(column, error))
}

fn continued_by(row: &QueryResult) -> Result<Vec<ItemId>, DbErr> {
    let ids: Option<String> = get(row, "continued_by")?;
    let ids = ids.iter().flat_map(|ids| ids.split(','));
    ids.map(|id| Uuid::try_parse(id).map(ItemId::from_uuid).map_err(|error| not_understood("continued_by", error))).collect()
}

fn not_understood(what: &str, cause: impl std::fmt::Display) -> DbErr {
    DbErr::Type(format!("{what}: {cause}"))
}
