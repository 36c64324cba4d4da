//! The statements that set and advance marks.

use domain::Collection;
use sea_orm::{DbErr, FromQueryResult, QueryResult, Statement};
use uuid::Uuid;

use crate::sql::change_log::{added, is_of_number};
use crate::sql::dialect::Dialect;
use crate::sql::sql_text::literal;

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

/// Finds marks among the items of a collection from `$1` on, together with the items added and
/// removed after the change `$2`, in the same snapshot.
pub(super) fn set(dialect: &Dialect, collection: Collection, from: Uuid, after: i64) -> Statement {
    let skipped = DISTANCE - 1;
    let text = format!(
        "WITH RECURSIVE m (id) AS (\
         SELECT f.id FROM (SELECT i.id FROM items i WHERE i.collection = {collection} AND i.id >= $1 ORDER BY i.id LIMIT 1) f \
         UNION ALL SELECT (SELECT i.id FROM items i WHERE i.collection = {collection} AND i.id > m.id \
         ORDER BY i.id LIMIT 1 OFFSET {skipped}) FROM m WHERE m.id IS NOT NULL), \
         t AS (SELECT CAST(COALESCE(SUM(items), 0) AS BIGINT) AS total FROM totals WHERE collection = {collection} AND parent = {nil}) \
         SELECT m.id, CAST(0 AS BIGINT) AS sequence, CAST(0 AS BIGINT) AS added, t.total FROM m, t WHERE m.id IS NOT NULL \
         UNION ALL SELECT c.item_id, c.sequence, CAST({added} AS BIGINT), t.total FROM changes c, t \
         WHERE c.collection = {collection} AND c.sequence > $2 AND {is_moved}",
        collection = literal(collection.name()),
        nil = dialect.nil,
        is_moved = is_of_number(),
        added = added(),
    );
    dialect.statement(&text, [from.into(), after.into()])
}

/// Looks for the items that came and went after the change `$1` up to `$2`.
pub(super) fn moved(
    dialect: &Dialect,
    collection: Collection,
    after: i64,
    up_to: i64,
) -> Statement {
    let text = format!(
        "SELECT c.item_id AS id, c.sequence, CAST({added} AS BIGINT) AS added, CAST(0 AS BIGINT) AS total FROM changes c \
         WHERE c.collection = {collection} AND c.sequence > $1 AND c.sequence <= $2 AND {is_moved}",
        collection = literal(collection.name()),
        is_moved = is_of_number(),
        added = added(),
    );
    dialect.statement(&text, [after.into(), up_to.into()])
}

pub(super) fn found(rows: &[QueryResult]) -> Result<Vec<Found>, DbErr> {
    rows.iter().map(|row| Found::from_query_result(row, "")).collect()
}
