//! How `SQLite` does each write, inside a transaction that it shares with others.
//!
//! A write that is refused (`Ok(Err(…))`) has changed nothing, because its first statement decides. An `Err` means that
//! the transaction is spoilt. The texts hold several statements at a time, which spares round trips to the driver's thread.

use std::collections::HashMap;
use std::sync::Arc;

use application::{Change, CollectionContent, RepositoryError, Scope};
use domain::{Collection, ItemId, Version};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, QueryResult, Value};
use uuid::Uuid;

use crate::dialect::SQLITE;
use crate::repeated::Repeated;
use crate::row_write::{RowWrite, in_rows};
use crate::rows;
use crate::sqlite_totals::Totals;
use crate::statements::{CHANGE_COLUMNS, ITEM_COLUMNS, REVISION, json_array, owner_name, parent, shown_columns};
use crate::write::{Answer, Write, change_values, delete_values, not_written, removed_by, versions};

const OWNER: &str = "SELECT id FROM items WHERE id = $1 AND collection = $2";

const FOUND: &str = "SELECT version FROM items WHERE id = $1 AND collection = $2 AND (parent = $3 OR $3 IS NULL)";

/// Items that one statement of a replacement removes.
const REMOVED_AT_A_TIME: usize = 5_000;

const VERSIONS: &str = "SELECT id, version FROM items WHERE collection = $1";

/// The texts of the writes, made once. Their parameters are those of `write.rs`.
#[derive(Debug)]
pub(crate) struct SqliteWrites {
    insert: Repeated,
    update: Repeated,
    delete: String,
    delete_all: String,
}

impl SqliteWrites {
    pub fn new() -> Self {
        let shown = shown_columns(&SQLITE, "items");
        let superseding = |kind: &str, condition: &str| {
            format!(
                "INSERT INTO changes ({CHANGE_COLUMNS}) SELECT collection, id, version + 1, {kind}, $1, $2, parent, predecessor, \
                 members FROM items WHERE {condition}"
            )
        };
        let expected = expected("items");
        let listed = SQLITE.listed_ids.replace("$1", "$3");
        let with_its_own = format!("EXISTS (SELECT 1 FROM items t WHERE {})", self::expected("t"));
        Self {
            insert: Repeated::new(&format!(
                "INSERT INTO items ({ITEM_COLUMNS}) SELECT $3, $4, $5, 1, $1, $1, $7, $8, $9 \
                 WHERE ($5 IS NULL OR EXISTS (SELECT 1 FROM items WHERE id = $5 AND collection = $6)) \
                 AND ($7 IS NULL OR EXISTS (SELECT 1 FROM items WHERE id = $7 AND collection = $4)) RETURNING {shown}; \
                 INSERT INTO changes ({CHANGE_COLUMNS}) SELECT collection, id, version, 'created', $1, $2, parent, predecessor, NULL \
                 FROM items WHERE id = $3; \
                 INSERT INTO search_waiting (sequence, words) SELECT sequence, $10 FROM changes WHERE item_id = $3 AND version = 1"
            )),
            update: Repeated::new(&format!(
                "INSERT OR REPLACE INTO search_waiting (sequence, words) SELECT sequence, $10 FROM changes WHERE item_id = $3 \
                 AND version = 1 AND EXISTS (SELECT 1 FROM items WHERE {expected}); \
                 {superseding}; UPDATE items SET members = $9, program = $8, version = version + 1, \
                 updated_at = max(updated_at, $1) WHERE {expected} RETURNING {shown}",
                superseding = superseding("$7", &expected),
            )),
            delete_all: format!(
                "{unindexed}; {superseding}; DELETE FROM items WHERE parent IN ({listed}) RETURNING collection, parent; \
                 DELETE FROM items WHERE id IN ({listed}) RETURNING collection, parent; \
                 DELETE FROM collection_totals WHERE parent IN ({listed})",
                unindexed = unindexed(&format!("id IN ({listed}) OR parent IN ({listed})")),
                superseding = superseding("'deleted'", &format!("id IN ({listed}) OR parent IN ({listed})")),
            ),
            delete: format!(
                "{unindexed}; {superseding}; DELETE FROM items WHERE parent = $3 AND {with_its_own} RETURNING collection, parent; \
                 DELETE FROM items WHERE {expected} RETURNING collection, parent; \
                 DELETE FROM collection_totals WHERE parent = $3 AND NOT EXISTS (SELECT 1 FROM items WHERE id = $3)",
                unindexed = unindexed(&format!("(id = $3 OR parent = $3) AND {with_its_own}")),
                superseding = superseding("'deleted'", &format!("(id = $3 OR parent = $3) AND {with_its_own}")),
            ),
        }
    }

