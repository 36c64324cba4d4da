//! Stores a history in an empty store in one transaction. The totals are counted at the end. The
//! full-text index follows when the service starts.

use std::collections::HashMap;

use application::ChangeAuthor;
use domain::{ItemId, WriteOperation};
use jiff::Timestamp;
use sea_orm::prelude::Uuid;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, Value};
use serde_json::json;

use super::change_record::CheckedChange;
use super::connect_to_look;
use crate::error::DbResult;
use crate::migration::runner::Runner;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::Keys;
use crate::sql::sql_text::{json as parameter, listed};
use crate::sql::{change_log, references};
use crate::{Store, StoreError, StoreOptions};

/// Changes of a statement.
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
    /// Prepares the schema and begins. Until the end, no other process prepares or writes it.
    pub async fn begin(options: &StoreOptions) -> Result<Self, StoreError> {
        let store = Store::connect(options).await?;
        let engine = store.writer()?;
        Runner(&**engine).expand().await?;
        let dialect = engine.dialect();
        let lock = engine.lock_schema().await?;
        let transaction = engine.begin_migration().await?;
        if dialect.backend == DbBackend::Postgres {
            transaction.execute_unprepared(sql_file!("postgres/transfer/import_begin")).await?;
        }
        if change_log::last(&transaction).await?.0 > 0 {
            return Err(StoreError::NotEmpty);
        }
        Ok(Self { transaction, dialect, store, lock })
    }

    pub async fn store(&mut self, changes: &[CheckedChange]) -> Result<(), StoreError> {
        for changes in changes.chunks(CHANGES) {
            let log: Vec<_> = changes.iter().map(change_row).collect();
            self.execute(sql_file!(self.dialect, "transfer/import_changes"), parameter(&log))
                .await?;
            let last: HashMap<ItemId, &CheckedChange> =
                changes.iter().map(|change| (change.record.item, change)).collect();
            let (gone, left): (Vec<_>, Vec<_>) =
                last.into_values().partition(|change| change.record.kind == WriteOperation::Delete);
            let gone: Vec<_> = gone.into_iter().map(|change| change.record.item).collect();
            let items: Vec<_> = left.into_iter().map(|change| item_row(change, &gone)).collect();
            self.execute(sql_file!(self.dialect, "transfer/import_items"), parameter(&items))
                .await?;
            let gone = listed(gone.into_iter());
            self.execute(sql_file!(self.dialect, "transfer/import_detach"), gone.clone()).await?;
            self.execute(sql_file!(self.dialect, "transfer/import_delete"), gone).await?;
        }
        Ok(())
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        let is_postgres = self.dialect.backend == DbBackend::Postgres;
        if is_postgres {
            self.transaction
                .execute_unprepared(sql_file!("postgres/transfer/import_analyze"))
                .await?;
        }
        self.execute(sql_file!("both/transfer/import_totals"), Uuid::nil().into()).await?;
        if is_postgres {
            self.transaction.execute_unprepared(sql_file!("postgres/transfer/import_end")).await?;
        }
        let Self { transaction, store, lock, .. } = self;
        transaction.commit().await?;
        drop(lock);
        store.close().await;
        Ok(())
    }

    async fn execute(&self, text: &str, value: Value) -> DbResult<()> {
        self.transaction.execute_raw(self.dialect.statement(text, [value])).await.map(drop)
    }
}

impl StoreOptions {
    /// Fails unless [`ImportTransaction::begin`] would accept the store. Changes nothing.
    pub async fn check_is_empty(&self) -> Result<(), StoreError> {
        let connection = match connect_to_look(self).await {
            // It would be created.
            Err(StoreError::Missing(_)) => return Ok(()),
            connected => connected?,
        };
        if is_up_to_date(&connection, Access::Write).await?
            && change_log::last(&connection).await?.0 > 0
        {
            return Err(StoreError::NotEmpty);
        }
        Ok(())
    }
}

/// A row of `changes`, for `transfer/import_changes.sql`.
fn change_row(CheckedChange { record, .. }: &CheckedChange) -> serde_json::Value {
    let ChangeAuthor { caller, acting, client, request_id } = &record.author;
    json!({
        "sequence": record.sequence.0,
        "collection": record.collection.name(),
        "item_id": record.item.uuid(),
        "version": record.version.number(),
        "kind": record.kind.change_name(),
        "time": record.time.as_microsecond(),
        "caller": caller,
        "acting": acting,
        "client": client,
        "request_id": request_id,
        "parent": record.parent.map(ItemId::uuid),
        "continues": record.continues.map(ItemId::uuid),
        "members": record.members.as_deref(),
        "removed_at": record.removed_at.map(Timestamp::as_microsecond),
    })
}

/// A row for `transfer/import_items.sql`. Items below a deleted one are deleted next.
fn item_row(
    CheckedChange { record, created_at, created_by }: &CheckedChange,
    gone: &[ItemId],
) -> serde_json::Value {
    // A version without a body is not the last one, and its item's columns are filled by that.
    let members = record.members.as_deref().unwrap_or("{}");
    let reference_0 = references::column(&record.collection.references_in(members));
    let keys = Keys::of(record.collection, members);
    let [key_1, key_2, key_3, key_4, key_5] = keys.columns();
    json!({
        "id": record.item.uuid(),
        "collection": record.collection.name(),
        "parent": record.parent.filter(|parent| !gone.contains(parent)).map(ItemId::uuid),
        "version": record.version.number(),
        "sequence": record.sequence.0,
        "created_at": created_at.as_microsecond(),
        "updated_at": record.time.as_microsecond(),
        "created_by": created_by,
        "continues": record.continues.map(ItemId::uuid),
        "reference_0": reference_0,
        "key_1": key_1,
        "key_2": key_2,
        "key_3": key_3,
        "key_4": key_4,
        "key_5": key_5,
    })
}
