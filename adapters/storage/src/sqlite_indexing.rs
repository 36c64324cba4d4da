//! A step of the full-text index on `SQLite`: FTS5, which knows an item by the number of its first change.

use rusqlite::{Connection, Row, TransactionBehavior, params};
use sea_orm::DbBackend;

use crate::indexing::{ADVANCE, Indexed, NEXT, Next, Step, items};

const INDEXED: &str = "SELECT sequence FROM search_progress";

const INDEX: &str = "INSERT OR REPLACE INTO search_index (rowid, words) VALUES (?1, ?2)";

const REMOVE: &str = "DELETE FROM search_index WHERE rowid = ?1";

/// Indexes the items of at most `limit` changes.
pub(crate) fn step(connection: &mut Connection, limit: i64) -> rusqlite::Result<Step> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let indexed = transaction.query_row(INDEXED, [], |row| row.get(0))?;
    let next = transaction.prepare_cached(NEXT)?.query_map([indexed, limit], next)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let Some(last) = next.last() else { return Ok(Step { indexed, changes: 0 }) };
    let step = Step { indexed: last.sequence, changes: next.len() };
    for Indexed { number, words } in items(DbBackend::Sqlite, next).values() {
        match words {
            Some(words) => transaction.prepare_cached(INDEX)?.execute(params![number, words])?,
            None => transaction.prepare_cached(REMOVE)?.execute([number])?,
        };
    }
    transaction.prepare_cached(ADVANCE)?.execute([step.indexed])?;
    transaction.commit()?;
    Ok(step)
}

fn next(row: &Row<'_>) -> rusqlite::Result<Next> {
    Ok(Next { sequence: row.get(0)?, number: row.get(1)?, id: row.get(2)?, members: row.get(3)? })
}
