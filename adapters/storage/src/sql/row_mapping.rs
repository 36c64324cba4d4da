//! Turns rows into items.

use std::sync::Arc;

use application::query::{COUNTED_MATCHES, Total};
use application::{Links, Revision, ShownItem, Totals};
use domain::json::push_string;
use domain::{Item, ItemId, Version};
use jiff::Timestamp;
use sea_orm::{DbErr, FromQueryResult, QueryResult, TryGetable};
use serde::Deserialize;
use uuid::Uuid;

pub(crate) fn get<T: TryGetable>(row: &QueryResult, column: &str) -> Result<T, DbErr> {
    row.try_get_by(column)
}

/// The item of a row without members.
#[derive(Deserialize, FromQueryResult)]
pub(crate) struct ItemColumns {
    id: Uuid,
    version: i64,
    created_at: i64,
    updated_at: i64,
    parent: Option<Uuid>,
    continues: Option<Uuid>,
    continues_link: Option<Uuid>,
    continued_by: Option<String>,
    reference_0: Option<Uuid>,
}

impl ItemColumns {
    pub fn with(self, members: Arc<str>) -> Result<ShownItem, DbErr> {
        let item = Item {
            id: ItemId::from_uuid(self.id),
            version: Version::from_number(self.version),
            created_at: time(self.created_at)?,
            updated_at: time(self.updated_at)?,
            members,
            parent: self.parent.map(ItemId::from_uuid),
            continues: self.continues.map(ItemId::from_uuid),
        };
        let links = links(self.continues_link, self.continued_by, self.reference_0);
        Ok(ShownItem { item, links: links? })
    }
}

pub(crate) fn relations(row: &QueryResult) -> Result<Links, DbErr> {
    links(get(row, "continues_link")?, get(row, "continued_by")?, get(row, "reference_0")?)
}

fn links(
    continues: Option<Uuid>,
    continued_by: Option<String>,
    reference_0: Option<Uuid>,
) -> Result<Links, DbErr> {
    let continued_by = ids(&continued_by.unwrap_or_default());
    Ok(Links {
        continues: continues.map(ItemId::from_uuid),
        continued_by: continued_by.map_err(|error| not_understood("continued_by", error))?,
        references: reference_0.into_iter().map(|id| Some(ItemId::from_uuid(id))).collect(),
        hides_parent: false,
    })
}

pub(crate) fn shown_items(rows: &[QueryResult]) -> Result<Vec<ShownItem>, DbErr> {
    rows.iter().map(shown_item).collect()
}

pub(crate) fn shown_item(row: &QueryResult) -> Result<ShownItem, DbErr> {
    ItemColumns::from_query_result(row, "")?.with(get::<String>(row, "members")?.into())
}

pub(crate) fn item_with_fields(row: &QueryResult, fields: &[Arc<str>]) -> Result<ShownItem, DbErr> {
    ItemColumns::from_query_result(row, "")?.with(members_of_fields(row, fields)?)
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

/// The number of matches, which are counted up to a limit unless it is exact.
pub(crate) fn total(row: &QueryResult, is_exact: bool) -> Result<Total, DbErr> {
    Ok(match get::<Option<i64>>(row, "matches")?.map(i64::cast_unsigned) {
        None => Total::NotCounted,
        Some(matches) if !is_exact && matches > COUNTED_MATCHES => Total::AtLeast(COUNTED_MATCHES),
        Some(matches) => Total::Exact(matches),
    })
}

/// The totals of a scope, and whether its parent exists.
pub(crate) fn totals(rows: &[QueryResult]) -> Result<(Totals, bool), DbErr> {
    let row = first(rows)?;
    Ok((
        Totals { items: count(row, "total_items")?, revision: Revision(get(row, "revision")?) },
        get(row, "has_parent")?,
    ))
}

pub(crate) fn item_id(row: &QueryResult, column: &str) -> Result<ItemId, DbErr> {
    Ok(ItemId::from_uuid(get(row, column)?))
}

pub(crate) fn count(row: &QueryResult, column: &str) -> Result<u64, DbErr> {
    let count: i64 = get(row, column)?;
    u64::try_from(count).map_err(|_| not_understood(column, count))
}

pub(crate) fn id(row: &QueryResult, column: &str) -> Result<Option<ItemId>, DbErr> {
    Ok(get::<Option<Uuid>>(row, column)?.map(ItemId::from_uuid))
}

pub(crate) fn timestamp(row: &QueryResult, column: &str) -> Result<Timestamp, DbErr> {
    time(get(row, column)?)
}

fn time(microseconds: i64) -> Result<Timestamp, DbErr> {
    Timestamp::from_microsecond(microseconds).map_err(|error| not_understood("a time", error))
}

pub(crate) fn optional_timestamp(
    row: &QueryResult,
    column: &str,
) -> Result<Option<Timestamp>, DbErr> {
    get::<Option<i64>>(row, column)?.map(time).transpose()
}

/// The first row, which cannot be missing.
pub(crate) fn first(rows: &[QueryResult]) -> Result<&QueryResult, DbErr> {
    rows.first().ok_or_else(|| DbErr::RecordNotFound("a row".to_owned()))
}

pub(crate) fn ids(listed: &str) -> Result<Vec<ItemId>, uuid::Error> {
    listed
        .split(',')
        .filter(|id| !id.is_empty())
        .map(|id| Uuid::try_parse(id).map(ItemId::from_uuid))
        .collect()
}

pub(crate) fn not_understood(what: &str, cause: impl std::fmt::Display) -> DbErr {
    DbErr::Type(format!("{what}: {cause}"))
}
