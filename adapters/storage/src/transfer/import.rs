//! Storing a history in an empty store, as if it had been written there: in one transaction, so
//! whole or not at all.
//!
//! The totals are counted at the end, from
//! what was stored. The full-text index follows by itself when the service is started, as after any
//! write.

use std::collections::HashMap;

use application::ChangeAuthor;
use domain::{ItemId, WriteOperation};
use jiff::Timestamp;
use sea_orm::prelude::Uuid;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, Value};
use serde::Serialize;

use super::change_record::CheckedChange;
use super::{TransferError, connect_to_look};
use crate::migration::runner::Runner;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::change_log::{last_of, last_statement};
use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::Keys;
use crate::sql::references;
use crate::sql::sql_text::{json, listed};
use crate::{Store, StoreError, StoreOptions};

const STEP: &str = "store the changes";

/// The number of changes in a statement.
const CHANGES: usize = 64;

/// An import in progress. Dropping it before its commit rolls it back.
pub struct ImportTransaction {
    transaction: DatabaseTransaction,
    dialect: &'static Dialect,
    store: Store,
    /// Held so that no other process prepares the store.
    lock: Option<DatabaseTransaction>,
}

impl ImportTransaction {
    /// Prepares the store's schema and begins the transaction. Until it ends, no other process can
    /// prepare the store or write to it: on `SQLite` the file is locked, on `PostgreSQL` the others
    /// wait for the locks.
    ///
    /// # Errors
    /// If the store is not empty, or cannot be opened or prepared.
    pub async fn begin(options: &StoreOptions) -> Result<Self, TransferError> {
        let store = Store::connect(options).await?;
        let engine = store.writer()?;
        Runner(&**engine).expand().await?;
        let dialect = engine.dialect();
        let lock = engine.lock_schema().await.map_err(TransferError::at(STEP))?;
        let transaction = engine.begin_migration().await;
        let transaction = transaction.map_err(TransferError::at(STEP))?;
        if dialect.backend == DbBackend::Postgres {
            let prepared = transaction.execute_unprepared(sql_file!("postgres/import_begin")).await;
            prepared.map_err(TransferError::at(STEP))?;
        }
        if is_written(&transaction).await? {
            return Err(TransferError::NotEmpty);
        }
        Ok(Self { transaction, dialect, store, lock })
    }

    /// Stores changes after those before them.
    ///
    /// # Errors
    /// Where the database refuses.
    pub async fn store(&mut self, changes: &[CheckedChange]) -> Result<(), TransferError> {
        for some in changes.chunks(CHANGES) {
            self.store_some(some).await.map_err(TransferError::at(STEP))?;
        }
        Ok(())
    }

    /// Commits everything, and closes the store.
    ///
    /// # Errors
    /// Where the database refuses; nothing is stored then.
    pub async fn commit(self) -> Result<(), TransferError> {
        self.count().await.map_err(TransferError::at(STEP))?;
        let Self { transaction, store, lock, .. } = self;
        transaction.commit().await.map_err(TransferError::at(STEP))?;
        drop(lock);
        store.close().await;
        Ok(())
    }

    async fn store_some(&self, changes: &[CheckedChange]) -> Result<(), DbErr> {
        let log: Vec<_> = changes.iter().map(logged).collect();
        self.execute(sql_file!(self.dialect, "import_changes"), json(&log)).await?;
        let last: HashMap<ItemId, &CheckedChange> =
            changes.iter().map(|change| (change.record.item, change)).collect();
        let (gone, left): (Vec<_>, Vec<_>) =
            last.into_values().partition(|change| change.record.kind == WriteOperation::Delete);
        let gone: Vec<_> = gone.into_iter().map(|change| change.record.item).collect();
        if !left.is_empty() {
            let items: Vec<_> = left.into_iter().map(|change| item(change, &gone)).collect();
            self.execute(sql_file!(self.dialect, "import_items"), json(&items)).await?;
        }
        if !gone.is_empty() {
            let gone = listed(gone.into_iter());
            self.execute(sql_file!(self.dialect, "import_detach"), gone.clone()).await?;
            self.execute(sql_file!(self.dialect, "import_delete"), gone).await?;
        }
        Ok(())
    }

