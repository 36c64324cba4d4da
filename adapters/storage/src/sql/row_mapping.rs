//! Turns rows into items.

use std::sync::Arc;

use application::query::{COUNTED_MATCHES, MemberNames, Total};
use application::{Links, Revision, ShownItem, Totals};
use domain::json::push_string;
use domain::{Collection, Item, ItemId, Predicate, Version, VisibleMembers};
use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::FromSql;
use sea_orm::{DbErr, QueryResult, TryGetable};
use uuid::Uuid;

use crate::error::{DbResult, of_rusqlite};
use crate::sql::mask::Masked;

/// A row of sea-orm, or of rusqlite on the connection that writes to SQLite.
pub(crate) trait Columns {
    fn get<T: TryGetable + FromSql>(&self, column: &str) -> DbResult<T>;
}

impl Columns for QueryResult {
    fn get<T: TryGetable + FromSql>(&self, column: &str) -> DbResult<T> {
        self.try_get_by(column)
    }
}

impl Columns for Row<'_> {
    fn get<T: TryGetable + FromSql>(&self, column: &str) -> DbResult<T> {
        self.get(column).map_err(of_rusqlite)
    }
}

/// The rows of a statement that a write executes.
pub(crate) trait FromRow: Sized + Send {
    fn from_row(row: &impl Columns) -> DbResult<Self>;
}

impl FromRow for Uuid {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        row.get("id")
    }
}

/// An item and its version.
impl FromRow for (Uuid, i64) {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        Ok((row.get("id")?, row.get("version")?))
    }
}

pub(crate) fn get<T: TryGetable + FromSql>(row: &impl Columns, column: &str) -> DbResult<T> {
    row.get(column)
}

/// The item of a row without members.
pub(crate) fn written_item(row: &impl Columns, members: Arc<str>) -> DbResult<ShownItem> {
    let item = Item {
        id: ItemId::from_uuid(get(row, "id")?),
        version: Version::from_number(get(row, "version")?),
        created_at: timestamp(row, "created_at")?,
        updated_at: timestamp(row, "updated_at")?,
        members,
        parent: id(row, "parent")?,
        continues: id(row, "continues")?,
        created_by: created_by(row)?,
    };
    Ok(ShownItem { item, links: relations(row)? })
}

pub(crate) fn created_by(row: &impl Columns) -> DbResult<Option<Arc<str>>> {
    Ok(get::<Option<String>>(row, "created_by")?.map(Into::into))
}

pub(crate) fn relations(row: &impl Columns) -> DbResult<Links> {
    Ok(Links {
        continues: id(row, "continues_link")?,
        continued_by: continued_by(row)?,
        references: id(row, "reference_0")?.into_iter().map(Some).collect(),
        hides_parent: false,
        cut: None,
    })
}

pub(crate) fn shown_items(rows: &[QueryResult], mask: Masked<'_>) -> DbResult<Vec<ShownItem>> {
    rows.iter().map(|row| shown_item(row, None, mask)).collect()
}

/// The visible part of an item, or of its requested members.
pub(crate) fn shown_item(
    row: &QueryResult,
    fields: Option<&MemberNames>,
    mask: Masked<'_>,
) -> DbResult<ShownItem> {
    let members = match fields {
        Some(fields) => members_of_fields(row, fields)?,
        None => get::<String>(row, "members")?.into(),
    };
    visible_part(row, mask, written_item(row, members)?)
}

pub(crate) fn visible_members(
    row: &impl Columns,
    mask: Masked<'_>,
) -> DbResult<Option<VisibleMembers>> {
    let Some(mask) = mask else { return Ok(None) };
    let mut number = 0;
    let holds = |predicate: &Predicate| {
        let column = format!("see_{number}");
        number += 1;
        match predicate.constant() {
            Some(holds) => Ok(holds),
            None => get::<Option<bool>>(row, &column).map(Option::unwrap_or_default),
        }
    };
    VisibleMembers::decide(mask, holds).map(Some)
}

/// Removes the members that are not visible.
pub(crate) fn visible_part(
    row: &impl Columns,
    mask: Masked<'_>,
    mut shown: ShownItem,
) -> DbResult<ShownItem> {
    if let Some(visible) = visible_members(row, mask)? {
        shown.cut(&visible);
    }
    Ok(shown)
}

pub(crate) fn members_of_fields(row: &QueryResult, fields: &[Arc<str>]) -> DbResult<Arc<str>> {
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
pub(crate) fn total(row: &QueryResult, is_exact: bool) -> DbResult<Total> {
    Ok(match get::<Option<i64>>(row, "matches")?.map(i64::cast_unsigned) {
        None => Total::NotCounted,
        Some(matches) if !is_exact && matches > COUNTED_MATCHES => Total::AtLeast(COUNTED_MATCHES),
        Some(matches) => Total::Exact(matches),
    })
}

/// The totals of a scope, and whether its parent exists.
pub(crate) fn totals(rows: &[QueryResult]) -> DbResult<(Totals, bool)> {
    let row = first(rows)?;
    Ok((Totals::from_row(row)?, get(row, "has_parent")?))
}

impl FromRow for Totals {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        Ok(Self { items: count(row, "total_items")?, revision: Revision(get(row, "revision")?) })
    }
}

pub(crate) fn item_id(row: &QueryResult, column: &str) -> DbResult<ItemId> {
    Ok(ItemId::from_uuid(get(row, column)?))
}

pub(crate) fn collection(row: &impl Columns) -> DbResult<Collection> {
    let name: String = get(row, "collection")?;
    Collection::named(&name).ok_or_else(|| not_understood("collection", name))
}

pub(crate) fn count(row: &impl Columns, column: &str) -> DbResult<u64> {
    let count: i64 = get(row, column)?;
    u64::try_from(count).map_err(|_| not_understood(column, count))
}

pub(crate) fn id(row: &impl Columns, column: &str) -> DbResult<Option<ItemId>> {
    Ok(get::<Option<Uuid>>(row, column)?.map(ItemId::from_uuid))
}

pub(crate) fn timestamp(row: &impl Columns, column: &str) -> DbResult<Timestamp> {
    Timestamp::from_microsecond(get(row, column)?).map_err(|error| not_understood(column, error))
}

pub(crate) fn optional_timestamp(row: &QueryResult, column: &str) -> DbResult<Option<Timestamp>> {
    let time = get::<Option<i64>>(row, column)?.map(Timestamp::from_microsecond);
    time.transpose().map_err(|error| not_understood(column, error))
}

/// The first row, which cannot be missing.
pub(crate) fn first(rows: &[QueryResult]) -> DbResult<&QueryResult> {
    rows.first().ok_or_else(|| DbErr::RecordNotFound("a row".to_owned()))
}

fn continued_by(row: &impl Columns) -> DbResult<Vec<ItemId>> {
    let listed: Option<String> = get(row, "continued_by")?;
    ids(&listed.unwrap_or_default()).map_err(|error| not_understood("continued_by", error))
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
