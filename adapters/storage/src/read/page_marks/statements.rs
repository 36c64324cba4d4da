//! The statements that set and advance marks.

use domain::Collection;
use sea_orm::{DbErr, FromQueryResult, QueryResult, Statement};
use uuid::Uuid;

use crate::sql::dialect::Dialect;

/// Items between two marks when they are set.
pub(super) const DISTANCE: i64 = 1_000;

/// A row of either statement: a mark, or an item that came or went.
#[derive(FromQueryResult)]
pub(super) struct Found {
    pub id: Uuid,
    /// The number of the change; 0 of a mark.
    pub sequence: i64,
    /// 1 of an item that came, -1 of one that went, 0 of a mark.
    pub added: i64,
    /// The items of the collection.
    pub total: i64,
}

/// Finds marks among the items of a collection from one on, together with the items added and removed
/// after a change.
pub(super) fn set(dialect: &Dialect, collection: Collection, from: Uuid, after: i64) -> Statement {
    let values = [collection.name().into(), from.into(), Uuid::nil().into(), after.into()];
    dialect.statement(sql_file!("both/marks_set"), values)
}

/// Looks for the items that came and went after a change up to another.
pub(super) fn moved(
    dialect: &Dialect,
    collection: Collection,
    after: i64,
    up_to: i64,
) -> Statement {
    let values = [collection.name().into(), after.into(), up_to.into()];
    dialect.statement(sql_file!("both/marks_moved"), values)
}

pub(super) fn found(rows: &[QueryResult]) -> Result<Vec<Found>, DbErr> {
    rows.iter().map(|row| Found::from_query_result(row, "")).collect()
}
