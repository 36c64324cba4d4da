//! A step of the full-text index and the counts of values, in one transaction. Writes do not index,
//! because indexing many items together is far cheaper. Steps follow the change log, and
//! `search_progress` has the last indexed change.

use std::collections::{BTreeMap, HashMap};

use application::Sequence;
use domain::{Collection, ItemId};
use sea_orm::{DbBackend, Value};
use serde_json::{Map, json};
use uuid::Uuid;

use crate::error::DbResult;
use crate::search_index::columns::{self, MemberColumns};
use crate::search_index::indexed_words::{by_member, vector};
use crate::search_index::value_counts::{self, CountChanges};
use crate::sql::row_mapping::{Columns, FromRow, collection};
use crate::sql::sql_text::{SqlText, json as parameter, keyed};
use crate::write::connection::WriteConnection;

/// The most bytes of words of a statement with several items: they are copied several times.
const BYTES: usize = 1024 * 1024;

/// Most bytes of members of a step, or one item. Memory, and the wait of a write on SQLite, must
/// not depend on clients.
const BYTES_AT_A_TIME: i64 = 4 * 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The change up to which everything is indexed now.
    pub indexed: i64,
    pub changes: usize,
    /// True if more changes wait. If `changes` is 0 then, another instance is indexing.
    pub has_more: bool,
}

struct Next {
    sequence: i64,
    id: Uuid,
    item: IndexedItem,
}

#[derive(Clone, Copy, Debug)]
struct IndexedItem {
    /// The number of its first change.
    number: i64,
    collection: Collection,
    /// Bytes of its members before its first change of the step, and after its last.
    before: i64,
    after: i64,
}

impl IndexedItem {
    fn bytes(self) -> i64 {
        let before = if value_counts::is_counted(self.collection) { self.before } else { 0 };
        before + self.after
    }
}

/// The changes of a step, and their items: each once, however often it was written.
fn step(indexed: i64, next: &[Next], limit: i64) -> (Step, BTreeMap<Uuid, IndexedItem>) {
    let mut step = Step { indexed, changes: 0, has_more: false };
    let (mut items, mut bytes) = (BTreeMap::new(), 0);
    for change in next {
        let known = items.get(&change.id).copied();
        let is_alone = items.len() == usize::from(known.is_some());
        let item = known.map_or(change.item, |known: IndexedItem| IndexedItem {
            after: change.item.after,
            ..known
        });
        bytes += item.bytes() - known.map_or(0, IndexedItem::bytes);
        if bytes > BYTES_AT_A_TIME && !is_alone {
            break;
        }
        items.insert(change.id, item);
        step.indexed = change.sequence;
        step.changes += 1;
    }
    step.has_more =
        step.changes < next.len() || i64::try_from(next.len()).is_ok_and(|taken| taken >= limit);
    (step, items)
}

struct Indexing<'a, C>(&'a C);

impl FromRow for Sequence {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        row.get("sequence").map(Self)
    }
}

/// An item and its members; `None` if it is deleted.
impl FromRow for (Uuid, Option<String>) {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        Ok((row.get("id")?, row.get("members")?))
    }
}

/// The words of an item; `None` if it is deleted. `SQLite` knows it by the number of its first change.
struct ItemWords {
    id: Uuid,
    number: i64,
    /// By the column of their members; of `PostgreSQL` only the first.
    words: Option<Vec<(usize, String)>>,
}

/// Indexes the items of at most `limit` changes.
pub(crate) async fn index(
    connection: &impl WriteConnection,
    limit: i64,
    Sequence(up_to): Sequence,
) -> DbResult<Step> {
    let (indexing, dialect) = (Indexing(connection), connection.dialect());
    let Some(indexed) = indexing.sequence(sql_file!(dialect, "index/begin")).await? else {
        let indexed = indexing.sequence(sql_file!("sqlite/index/begin")).await?.unwrap_or_default();
        return Ok(Step { indexed, changes: 0, has_more: true });
    };
    let values = [indexed.into(), up_to.into(), limit.into()];
    let next = indexing.query(sql_file!("both/index/next"), values).await?;
    let (step, items) = step(indexed, &next, limit);
    if step.changes > 0 {
        indexing.index(&items, indexed, step.indexed).await?;
        indexing.execute(sql_file!("both/index/advance"), [step.indexed.into()]).await?;
    }
    Ok(step)
}

