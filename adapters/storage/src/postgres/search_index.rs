//! A step of the full-text index on `PostgreSQL`: a separate table of vectors with a GIN index.

use std::collections::{BTreeMap, HashMap};

use application::Sequence;
use domain::Collection;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult};
use uuid::Uuid;

use crate::search_index::indexed_words::index_text;
use crate::search_index::progress::{self, ADVANCE, IndexedItem, Next, Step};
use crate::search_index::value_counts::{self, CountChanges};
use crate::sql::arrays::{integers, texts};
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// One instance indexes at a time, and the others do not wait for it.
const TURN: &str = "SELECT sequence FROM search_progress FOR UPDATE SKIP LOCKED";

const INDEXED: &str = "SELECT sequence FROM search_progress";

const INDEX: &str = "INSERT INTO search_index AS s (item_id, words) SELECT id::uuid, words::tsvector FROM unnest($1, $2) AS g (id, words) \
                     ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words";

/// Adds to counts, up to the largest there is: an overflow would end every step.
const COUNT: &str = "INSERT INTO value_counts AS v (collection, member, value, items) SELECT * FROM unnest($1, $2, $3, $4) \
                     ON CONFLICT (collection, member, value) DO UPDATE SET items = \
                     CASE WHEN excluded.items > 0 AND v.items > 9223372036854775807 - excluded.items \
                     THEN 9223372036854775807 ELSE v.items + excluded.items END";

/// Removes counts that are used up.
const FORGET: &str = "DELETE FROM value_counts v USING unnest($1, $2, $3) AS g (collection, member, value) \
                      WHERE v.collection = g.collection AND v.member = g.member AND v.value = g.value AND v.items <= 0";

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
    let (step, items) = progress::step(indexed, &changes, limit);
    if step.changes == 0 {
        return Ok(step);
    }
    index(transaction, &items, indexed, step.indexed).await?;
    transaction.execute_raw(POSTGRES.statement(ADVANCE, [step.indexed.into()])).await?;
    Ok(step)
}

async fn sequence(connection: &impl ConnectionTrait, text: &str) -> Result<Option<i64>, DbErr> {
    let row = connection.query_one_raw(POSTGRES.statement(text, [])).await?;
    row.map(|row| row_mapping::get(&row, "sequence")).transpose()
}

/// Brings the index and the counts from the changes up to `before` to those up to `after`.
async fn index(
    transaction: &impl ConnectionTrait,
    items: &BTreeMap<Uuid, IndexedItem>,
    before: i64,
    after: i64,
) -> Result<(), DbErr> {
    let (mut found, mut vectors, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = CountChanges::default();
    let counted = items.iter().filter(|(_, item)| value_counts::is_counted(item.collection));
    let before: HashMap<Uuid, Option<String>> =
        members_at(transaction, counted.map(|(id, _)| id), before).await?.collect();
    for (id, after) in members_at(transaction, items.keys(), after).await? {
        if let Some(before) = before.get(&id) {
            counts.note(items[&id].collection, before.as_deref(), after.as_deref());
        }
        match after {
            Some(members) => {
                found.push(id.to_string());
                vectors.push(index_text(DbBackend::Postgres, &members));
            }
            None => removed.push(id.to_string()),
        }
    }
    let words = [texts(found.into_iter()), texts(vectors.into_iter())];
    transaction.execute_raw(POSTGRES.statement(INDEX, words)).await?;
    if !removed.is_empty() {
        let removed = texts(removed.into_iter());
        transaction.execute_raw(POSTGRES.statement(REMOVE, [removed])).await?;
    }
    let counts: Vec<_> = counts.into_changed().collect();
    if counts.is_empty() {
        return Ok(());
    }
    let values = [
        texts(counts.iter().map(|((collection, ..), _)| (*collection).to_owned())),
        texts(counts.iter().map(|((_, member, _), _)| (*member).to_owned())),
        texts(counts.iter().map(|((.., value), _)| value.clone())),
    ];
    let items = integers(counts.iter().map(|(_, items)| *items));
    let count = POSTGRES.statement(COUNT, values.clone().into_iter().chain([items]));
    transaction.execute_raw(count).await?;
    transaction.execute_raw(POSTGRES.statement(FORGET, values)).await?;
    Ok(())
}

/// The members of items after their last change up to the one of a number.
async fn members_at<'a>(
    transaction: &impl ConnectionTrait,
    ids: impl Iterator<Item = &'a Uuid>,
    sequence: i64,
) -> Result<impl Iterator<Item = (Uuid, Option<String>)>, DbErr> {
    let query = format!(
        "SELECT g.id::uuid AS id, {} AS members FROM unnest($1) AS g (id)",
        progress::members_at("g.id::uuid", "$2")
    );
    let values = [texts(ids.map(Uuid::to_string)), sequence.into()];
    let rows = transaction.query_all_raw(POSTGRES.statement(&query, values)).await?;
    let members =
        |row: &QueryResult| Ok((row_mapping::get(row, "id")?, row_mapping::get(row, "members")?));
    Ok(rows.iter().map(members).collect::<Result<Vec<_>, DbErr>>()?.into_iter())
}

fn next(row: &QueryResult) -> Result<Next, DbErr> {
    let name: String = row_mapping::get(row, "collection")?;
    let collection =
        Collection::named(&name).ok_or_else(|| row_mapping::not_understood("collection", name))?;
    let bytes = |column| Ok::<i64, DbErr>(row_mapping::get::<Option<_>>(row, column)?.unwrap_or(0));
    let (before, after) = (bytes("superseded")?, bytes("bytes")?);
    let item = IndexedItem { number: row_mapping::get(row, "number")?, collection, before, after };
    Ok(Next {
        sequence: row_mapping::get(row, "sequence")?,
        id: row_mapping::get(row, "id")?,
        item,
    })
}