    async fn count(&self) -> Result<(), DbErr> {
        let is_postgres = self.dialect.backend == DbBackend::Postgres;
        if is_postgres {
            self.transaction.execute_unprepared(sql_file!("postgres/import_analyze")).await?;
        }
        self.execute(sql_file!("both/import_totals"), Uuid::nil().into()).await?;
        if is_postgres {
            self.transaction.execute_unprepared(sql_file!("postgres/import_end")).await?;
        }
        Ok(())
    }

    async fn execute(&self, text: &str, value: Value) -> Result<(), DbErr> {
        self.transaction.execute_raw(self.dialect.statement(text, [value])).await.map(drop)
    }
}

/// A row of `changes`, a parameter of `import_changes.sql`.
#[derive(Serialize)]
struct ChangeRow<'a> {
    sequence: i64,
    collection: &'a str,
    item_id: Uuid,
    version: i64,
    kind: &'a str,
    time: i64,
    caller: Option<&'a str>,
    acting: Option<&'a str>,
    client: Option<&'a str>,
    request_id: Option<&'a str>,
    parent: Option<Uuid>,
    continues: Option<Uuid>,
    members: Option<&'a str>,
    removed_at: Option<i64>,
}

/// A row of `items`, a parameter of `import_items.sql`.
#[derive(Serialize)]
struct ItemRow<'a> {
    id: Uuid,
    collection: &'a str,
    parent: Option<Uuid>,
    version: i64,
    sequence: i64,
    created_at: i64,
    updated_at: i64,
    created_by: Option<&'a str>,
    continues: Option<Uuid>,
    reference_0: Option<Uuid>,
    key_1: Option<String>,
    key_2: Option<String>,
    key_3: Option<String>,
    key_4: Option<String>,
    key_5: Option<String>,
}

fn logged(CheckedChange { record, .. }: &CheckedChange) -> ChangeRow<'_> {
    let ChangeAuthor { caller, acting, client, request_id } = &record.author;
    ChangeRow {
        sequence: record.sequence.0,
        collection: record.collection.name(),
        item_id: record.item.uuid(),
        version: record.version.number(),
        kind: record.kind.change_name(),
        time: record.time.as_microsecond(),
        caller: caller.as_deref(),
        acting: acting.as_deref(),
        client: client.as_deref(),
        request_id: request_id.as_deref(),
        parent: record.parent.map(ItemId::uuid),
        continues: record.continues.map(ItemId::uuid),
        members: record.members.as_deref(),
        removed_at: record.removed_at.map(Timestamp::as_microsecond),
    }
}

/// The row of an item after its last change. Items below a deleted one are deleted next.
fn item<'a>(
    CheckedChange { record, created_at, created_by }: &'a CheckedChange,
    gone: &[ItemId],
) -> ItemRow<'a> {
    // A version without a body is not the last one, and its item's columns are filled by that.
    let members = record.members.as_deref().unwrap_or("{}");
    let reference_0 = references::column(&record.collection.references_in(members));
    let [key_1, key_2, key_3, key_4, key_5] =
        Keys::of(record.collection, members).columns().clone();
    ItemRow {
        id: record.item.uuid(),
        collection: record.collection.name(),
        parent: record.parent.filter(|parent| !gone.contains(parent)).map(ItemId::uuid),
        version: record.version.number(),
        sequence: record.sequence.0,
        created_at: created_at.as_microsecond(),
        updated_at: record.time.as_microsecond(),
        created_by: created_by.as_deref(),
        continues: record.continues.map(ItemId::uuid),
        reference_0,
        key_1,
        key_2,
        key_3,
        key_4,
        key_5,
    }
}

/// Fails unless [`ImportTransaction::begin`] would take the store. Creates and changes nothing.
pub(super) async fn check_is_empty(options: &StoreOptions) -> Result<(), TransferError> {
    let connection = match connect_to_look(options).await {
        // It would be created.
        Err(StoreError::Missing(_)) => return Ok(()),
        connected => connected?,
    };
    let is_prepared = is_up_to_date(&connection, Access::Write).await?;
    if is_prepared && is_written(&connection).await? {
        return Err(TransferError::NotEmpty);
    }
    Ok(())
}

/// Returns whether the database contains a change.
async fn is_written(connection: &impl ConnectionTrait) -> Result<bool, TransferError> {
    let dialect = Dialect::of(connection.get_database_backend());
    let last = connection.query_one_raw(last_statement(dialect)).await;
    Ok(last.and_then(last_of).map_err(TransferError::at(STEP))? > 0)
}
