//! A step of the full-text index on `SQLite`: FTS5, which knows an item by the number of its first
//! change.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use sea_orm::DbBackend;

use crate::search_index::indexed_words::index_text;
use crate::search_index::progress::{self, ADVANCE, Next, Step};
use crate::sql::dialect::SQLITE;

const INDEXED: &str = "SELECT sequence FROM search_progress";

const MEMBERS: &str =
    "SELECT c.members FROM items i JOIN changes c ON c.sequence = i.sequence WHERE i.id = ?1";

const INDEX: &str = "INSERT OR REPLACE INTO search_index (rowid, words) VALUES (?1, ?2)";

const REMOVE: &str = "DELETE FROM search_index WHERE rowid = ?1";

/// Indexes the items of at most `limit` changes, one after the other: only one is in memory.
pub(crate) fn step(connection: &mut Connection, limit: i64, up_to: i64) -> rusqlite::Result<Step> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let indexed = transaction.query_row(INDEXED, [], |row| row.get(0))?;
    let changes = transaction
        .prepare_cached(&progress::next(&SQLITE))?
        .query_map([indexed, up_to, limit], next)?
        .collect::<Result<Vec<_>, _>>()?;
    let (step, items) = progress::step(indexed, &changes, limit);
    if step.changes == 0 {
        return Ok(step);
    }
    for (id, number) in items {
        let words = |row: &Row<'_>| Ok(index_text(DbBackend::Sqlite, row.get_ref(0)?.as_str()?));
        match transaction.prepare_cached(MEMBERS)?.query_row([id], words).optional()? {
            Some(words) => transaction.prepare_cached(INDEX)?.execute(params![number, words])?,
            None => transaction.prepare_cached(REMOVE)?.execute([number])?,
        };
    }
    transaction.prepare_cached(ADVANCE)?.execute([step.indexed])?;
    transaction.commit()?;
    Ok(step)
}

fn next(row: &Row<'_>) -> rusqlite::Result<Next> {
    Ok(Next { sequence: row.get(0)?, number: row.get(1)?, id: row.get(2)?, bytes: row.get(3)? })
}
