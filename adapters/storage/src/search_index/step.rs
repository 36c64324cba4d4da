//! A step of the full-text index and the counts of values, in one transaction.

use std::collections::{BTreeMap, HashMap, VecDeque};

use application::Sequence;
use domain::{Collection, ItemId};
use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, QueryResult, Value};
use serde::Serialize;
use uuid::Uuid;

use crate::search_index::indexed_words::index_text;
use crate::search_index::progress::{self, IndexedItem, Next, Step};
use crate::search_index::value_counts::{self, CountChanges};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;
use crate::sql::sql_text::{SqlText, json, keyed};

/// The most bytes of words of a statement with several items: they are copied several times.
const BYTES: usize = 1024 * 1024;

/// A transaction that indexes.
struct Indexing<'a, C> {
    transaction: &'a C,
    dialect: &'static Dialect,
}

/// A parameter of `index_words.sql`. `SQLite` knows an item by the number of its first change.
#[derive(Serialize)]
struct IndexedWords {
    id: Uuid,
    number: i64,
    is_deleted: bool,
    words: Option<String>,
}

/// A parameter of `index_counts.sql`.
#[derive(Serialize)]
struct AddedCount {
    collection: &'static str,
    member: &'static str,
    value: String,
    items: i64,
}

#[derive(FromQueryResult)]
struct NextRow {
    sequence: i64,
    number: i64,
    collection: String,
    id: Uuid,
    bytes: Option<i64>,
    superseded: Option<i64>,
}

/// Indexes the items of at most `limit` changes.
pub(crate) async fn step(
    transaction: &impl ConnectionTrait,
    limit: i64,
    Sequence(up_to): Sequence,
) -> Result<Step, DbErr> {
    let dialect = Dialect::of(transaction.get_database_backend());
    let indexing = Indexing { transaction, dialect };
    let Some(indexed) = indexing.sequence(sql_file!(dialect, "index_begin")).await? else {
        let indexed = indexing.sequence(sql_file!("sqlite/index_begin")).await?.unwrap_or_default();
        return Ok(Step { indexed, changes: 0, has_more: true });
    };
    let values = [indexed.into(), up_to.into(), limit.into()];
    let next = indexing.query(sql_file!("both/index_next"), values).await?;
    let next = next.iter().map(next_change).collect::<Result<Vec<_>, _>>()?;
    let (step, items) = progress::step(indexed, &next, limit);
    if step.changes > 0 {
        indexing.index(&items, indexed, step.indexed).await?;
        indexing.query(sql_file!("both/index_advance"), [step.indexed.into()]).await?;
    }
    Ok(step)
}

impl<C: ConnectionTrait> Indexing<'_, C> {
    async fn query(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<QueryResult>, DbErr> {
        self.transaction.query_all_raw(self.dialect.statement(text, values)).await
    }

    async fn sequence(&self, text: &str) -> Result<Option<i64>, DbErr> {
        let rows = self.query(text, []).await?;
        rows.first().map(|row| row_mapping::get(row, "sequence")).transpose()
    }

    /// Brings the index and the counts from the changes up to `before` to those up to `after`.
    async fn index(
        &self,
        items: &BTreeMap<Uuid, IndexedItem>,
        before: i64,
        after: i64,
    ) -> Result<(), DbErr> {
        let (mut words, mut counts) = (Vec::with_capacity(items.len()), CountChanges::default());
        let counted = items.iter().filter(|(_, item)| value_counts::is_counted(item.collection));
        let before: HashMap<_, _> =
            self.members_at(counted.map(|(id, _)| id), before).await?.into_iter().collect();
        for (id, after) in self.members_at(items.keys(), after).await? {
            let IndexedItem { collection, number, .. } = items[&id];
            if let Some(before) = before.get(&id) {
                counts.note(collection, before.as_deref(), after.as_deref());
            }
            let (is_deleted, text) =
                (after.is_none(), |members: String| index_text(self.dialect.backend, &members));
            words.push(IndexedWords { id, number, is_deleted, words: after.map(text) });
        }
        drop(before);
        self.store(words).await?;
        let added =
            |((collection, member, value), items)| AddedCount { collection, member, value, items };
        let added: Vec<_> = counts.into_changed().map(added).collect();
        if !added.is_empty() {
            let added = keyed(added.iter().enumerate());
            self.query(sql_file!("both/index_counts"), [added.clone()]).await?;
            self.query(sql_file!("both/index_used_up"), [added]).await?;
        }
        Ok(())
    }

    async fn store(&self, words: Vec<IndexedWords>) -> Result<(), DbErr> {
        let mut words = VecDeque::from(words);
        while !words.is_empty() {
            let mut bytes = 0;
            let fits = |item: &&IndexedWords| {
                bytes += item.words.as_ref().map_or(0, String::len);
                bytes <= BYTES
            };
            let fitting = words.iter().take_while(fits).count().max(1);
            let mut some: Vec<_> = words.drain(..fitting).collect();
            let single = match &mut some[..] {
                [item] => item.words.take(),
                _ => None,
            };
            self.query(sql_file!(self.dialect, "index_words"), [json(&some), single.into()])
                .await?;
        }
        Ok(())
    }

    /// The members of items after their last change up to the one of a number.
    async fn members_at<'a>(
        &self,
        ids: impl Iterator<Item = &'a Uuid>,
        sequence: i64,
    ) -> Result<Vec<(Uuid, Option<String>)>, DbErr> {
        let mut text = SqlText::new(self.dialect);
        let items = text.among_ids(ids.copied().map(ItemId::from_uuid));
        let sequence = text.bind(sequence);
        let statement = text.finish(&format!(
            "SELECT f.item_id AS id, (SELECT CAST(c.members AS TEXT) FROM changes c WHERE c.item_id = f.item_id \
             AND c.sequence <= {sequence} ORDER BY c.version DESC LIMIT 1) AS members \
             FROM changes f WHERE f.item_id {items} AND f.version = 1"
        ));
        let rows = self.transaction.query_all_raw(statement).await?;
        let members = |row| Ok((row_mapping::get(row, "id")?, row_mapping::get(row, "members")?));
        rows.iter().map(members).collect()
    }
}

fn next_change(row: &QueryResult) -> Result<Next, DbErr> {
    let row = NextRow::from_query_result(row, "")?;
    let collection = Collection::named(&row.collection)
        .ok_or_else(|| row_mapping::not_understood("collection", row.collection))?;
    let (before, after) = (row.superseded.unwrap_or(0), row.bytes.unwrap_or(0));
    let item = IndexedItem { number: row.number, collection, before, after };
    Ok(Next { sequence: row.sequence, id: row.id, item })
}
