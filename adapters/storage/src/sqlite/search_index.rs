//! A step of the full-text index on `SQLite`: FTS5, which knows an item by the number of its first
//! change.

use domain::Collection;
use rusqlite::{Connection, Row, TransactionBehavior, params};
use sea_orm::DbBackend;
use uuid::Uuid;

use crate::search_index::indexed_words::index_text;
use crate::search_index::progress::{self, ADVANCE, IndexedItem, Next, Step};
use crate::search_index::value_counts::{self, CountChanges};
use crate::sql::dialect::SQLITE;

const INDEXED: &str = "SELECT sequence FROM search_progress";

const INDEX: &str = "INSERT OR REPLACE INTO search_index (rowid, words) VALUES (?1, ?2)";

/// Adds to a count, up to the largest there is: a sum that SQLite could not keep would be a float.
const COUNT: &str = "INSERT INTO value_counts AS v (collection, member, value, items) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT (collection, member, value) DO UPDATE SET items = \
                     CASE WHEN excluded.items > 0 AND v.items > 9223372036854775807 - excluded.items \
                     THEN 9223372036854775807 ELSE v.items + excluded.items END";

/// Removes a count that is used up.
const FORGET: &str =
    "DELETE FROM value_counts WHERE collection = ?1 AND member = ?2 AND value = ?3 AND items <= 0";

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
    let members_at = format!("SELECT {} AS members", progress::members_at("?1", "?2"));
    let members_at = |id: Uuid, sequence: i64| -> rusqlite::Result<Option<String>> {
        transaction.prepare_cached(&members_at)?.query_row(params![id, sequence], |row| row.get(0))
    };
    let mut counts = CountChanges::default();
    for (id, IndexedItem { number, collection, .. }) in items {
        let after = members_at(id, step.indexed)?;
        match &after {
            Some(members) => {
                let words = index_text(DbBackend::Sqlite, members);
                transaction.prepare_cached(INDEX)?.execute(params![number, words])?
            }
            None => transaction.prepare_cached(REMOVE)?.execute([number])?,
        };
        if value_counts::is_counted(collection) {
            counts.note(collection, members_at(id, indexed)?.as_deref(), after.as_deref());
        }
    }
    for ((collection, member, value), items) in counts.into_changed() {
        let count = params![collection, member, value, items];
        transaction.prepare_cached(COUNT)?.execute(count)?;
        transaction.prepare_cached(FORGET)?.execute(&count[..3])?;
    }
    transaction.prepare_cached(ADVANCE)?.execute([step.indexed])?;
    transaction.commit()?;
    Ok(step)
}

fn next(row: &Row<'_>) -> rusqlite::Result<Next> {
    let name = row.get_ref("collection")?;
    let collection = Collection::named(name.as_str()?).ok_or_else(|| {
        rusqlite::Error::InvalidColumnType(2, "collection".to_owned(), name.data_type())
    })?;
    let bytes = |column| Ok::<i64, rusqlite::Error>(row.get::<_, Option<_>>(column)?.unwrap_or(0));
    let (before, after) = (bytes("superseded")?, bytes("bytes")?);
    let item = IndexedItem { number: row.get("number")?, collection, before, after };
    Ok(Next { sequence: row.get("sequence")?, id: row.get("id")?, item })
}
