//! A step of the full-text index on `PostgreSQL`: a table of vectors beside the items, with a GIN
//! index.

use std::collections::BTreeMap;

use application::Sequence;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Value};
use uuid::Uuid;

use crate::search_index::indexed_words::index_text;
use crate::search_index::progress::{self, ADVANCE, Next, Step};
use crate::sql::arrays::texts;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// One instance indexes at a time, and the others do not wait for it.
const TURN: &str = "SELECT sequence FROM search_progress FOR UPDATE SKIP LOCKED";

const INDEXED: &str = "SELECT sequence FROM search_progress";

const MEMBERS: &str = "SELECT i.id, CAST(c.members AS TEXT) AS members FROM items i JOIN changes c ON c.sequence = i.sequence WHERE i.id = ANY($1::uuid[])";

const INDEX: &str = "INSERT INTO search_index AS s (item_id, words) SELECT id::uuid, words::tsvector FROM unnest($1, $2) AS g (id, words) \
                     ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words";

const REMOVE: &str = "DELETE FROM search_index WHERE item_id = ANY($1::uuid[])";

/// Indexes the items of at most `limit` changes.
pub(crate) async fn step(
    transaction: &impl ConnectionTrait,
    limit: i64,
    Sequence(up_to): Sequence,
) -> Result<Step, DbErr> {
    let Some(indexed) = sequence(transaction, TURN).await? else {
        let indexed = sequence(transaction, INDEXED).await?.unwrap_or_default();
        return Ok(Step { indexed, changes: 0, has_more: true });
    };
    let next_changes = [indexed.into(), up_to.into(), limit.into()];
    let next_changes = POSTGRES.statement(&progress::next(&POSTGRES), next_changes);
    let changes = transaction.query_all_raw(next_changes).await?;
    let changes = changes.iter().map(next).collect::<Result<Vec<_>, _>>()?;
    let (step, mut items) = progress::step(indexed, &changes, limit);
    if step.changes == 0 {
        return Ok(step);
    }
    index(transaction, &mut items).await?;
    // What is left was not found.
    if !items.is_empty() {
        transaction.execute_raw(POSTGRES.statement(REMOVE, [ids(&items)])).await?;
    }
    transaction.execute_raw(POSTGRES.statement(ADVANCE, [step.indexed.into()])).await?;
    Ok(step)
}

async fn sequence(connection: &impl ConnectionTrait, text: &str) -> Result<Option<i64>, DbErr> {
    let row = connection.query_one_raw(POSTGRES.statement(text, [])).await?;
    row.map(|row| row_mapping::get(&row, "sequence")).transpose()
}

/// Indexes those of the items that there are, and takes them out of `items`.
async fn index(
    transaction: &impl ConnectionTrait,
    items: &mut BTreeMap<Uuid, i64>,
) -> Result<(), DbErr> {
    let (mut found, mut vectors) = (Vec::new(), Vec::new());
    for row in transaction.query_all_raw(POSTGRES.statement(MEMBERS, [ids(items)])).await? {
        let id: Uuid = row_mapping::get(&row, "id")?;
        items.remove(&id);
        found.push(id.to_string());
        let members: String = row_mapping::get(&row, "members")?;
        vectors.push(index_text(DbBackend::Postgres, &members));
    }
    let words = [texts(found.into_iter()), texts(vectors.into_iter())];
    transaction.execute_raw(POSTGRES.statement(INDEX, words)).await?;
    Ok(())
}

fn ids(items: &BTreeMap<Uuid, i64>) -> Value {
    texts(items.keys().map(Uuid::to_string))
}

fn next(row: &QueryResult) -> Result<Next, DbErr> {
    Ok(Next {
        sequence: row_mapping::get(row, "sequence")?,
        number: row_mapping::get(row, "number")?,
        id: row_mapping::get(row, "id")?,
        bytes: row_mapping::get::<Option<i32>>(row, "bytes")?.map(i64::from),
    })
}
