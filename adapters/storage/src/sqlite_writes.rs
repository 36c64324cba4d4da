//! How `SQLite` does each write, inside a transaction that it shares with others.
//!
//! A write that is refused (`Ok(Err(…))`) has changed nothing, because its first statement decides. An `Err` means that
//! the transaction is spoilt. The texts hold several statements at a time, which spares round trips to the driver's thread.

use application::{Change, ChangeKind, CollectionContent, NewItem, Replacement, RepositoryError, Scope};
use domain::{Collection, ItemId, Version};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, QueryResult, Value};
use uuid::Uuid;

use crate::dialect::SQLITE;
use crate::rows;
use crate::sqlite_totals::Totals;
use crate::statements::{CHANGE_COLUMNS, ITEM_COLUMNS, REVISION, owner_name, parent, shown_columns};
use crate::write::{Answer, Write, delete_values, insert_values, not_written, removed_by, update_values, versions};

const OWNER: &str = "SELECT id FROM items WHERE id = $1 AND collection = $2";

const FOUND: &str = "SELECT version FROM items WHERE id = $1 AND collection = $2 AND (parent = $3 OR $3 IS NULL)";

const VERSIONS: &str = "SELECT id, version FROM items WHERE collection = $1";

/// The texts of the writes, made once. Their parameters are those of `write.rs`.
#[derive(Debug)]
pub(crate) struct SqliteWrites {
    insert: String,
    update: String,
    delete: String,
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
        let with_its_own = format!("EXISTS (SELECT 1 FROM items t WHERE {})", self::expected("t"));
        Self {
            insert: format!(
                "INSERT INTO items ({ITEM_COLUMNS}) SELECT $3, $4, $5, 1, $1, $1, $7, $8, $9 \
                 WHERE ($5 IS NULL OR EXISTS (SELECT 1 FROM items WHERE id = $5 AND collection = $6)) \
                 AND ($7 IS NULL OR EXISTS (SELECT 1 FROM items WHERE id = $7 AND collection = $4)) RETURNING {shown}; \
                 INSERT INTO changes ({CHANGE_COLUMNS}) SELECT collection, id, version, 'created', $1, $2, parent, predecessor, NULL \
                 FROM items WHERE id = $3"
            ),
            update: format!(
                "{superseding}; UPDATE items SET members = $9, program = $8, version = version + 1, \
                 updated_at = max(updated_at, $1) WHERE {expected} RETURNING {shown}",
                superseding = superseding("$7", &expected),
            ),
            delete: format!(
                "{superseding}; DELETE FROM items WHERE parent = $3 AND {with_its_own} RETURNING collection, parent; \
                 DELETE FROM items WHERE {expected} RETURNING collection, parent; \
                 DELETE FROM collection_totals WHERE parent = $3 AND NOT EXISTS (SELECT 1 FROM items WHERE id = $3)",
                superseding = superseding("'deleted'", &format!("(id = $3 OR parent = $3) AND {with_its_own}")),
            ),
        }
    }

    /// Does one write in `transaction`.
    pub async fn perform(&self, transaction: &DatabaseTransaction, write: &Write, totals: &mut Totals) -> Result<Answer, DbErr> {
        let mut performing = Performing { texts: self, transaction, totals };
        match write {
            Write::Insert { scope, item, change } => performing.insert(*scope, item, change).await,
            Write::Update { scope, replacement, kind, change } => performing.update(*scope, replacement, *kind, change).await,
            Write::Delete { scope, id, expected, change } => performing.delete(*scope, *id, *expected, change).await,
            Write::ReplaceAll { collection, content, change } => performing.replace_all(*collection, content, change).await,
        }
    }
}

/// One write under way.
struct Performing<'a> {
    texts: &'a SqliteWrites,
    transaction: &'a DatabaseTransaction,
    totals: &'a mut Totals,
}

impl Performing<'_> {
    async fn insert(&mut self, scope: Scope, item: &NewItem, change: &Change) -> Result<Answer, DbErr> {
        let rows = self.run(&self.texts.insert, insert_values(scope, item, change)).await?;
        let Some(row) = rows.first() else {
            return Ok(Err(self.not_inserted(scope).await?));
        };
        self.totals.count(scope.collection.name(), parent(scope), 1);
        Ok(Ok(Some(rows::written_item(row, item.members.clone())?)))
    }

    async fn update(&mut self, scope: Scope, replacement: &Replacement, kind: ChangeKind, change: &Change) -> Result<Answer, DbErr> {
        let rows = self.run(&self.texts.update, update_values(scope, replacement, kind, change)).await?;
        let Some(row) = rows.first() else {
            return Ok(Err(self.not_at_version(scope, replacement.id).await?));
        };
        self.totals.count(scope.collection.name(), rows::get(row, "parent")?, 0);
        Ok(Ok(Some(rows::written_item(row, replacement.members.clone())?)))
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

    /// Nothing comes between the look at the versions and the writes: there is one writer, and it has the lock.
    async fn replace_all(&mut self, collection: Collection, content: &CollectionContent, change: &Change) -> Result<Answer, DbErr> {
        let current = versions(&self.run(VERSIONS, vec![collection.name().into()]).await?)?;
        let revision = self.run(REVISION, vec![collection.name().into(), Uuid::nil().into()]).await?;
        let counted = self.totals.writes_to(collection.name());
        let revision = revision.first().map(|row| rows::get::<i64>(row, "revision")).transpose()?.map(|stored| stored + counted);
        let removed = match removed_by(&current, revision, content) {
            Ok(removed) => removed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let scope = Scope { collection, parent: None };
        for replacement in &content.replacements {
            sound(self.update(scope, replacement, ChangeKind::Replaced, change).await?)?;
        }
        for addition in &content.additions {
            sound(self.insert(scope, addition, change).await?)?;
        }
        for (id, version) in removed {
            sound(self.delete(scope, id, version, change).await?)?;
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

/// A step of a write that was found possible beforehand cannot be refused.
fn sound(step: Answer) -> Result<(), DbErr> {
    step.map(|_| ()).map_err(|refusal| DbErr::Custom(format!("a step of a replacement was refused: {refusal}")))
}