    /// Does the writes in their order in `transaction`. Neighbours of a kind share a trip to the driver's thread.
    pub async fn perform(&self, transaction: &DatabaseTransaction, writes: &[&Write], totals: &mut Totals) -> Result<Vec<Answer>, DbErr> {
        let mut performing = Performing { texts: self, transaction, totals };
        let mut answers = Vec::with_capacity(writes.len());
        while let Some(next) = writes.get(answers.len()) {
            match next {
                Write::Insert { .. } | Write::Update { .. } => {
                    let rows: Vec<_> = writes[answers.len()..].iter().map_while(|write| write.as_row()).collect();
                    answers.extend(performing.write_rows(&rows).await?);
                }
                Write::Delete { scope, id, expected, change } => {
                    answers.push(performing.delete(*scope, *id, *expected, change).await?);
                }
                Write::ReplaceAll { collection, content, words, change } => {
                    answers.push(performing.replace_all(*collection, content, words, change).await?);
                }
            }
        }
        Ok(answers)
    }
}

/// The writes of one transaction under way.
struct Performing<'a> {
    texts: &'a SqliteWrites,
    transaction: &'a DatabaseTransaction,
    totals: &'a mut Totals,
}

impl Performing<'_> {
    /// Does inserts and updates in their order, as many at a time as are alike.
    async fn write_rows(&mut self, writes: &[RowWrite<'_>]) -> Result<Vec<Answer>, DbErr> {
        let mut answers = Vec::with_capacity(writes.len());
        while let [first, ..] = &writes[answers.len()..] {
            let rest = &writes[answers.len()..];
            let alike = rest.iter().take_while(|write| write.is_insert() == first.is_insert()).count();
            let text = if first.is_insert() { &self.texts.insert } else { &self.texts.update };
            answers.extend(self.write_alike(text, &rest[..Repeated::times(alike)]).await?);
        }
        Ok(answers)
    }

    /// A row comes back for each write that was done.
    async fn write_alike(&mut self, texts: &Repeated, writes: &[RowWrite<'_>]) -> Result<Vec<Answer>, DbErr> {
        let values = writes.iter().flat_map(|write| write.values()).collect();
        let rows = self.run(texts.text(writes.len()), values).await?;
        let mut left = HashMap::with_capacity(rows.len());
        for row in &rows {
            left.insert((rows::get::<Uuid>(row, "id")?, rows::get::<i64>(row, "version")?), row);
        }
        let mut answers = Vec::with_capacity(writes.len());
        for write in writes {
            answers.push(match left.remove(&write.left()) {
                Some(row) => {
                    self.totals.count(write.scope().collection.name(), rows::get(row, "parent")?, i64::from(write.is_insert()));
                    Ok(Some(rows::written_item(row, Arc::clone(write.members()))?))
                }
                None if write.is_insert() => Err(self.not_inserted(write.scope()).await?),
                None => Err(self.not_at_version(write.scope(), write.id()).await?),
            });
        }
        Ok(answers)
    }

    async fn delete(&mut self, scope: Scope, id: ItemId, expected: Version, change: &Change) -> Result<Answer, DbErr> {
        let removed = self.run(&self.texts.delete, delete_values(scope, id, expected, change)).await?;
        if removed.is_empty() {
            return Ok(Err(self.not_at_version(scope, id).await?));
        }
        for row in &removed {
            self.totals.count(&rows::get::<String>(row, "collection")?, rows::get(row, "parent")?, -1);
        }
        self.totals.forget(id.uuid());
        Ok(Ok(None))
    }

    /// Removes items that are known to be there, and what belongs to them.
    async fn delete_all(&mut self, items: &[(ItemId, Version)], change: &Change) -> Result<(), DbErr> {
        let ids = json_array(items.iter().map(|(id, _)| format!("\"{id}\"")));
        let values = change_values(change).into_iter().chain([ids.into()]).collect();
        for row in &self.run(&self.texts.delete_all, values).await? {
            self.totals.count(&rows::get::<String>(row, "collection")?, rows::get(row, "parent")?, -1);
        }
        for (id, _) in items {
            self.totals.forget(id.uuid());
        }
        Ok(())
    }

    /// Nothing comes between the look at the versions and the writes: there is one writer, and it has the lock.
    async fn replace_all(
        &mut self,
        collection: Collection,
        content: &CollectionContent,
        words: &[String],
        change: &Change,
    ) -> Result<Answer, DbErr> {
        let current = versions(&self.run(VERSIONS, vec![collection.name().into()]).await?)?;
        let revision = self.run(REVISION, vec![collection.name().into(), Uuid::nil().into()]).await?;
        let counted = self.totals.writes_to(collection.name());
        let revision = revision.first().map(|row| rows::get::<i64>(row, "revision")).transpose()?.map(|stored| stored + counted);
        let removed = match removed_by(&current, revision, content) {
            Ok(removed) => removed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for answer in self.write_rows(&in_rows(collection, content, words, change)).await? {
            sound(answer)?;
        }
        for removed in removed.chunks(REMOVED_AT_A_TIME) {
            self.delete_all(removed, change).await?;
        }
        Ok(Ok(None))
    }

    async fn run(&self, text: &str, values: Vec<Value>) -> Result<Vec<QueryResult>, DbErr> {
        self.transaction.query_all_raw(SQLITE.statement(text, values)).await
    }

    async fn not_inserted(&self, scope: Scope) -> Result<RepositoryError, DbErr> {
        let is_owner_missing = match parent(scope) {
            Some(parent) => self.run(OWNER, vec![parent.into(), owner_name(scope.collection).into()]).await?.is_empty(),
            None => false,
        };
        Ok(if is_owner_missing { RepositoryError::OwnerMissing } else { RepositoryError::ItemMissing })
    }

    async fn not_at_version(&self, scope: Scope, id: ItemId) -> Result<RepositoryError, DbErr> {
        let rows = self.run(FOUND, vec![id.uuid().into(), scope.collection.name().into(), parent(scope).into()]).await?;
        Ok(not_written(rows.first().map(|row| rows::get(row, "version")).transpose()?))
    }
}

/// That the row is the item a write expects, at the version it expects.
fn expected(row: &str) -> String {
    format!("{row}.id = $3 AND {row}.collection = $4 AND ({row}.parent = $5 OR $5 IS NULL) AND {row}.version = $6")
}

/// Takes the items of a condition out of the full-text index, in which an item has the number of its first change.
fn unindexed(condition: &str) -> String {
    let items = format!("SELECT sequence FROM changes WHERE version = 1 AND item_id IN (SELECT id FROM items WHERE {condition})");
    format!("DELETE FROM search_index WHERE rowid IN ({items}); DELETE FROM search_waiting WHERE sequence IN ({items})")
}

/// A step of a write that was found possible beforehand cannot be refused.
fn sound(step: Answer) -> Result<(), DbErr> {
    step.map(|_| ()).map_err(|refusal| DbErr::Custom(format!("a step of a replacement was refused: {refusal}")))
}
