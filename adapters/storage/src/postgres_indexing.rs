//! A step of the full-text index on `PostgreSQL`: a table of vectors beside the items, with a GIN index.

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, QueryResult};

use crate::dialect::POSTGRES;
use crate::indexing::{ADVANCE, Indexed, NEXT, Next, Step, items};
use crate::postgres_rows::texts;
use crate::rows;

/// Several instances may index at once; they take turns.
const TURN: &str = "SELECT sequence FROM search_progress FOR UPDATE";

const INDEX: &str = "INSERT INTO search_index AS s (item_id, words) SELECT id::uuid, words::tsvector FROM unnest($1, $2) AS g (id, words) \
                     ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words";

const REMOVE: &str = "DELETE FROM search_index WHERE item_id = ANY($1::uuid[])";

/// Indexes the items of at most `limit` changes.
pub(crate) async fn step(transaction: &DatabaseTransaction, limit: i64) -> Result<Step, DbErr> {
    let progress = transaction.query_all_raw(POSTGRES.statement(TURN, [])).await?;
    let indexed: i64 = progress.first().map(|row| rows::get(row, "sequence")).transpose()?.unwrap_or_default();
    let rows = transaction.query_all_raw(POSTGRES.statement(NEXT, [indexed.into(), limit.into()])).await?;
    let next = rows.iter().map(next).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = next.last() else { return Ok(Step { indexed, changes: 0 }) };
    let step = Step { indexed: last.sequence, changes: next.len() };
    let (mut ids, mut vectors, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for (id, Indexed { words, .. }) in items(DbBackend::Postgres, next) {
        match words {
            Some(words) => {
                ids.push(id.to_string());
                vectors.push(words);
            }
            None => gone.push(id.to_string()),
        }
    }
    transaction.execute_raw(POSTGRES.statement(INDEX, [texts(ids.into_iter()), texts(vectors.into_iter())])).await?;
    if !gone.is_empty() {
        transaction.execute_raw(POSTGRES.statement(REMOVE, [texts(gone.into_iter())])).await?;
    }
    transaction.execute_raw(POSTGRES.statement(ADVANCE, [step.indexed.into()])).await?;
    Ok(step)
}

fn next(row: &QueryResult) -> Result<Next, DbErr> {
    Ok(Next {
        sequence: rows::get(row, "sequence")?,
        number: rows::get(row, "number")?,
        id: rows::get(row, "id")?,
        members: rows::get(row, "members")?,
    })
}
