//! How `SQLite` does each write, inside a transaction that it shares with others.
//!
//! There is one writer and it has the lock, so what it looks up stays true: one query decides
//! whether the conditions of a write hold (`write/condition.rs`), and then it is done. A write that
//! is refused (`Ok(Err(…))`) has changed nothing. An `Err` means that the transaction is spoilt.

use std::collections::HashMap;
use std::sync::Arc;

use application::{CollectionWrite, Links, RepositoryError, Revision, ShownItem, WriteMetadata};
use domain::{Collection, Item, ItemId, Version, WriteOperation};
use jiff::Timestamp;
use rusqlite::{Params, Row, Transaction, params};
use uuid::Uuid;

use crate::entities::{self, idempotency_key, item};
use crate::sql::dialect::SQLITE;
use crate::sql::idempotency::continued_by;
use crate::sql::indexed_columns;
use crate::sql::references;
use crate::sql::statements::{CHANGE_COLUMNS, REVISION, parent, shown_columns};
use crate::sqlite::judgement::{Given, Judged, Judgement};
use crate::sqlite::read_set;
use crate::sqlite::rows::{row_values, shown, timestamp};
use crate::sqlite::totals::Totals;
use crate::write::author;
use crate::write::command::{
    Answer, Change, ContentChange, Deletion, RowOfMany, Write, Written, removed_by,
};
use crate::write::condition;
use crate::write::row::{RowChange, RowChangeKind, RowWrite};

const EXISTS: &str = "SELECT 1 FROM items WHERE id = ?1 AND collection = ?2";

const VERSIONS: &str = "SELECT id, version FROM items WHERE collection = ?1";

/// The last version of an item, and when and by whom it had its first.
const PAST: &str = "SELECT l.version, f.time AS created_at, f.caller AS created_by FROM changes l \
                    JOIN changes f ON f.item_id = l.item_id AND f.version = 1 WHERE l.item_id = ?1 ORDER BY l.version DESC LIMIT 1";

/// Items that belong to an item go before it.
const REMOVE: [&str; 2] = [
    "DELETE FROM items WHERE parent = ?1 RETURNING collection, parent",
    "DELETE FROM items WHERE id = ?1 RETURNING collection, parent",
];

/// Rows of a write of many whose metadata is in memory.
const ROWS_AT_A_TIME: usize = 64;

type Outcome<T> = rusqlite::Result<T>;

/// The texts of the writes, made once.
#[derive(Debug)]
pub(crate) struct SqliteWrites {
    inserting: Judgement,
    restoring: Judgement,
    updating: Judgement,
    deleting: Judgement,
    links: String,
    log: String,
    insert: String,
    remember: String,
    update: String,
    update_with_keys: String,
    deleted: String,
}

impl SqliteWrites {
    pub fn new() -> Self {
        let parameter = |_: &str| ", ?".to_owned();
        let shown = shown_columns(&SQLITE, "i");
        let keys = indexed_columns::each(|name| format!(", i.{name}"));
        Self {
            inserting: Judgement::new(&condition::INSERT, ""),
            restoring: Judgement::new(&condition::RESTORE, ""),
            updating: Judgement::new(&condition::UPDATE_OR_DELETE, &format!(", {shown}{keys}")),
            deleting: Judgement::new(&condition::UPDATE_OR_DELETE, ""),
            links: format!("SELECT {shown} FROM items i WHERE i.id = ?1"),
            log: format!(
                "INSERT INTO changes ({CHANGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            ),
            insert: format!(
                "INSERT INTO items ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?{})",
                entities::columns::<item::Entity>(),
                references::each(parameter) + &indexed_columns::each(parameter),
            ),
            remember: format!(
                "INSERT OR REPLACE INTO idempotency_keys ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?{})",
                entities::columns::<idempotency_key::Entity>(),
                references::each(parameter),
            ),
            update: update(""),
            update_with_keys: update(&indexed_columns::each(|name| format!(", {name} = ?"))),
            deleted: format!(
                "INSERT INTO changes ({CHANGE_COLUMNS}) \
                 SELECT collection, id, version + 1, ?2, ?3, ?4, ?5, ?6, ?7, parent, continues, NULL FROM items WHERE id = ?1 OR parent = ?1"
            ),
        }
    }

    /// Does the writes in their order in `transaction`, all at one time.
    pub fn perform(
        &self,
        transaction: &Transaction<'_>,
        writes: &[&Write],
        time: Timestamp,
        totals: &mut Totals,
    ) -> Outcome<Vec<Answer>> {
        let mut performing = Performing { texts: self, transaction, time, totals };
        writes.iter().map(|write| performing.write(write)).collect()
    }
}

fn update(keys: &str) -> String {
    format!(
        "UPDATE items SET version = version + 1, updated_at = ?, sequence = ?{references}{keys} WHERE id = ?",
        references = references::each(|name| format!(", {name} = ?")),
    )
}

/// Rows of a write of many, each with its metadata.
fn row_writes<'a>(
    rows: &'a [RowOfMany],
    metadata: &'a [WriteMetadata],
) -> impl Iterator<Item = RowWrite<'a>> {
    let writes = rows.iter().zip(metadata);
    writes.map(|(many, metadata)| RowWrite { row: &many.row, metadata })
}