impl<C: WriteConnection> Indexing<'_, C> {
    async fn query<T: FromRow, const N: usize>(
        &self,
        text: &str,
        values: [Value; N],
    ) -> DbResult<Vec<T>> {
        self.0.query(self.0.dialect().statement(text, values)).await
    }

    async fn execute<const N: usize>(&self, text: &str, values: [Value; N]) -> DbResult<()> {
        self.0.execute(self.0.dialect().statement(text, values)).await.map(drop)
    }

    async fn sequence(&self, text: &str) -> DbResult<Option<i64>> {
        let found = self.query(text, []).await?;
        Ok(found.first().map(|Sequence(sequence)| *sequence))
    }

    /// Brings the index and the counts from the changes up to `before` to those up to `after`.
    async fn index(
        &self,
        items: &BTreeMap<Uuid, IndexedItem>,
        before: i64,
        after: i64,
    ) -> DbResult<()> {
        let (mut words, mut counts) = (Vec::with_capacity(items.len()), CountChanges::default());
        let counted = items.iter().filter(|(_, item)| value_counts::is_counted(item.collection));
        let before = self.members_at(counted.map(|(id, _)| id), before).await?;
        let before: HashMap<_, _> = before.into_iter().collect();
        let mut columns = self.columns().await?;
        for (id, after) in self.members_at(items.keys(), after).await? {
            let IndexedItem { collection, number, .. } = items[&id];
            if let Some(before) = before.get(&id) {
                counts.note(collection, before.as_deref(), after.as_deref());
            }
            let index_text = |members: String| match self.0.dialect().backend {
                DbBackend::Sqlite => {
                    let texts = by_member(&members).into_iter();
                    by_column(texts.map(|(name, text)| (columns.number(collection, &name), text)))
                }
                _ => vec![(0, vector(&members))],
            };
            words.push(ItemWords { id, number, words: after.map(index_text) });
        }
        self.add_columns(&columns).await?;
        drop(before);
        // FTS5 writes a segment before each row whose number is below that of the row before.
        words.sort_unstable_by_key(|item| item.number);
        self.store(words).await?;
        let added = |((collection, member, value), items)| json!({ "collection": collection, "member": member, "value": value, "items": items });
        let added: Vec<_> = counts.into_changed().map(added).collect();
        if !added.is_empty() {
            let added = keyed(added.iter().enumerate());
            self.execute(sql_file!("both/index/counts"), [added.clone()]).await?;
            self.execute(sql_file!("both/index/used_up"), [added]).await?;
        }
        Ok(())
    }

    async fn store(&self, words: Vec<ItemWords>) -> DbResult<()> {
        let dialect = self.0.dialect();
        let (mut items, mut texts) = (Vec::new(), Vec::new());
        let mut rest = words.into_iter().peekable();
        while let Some(ItemWords { id, number, words }) = rest.next() {
            let mut place = |(column, text): (usize, String)| {
                let first = texts.len() + 1;
                texts.extend_from_slice(text.as_bytes());
                (column.to_string(), json!([first, text.len()]))
            };
            let words = words.map(|words| words.into_iter().map(&mut place).collect::<Map<_, _>>());
            items.push(json!({ "id": id, "number": number, "words": words }));
            let length = |words: &Vec<(usize, String)>| words.iter().map(|it| it.1.len()).sum();
            let next = rest.peek().map(|next| next.words.as_ref().map_or(0, length));
            if next.is_none_or(|next: usize| texts.len() + next > BYTES) {
                let [items_stored, texts] =
                    [parameter(&std::mem::take(&mut items)), std::mem::take(&mut texts).into()];
                if dialect.backend == DbBackend::Sqlite {
                    let deleted = [items_stored.clone()];
                    self.execute(&columns::INSERT, [items_stored, texts]).await?;
                    self.execute(sql_file!("sqlite/index/words"), deleted).await?;
                } else {
                    let values = [items_stored, texts];
                    self.execute(sql_file!("postgres/index/words"), values).await?;
                }
            }
        }
        Ok(())
    }

    /// The columns of members, which `PostgreSQL` does not have.
    async fn columns(&self) -> DbResult<MemberColumns> {
        if self.0.dialect().backend != DbBackend::Sqlite {
            return Ok(MemberColumns::default());
        }
        self.query(sql_file!("sqlite/index/columns"), []).await.map(MemberColumns::of)
    }

    async fn add_columns(&self, columns: &MemberColumns) -> DbResult<()> {
        if columns.added.is_empty() {
            return Ok(());
        }
        let added = columns.added.iter();
        let added = added.map(|it| json!([it.collection.name(), it.member, it.number]));
        let added = parameter(&added.collect::<Vec<_>>());
        self.execute(sql_file!("sqlite/index/add_columns"), [added]).await
    }

    /// The members of items after their last change up to the one of a number.
    async fn members_at<'a>(
        &self,
        ids: impl Iterator<Item = &'a Uuid>,
        sequence: i64,
    ) -> DbResult<Vec<(Uuid, Option<String>)>> {
        let mut text = SqlText::new(self.0.dialect());
        let items = text.among_ids(ids.copied().map(ItemId::from_uuid));
        let sequence = text.bind(sequence);
        let statement = text.finish(&format!(
            "SELECT f.item_id AS id, (SELECT CAST(c.members AS TEXT) FROM changes c WHERE c.item_id = f.item_id \
             AND c.sequence <= {sequence} ORDER BY c.version DESC LIMIT 1) AS members \
             FROM changes f WHERE f.item_id {items} AND f.version = 1"
        ));
        self.0.query(statement).await
    }
}

