//! The table expressions with which every write logs its changes and counts them.

use uuid::Uuid;

use crate::sql::statements::CHANGE_COLUMNS;

/// The rows that a total is spread over, so that connections that write at the same time hardly ever
/// wait for each other's.
const LANES: u32 = 16;

/// Logs changes, whose columns come from what is named.
pub(crate) fn logged_changes(columns: &str, from: &str) -> String {
    format!(
        "logged AS (INSERT INTO changes ({CHANGE_COLUMNS}) SELECT {columns} FROM {from} RETURNING item_id, sequence)"
    )
}

/// Counts the rows of `written`: each row `w` changed the number of items by `items`. The totals of
/// a parent stay after its removal. When it is restored, the count continues, so no revision is used
/// twice.
pub(crate) fn counted_writes(items: i32) -> String {
    format!(
        "counted AS (INSERT INTO totals AS t (collection, parent, lane, items, writes) \
         SELECT collection, scope, pg_backend_pid() % {LANES}, {items} * count(*), count(*) \
         FROM (SELECT w.collection, '{whole}'::uuid AS scope FROM written w \
         UNION ALL SELECT w.collection, w.parent FROM written w WHERE w.parent IS NOT NULL) AS scopes \
         GROUP BY collection, scope ORDER BY collection, scope ON CONFLICT (collection, parent, lane) \
         DO UPDATE SET items = t.items + excluded.items, writes = t.writes + excluded.writes)",
        whole = Uuid::nil(),
    )
}