/// When an item was first created, and by whom.
#[derive(Clone, Copy)]
struct Created<'a> {
    at: Timestamp,
    by: Option<&'a str>,
}

/// The writes of a transaction in progress.
struct Performing<'a> {
    texts: &'a SqliteWrites,
    transaction: &'a Transaction<'a>,
    time: Timestamp,
    totals: &'a mut Totals,
}

impl Performing<'_> {
    fn write(&mut self, write: &Write) -> Outcome<Answer> {
        let Write { change, metadata } = write;
        match change {
            Change::Row(row) => {
                let write = RowWrite { row, metadata };
                let written = self.row(&write)?;
                if let Ok(shown) = &written {
                    self.remember(&write, shown)?;
                }
                Ok(written.map(Written::Item))
            }
            Change::Delete(deletion) => self.delete(*deletion, metadata),
            Change::Rows(_) | Change::ReplaceAll(_)
                if !read_set::hold(self.transaction, metadata)? =>
            {
                Ok(Err(RepositoryError::VersionConflict))
            }
            Change::Rows(rows) => self.many(rows, write),
            Change::ReplaceAll(content) => self.replace_all(content, &write.row_metadata()),
        }
    }

    /// Remembers the write of a request with a key.
    fn remember(&self, write: &RowWrite<'_>, ShownItem { item, links }: &ShownItem) -> Outcome<()> {
        let metadata = write.metadata;
        let (Some([caller, path, key]), Some(own)) = (metadata.key_identity(), &metadata.key)
        else {
            return Ok(());
        };
        let (expires, by) = (metadata.key_expires.as_microsecond(), continued_by(links));
        let (id, version) = (item.id.uuid(), item.version.number());
        let continues = links.continues.map(ItemId::uuid);
        let answer = params![
            caller,
            path,
            key,
            own.fingerprint,
            expires,
            id,
            version,
            continues,
            by,
            metadata.remarks
        ];
        let links = references::values(&links.references);
        self.run(&self.texts.remember, row_values(answer, &links, &[], &[]).as_slice()).map(drop)
    }

    fn row(&mut self, write: &RowWrite<'_>) -> Outcome<Judged<ShownItem>> {
        let written = match write.row.kind {
            RowChangeKind::Insert { continues } => self.insert(write, continues)?,
            RowChangeKind::Restore { continues } => self.restore(write, continues)?,
            RowChangeKind::Update { operation, .. } => self.update(write, operation)?,
        };
        if let Ok(shown) = &written {
            let (collection, parent) =
                (write.row.scope.collection.name(), shown.item.parent.map(ItemId::uuid));
            self.totals.count(collection, parent, i64::from(write.row.adds()));
        }
        Ok(written)
    }

    fn insert(
        &self,
        write: &RowWrite<'_>,
        continues: Option<ItemId>,
    ) -> Outcome<Judged<ShownItem>> {
        let judgement = &self.texts.inserting;
        if let Err(refusal) =
            judgement.judge(self.transaction, &Given::of_row(write), |_| Ok(()))?
        {
            return Ok(Err(refusal));
        }
        let created = Created { at: self.time, by: write.metadata.warrant.caller() };
        let item = self.add(write, Version::FIRST, created, continues)?;
        // Nothing continues an item before it exists.
        Ok(Ok(ShownItem {
            item,
            links: Links { continues, references: self.links(write)?, ..Links::default() },
        }))
    }

    fn restore(
        &self,
        write: &RowWrite<'_>,
        continues: Option<ItemId>,
    ) -> Outcome<Judged<ShownItem>> {
        let judgement = &self.texts.restoring;
        if let Err(refusal) =
            judgement.judge(self.transaction, &Given::of_row(write), |_| Ok(()))?
        {
            return Ok(Err(refusal));
        }
        let id = [write.row.id.uuid()];
        let past = |row: &Row<'_>| {
            Ok((row.get("version")?, row.get("created_at")?, row.get("created_by")?))
        };
        let (version, created_at, created_by): (_, _, Option<String>) =
            self.transaction.prepare_cached(PAST)?.query_row(id, past)?;
        let created = Created { at: timestamp(created_at)?, by: created_by.as_deref() };
        let item = self.add(write, Version::from_number(version).next(), created, continues)?;
        let shown = |row: &Row<'_>| shown(row, Arc::clone(&write.row.members));
        let mut links = self.transaction.prepare_cached(&self.texts.links)?;
        Ok(Ok(ShownItem { item, links: links.query_row(id, shown)?.links }))
    }

    /// Stores an item that is not there.
    fn add(
        &self,
        write: &RowWrite<'_>,
        version: Version,
        created: Created<'_>,
        continues: Option<ItemId>,
    ) -> Outcome<Item> {
        let RowChange { scope, id, members, references, keys, .. } = write.row;
        let sequence = self.log(write, version, WriteOperation::Create, scope.parent, continues)?;
        let (collection, parent, time) =
            (scope.collection.name(), parent(*scope), self.time.as_microsecond());
        let (continued_id, references) =
            (continues.map(ItemId::uuid), references::values(references));
        let (number, created_at) = (version.number(), created.at.as_microsecond());
        let item = params![
            id.uuid(),
            collection,
            parent,
            number,
            sequence,
            created_at,
            time,
            created.by,
            continued_id
        ];
        let item = row_values(item, &references, keys.columns(), &[]);
        self.run(&self.texts.insert, item.as_slice())?;
        let (members, created_at, parent) = (Arc::clone(members), created.at, scope.parent);
        Ok(Item { id: *id, version, created_at, updated_at: self.time, members, parent, continues })
    }

    /// Logs the version that a write makes, and returns the number of the change.
    fn log(
        &self,
        write: &RowWrite<'_>,
        version: Version,
        operation: WriteOperation,
        parent: Option<ItemId>,
        continues: Option<ItemId>,
    ) -> Outcome<i64> {
        let RowWrite { row: RowChange { scope, id, members, .. }, metadata } = write;
        let [caller, acting, client, request_id] = author::values(&metadata.warrant);
        let change = params![
            scope.collection.name(),
            id.uuid(),
            version.number(),
            operation.change_name(),
            self.time.as_microsecond(),
            caller,
            acting,
            client,
            request_id,
            parent.map(ItemId::uuid),
            continues.map(ItemId::uuid),
            members
        ];
        self.transaction.prepare_cached(&self.texts.log)?.insert(change)
    }

    fn update(
        &self,
        write: &RowWrite<'_>,
        operation: WriteOperation,
    ) -> Outcome<Judged<ShownItem>> {
        let found = |row: &Row<'_>| {
            let shown = shown(row, Arc::clone(&write.row.members))?;
            let mut has_keys = true;
            for (name, key) in indexed_columns::COLUMNS.iter().zip(write.row.keys.columns()) {
                has_keys &= row.get_ref(*name)?.as_str_or_null()? == key.as_deref();
            }
            Ok((shown, has_keys))
        };
        let judgement = &self.texts.updating;
        let (mut shown, has_keys) =
            match judgement.judge(self.transaction, &Given::of_row(write), found)? {
                Ok(found) => found,
                Err(refusal) => return Ok(Err(refusal)),
            };
        let (version, Item { parent, continues, .. }) = (shown.item.version.next(), &shown.item);
        let sequence = self.log(write, version, operation, *parent, *continues)?;
        let time = self.time.as_microsecond();
        let (id, references) = (write.row.id.uuid(), references::values(&write.row.references));
        // The indexes of keys that stay are left alone.
        let (text, keys): (_, &[_]) = if has_keys {
            (&self.texts.update, &[])
        } else {
            (&self.texts.update_with_keys, write.row.keys.columns())
        };
        let values = row_values(params![time, sequence], &references, keys, params![id]);
        self.run(text, values.as_slice())?;
        shown.item.version = version;
        shown.item.updated_at = self.time;
        shown.links.references = self.links(write)?;
        Ok(Ok(shown))
    }

    /// The items a write refers to, as far as they exist.
    fn links(&self, write: &RowWrite<'_>) -> Outcome<Vec<Option<ItemId>>> {
        let targets = write.row.references.iter().zip(write.row.scope.collection.referenced());
        let links = targets.map(|(id, target)| {
            let Some(id) = id else { return Ok(None) };
            let mut exists = self.transaction.prepare_cached(EXISTS)?;
            Ok(exists.exists(params![id.uuid(), target.name()])?.then_some(*id))
        });
        links.collect::<Outcome<_>>().map(references::trimmed)
    }

    fn delete(
        &mut self,
        Deletion { scope, id, expected }: Deletion,
        metadata: &WriteMetadata,
    ) -> Outcome<Answer> {
        if read_set::has_undeletable(self.transaction, id, metadata)? {
            return Ok(Err(RepositoryError::VersionConflict));
        }
        let expected = Some(expected);
        let given = Given { scope, id, continues: None, expected, claims_key: false, metadata };
        if let Err(refusal) = self.texts.deleting.judge(self.transaction, &given, |_| Ok(()))? {
            return Ok(Err(refusal));
        }
        self.remove(id, metadata)?;
        Ok(Ok(Written::Nothing))
    }

    /// Removes an item that is known to be there, and what belongs to it.
    fn remove(&mut self, id: ItemId, metadata: &WriteMetadata) -> Outcome<()> {
        let (kind, time) = (WriteOperation::Delete.change_name(), self.time.as_microsecond());
        let [caller, acting, client, request_id] = author::values(&metadata.warrant);
        let change = params![id.uuid(), kind, time, caller, acting, client, request_id];
        self.run(&self.texts.deleted, change)?;
        for text in REMOVE {
            let mut statement = self.transaction.prepare_cached(text)?;
            let mut rows = statement.query([id.uuid()])?;
            while let Some(row) = rows.next()? {
                self.totals.count(row.get_ref(0)?.as_str()?, row.get(1)?, -1);
            }
        }
        Ok(())
    }

    /// All are judged before the first is written, because a refused write must have changed nothing.
    fn many(&mut self, rows: &[RowOfMany], many: &Write) -> Outcome<Answer> {
        for rows in rows.chunks(ROWS_AT_A_TIME) {
            for write in row_writes(rows, &many.metadata_of(rows)) {
                let judgement = match write.row.kind {
                    RowChangeKind::Insert { .. } => &self.texts.inserting,
                    RowChangeKind::Restore { .. } => &self.texts.restoring,
                    RowChangeKind::Update { .. } => &self.texts.updating,
                };
                if let Err(refusal) =
                    judgement.judge(self.transaction, &Given::of_row(&write), |_| Ok(()))?
                {
                    return Ok(Err(refusal));
                }
            }
        }
        for rows in rows.chunks(ROWS_AT_A_TIME) {
            for write in row_writes(rows, &many.metadata_of(rows)) {
                let shown = self.possible(&write)?;
                self.remember(&write, &shown)?;
            }
        }
        Ok(Ok(Written::Nothing))
    }

    /// Does a write that was found possible.
    fn possible(&mut self, write: &RowWrite<'_>) -> Outcome<ShownItem> {
        self.row(write)?.map_err(|refusal| {
            // This is a defect, so the transaction must be rolled back.
            tracing::error!(%refusal, "a step of a bulk write was refused");
            rusqlite::Error::StatementChangedRows(0)
        })
    }

    fn replace_all(
        &mut self,
        content: &ContentChange,
        metadata: &WriteMetadata,
    ) -> Outcome<Answer> {
        let collection = content.collection;
        let (versions, revision) = (self.versions(collection)?, self.revision(content)?);
        let removed = match removed_by(&versions, revision, content) {
            Ok(removed) => removed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for row in &content.rows {
            self.possible(&RowWrite { row, metadata })?;
        }
        for (id, _) in removed {
            self.remove(id, metadata)?;
        }
        let revision = Revision(self.revision(content)?);
        Ok(Ok(Written::Collection(CollectionWrite { time: self.time, revision })))
    }

    fn versions(&self, collection: Collection) -> Outcome<HashMap<Uuid, i64>> {
        let mut statement = self.transaction.prepare_cached(VERSIONS)?;
        statement.query_map([collection.name()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The revision of a whole collection, with the writes of this transaction and those to the
    /// related collections.
    fn revision(&self, content: &ContentChange) -> Outcome<i64> {
        let mut statement = self.transaction.prepare_cached(REVISION)?;
        let mut revision = 0;
        for counted in content.counted() {
            let name = counted.name();
            let stored: i64 = statement.query_row(params![name, Uuid::nil()], |row| row.get(0))?;
            revision += stored + self.totals.writes_to(name);
        }
        Ok(revision)
    }

    fn run(&self, text: &str, values: impl Params) -> Outcome<usize> {
        self.transaction.prepare_cached(text)?.execute(values)
    }
}