/// Joins the texts of each column.
fn by_column(texts: impl Iterator<Item = (usize, String)>) -> Vec<(usize, String)> {
    let mut columns = BTreeMap::<_, String>::new();
    for (column, text) in texts {
        columns.entry(column).or_default().push_str(&text);
    }
    columns.into_iter().collect()
}

impl FromRow for Next {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        let (number, collection) = (row.get("number")?, collection(row)?);
        let bytes = |column| row.get::<Option<i64>>(column).map(Option::unwrap_or_default);
        let (before, after) = (bytes("superseded")?, bytes("bytes")?);
        let item = IndexedItem { number, collection, before, after };
        Ok(Self { sequence: row.get("sequence")?, id: row.get("id")?, item })
    }
}

#[cfg(test)]
mod tests {
    use domain::Collection;
    use uuid::Uuid;

    use super::{BYTES_AT_A_TIME, IndexedItem, Next, step};

    const FILES: Collection = Collection::known("files");

    #[test]
    fn a_step_takes_as_many_changes_as_fit_and_one_at_least() {
        const HALF: i64 = BYTES_AT_A_TIME / 2;
        const HUGE: i64 = BYTES_AT_A_TIME * 2;
        for (what, items, taken, has_more) in [
            ("all", &[(1, HALF), (2, HALF)][..], 2, false),
            (
                "an item that was written twice counts once",
                &[(1, HALF), (1, HALF), (1, HALF), (2, HALF)],
                4,
                false,
            ),
            ("what does not fit waits", &[(1, HALF), (2, HALF), (3, 1), (4, 1)], 2, true),
            ("one is taken regardless of its size", &[(1, HUGE), (1, HUGE), (2, 1)], 2, true),
            ("a full step has more", &[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)], 5, true),
            ("nothing", &[], 0, false),
        ] {
            let next = |(sequence, (id, bytes)): (usize, &(u128, i64))| Next {
                sequence: 11 + i64::try_from(sequence).unwrap(),
                id: Uuid::from_u128(*id),
                item: IndexedItem { number: 1, collection: FILES, before: 0, after: *bytes },
            };
            let next: Vec<_> = items.iter().enumerate().map(next).collect();
            let (step, _) = step(10, &next, 5);
            assert_eq!(
                (step.changes, step.indexed, step.has_more),
                (taken, 10 + i64::try_from(taken).unwrap(), has_more),
                "{what}"
            );
        }
    }

    #[test]
    fn the_members_before_count_where_they_are_read() {
        const HALF: i64 = BYTES_AT_A_TIME / 2 + 1;
        for (collection, taken) in [(FILES, 1), (Collection::known("status"), 2)] {
            let removal = |sequence| Next {
                sequence,
                id: Uuid::from_u128(sequence.unsigned_abs().into()),
                item: IndexedItem { number: 1, collection, before: HALF, after: 0 },
            };
            assert_eq!(step(0, &[removal(1), removal(2)], 5).0.changes, taken, "{collection:?}");
        }
    }
}
