//! Storing a history in an empty store, as if it had been written there: in one transaction, so
//! whole or not at all.
//!
//! The totals are counted at the end, from
//! what was stored. The full-text index follows by itself when the service is started, as after any
//! write.

use std::collections::HashMap;

use domain::ItemId;
use domain::WriteOperation;
use jiff::Timestamp;
use sea_orm::prelude::Uuid;
use sea_orm::sea_query::{Expr, ExprTrait, InsertStatement, OnConflict, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, EntityTrait, Iterable,
    QueryFilter, Value,
};

use super::change_record::CheckedChange;
use super::{TransferError, connect_to_look};
use crate::entities::{change, item};
use crate::migration::runner::Runner;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::Keys;
use crate::sql::references;
use crate::{Store, StoreError, StoreOptions};

const STEP: &str = "store the changes";

/// The number of changes in a statement. Each change has many parameters, and the engines limit the
/// parameters of a statement.
const CHANGES: usize = 64;

/// The engine's own statements before the changes are stored, before the totals are counted, and
/// before the commit.
struct Preparation {
    storing: &'static str,
    counting: &'static str,
    commit: &'static str,
}

/// As much is sorted in memory at a time as there may be pages.
const SQLITE: Preparation =
    Preparation { storing: "", counting: "PRAGMA cache_size = -2048", commit: "" };

/// The plans find items by their identifiers only, even while the tables are small. Before the
/// totals are counted, `ANALYZE` updates the statistics of the planner; otherwise the count and the
/// first reads of the service would be slow. New numbers and times continue after the imported ones.
const POSTGRES: Preparation = Preparation {
    storing: "SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE write_fence IN EXCLUSIVE MODE; \
              SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off",
    counting: "SET LOCAL enable_seqscan = DEFAULT; SET LOCAL enable_hashjoin = DEFAULT; SET LOCAL enable_mergejoin = DEFAULT; \
                      ANALYZE items, changes",
    commit: "SELECT setval(pg_get_serial_sequence('changes', 'sequence'), MAX(sequence)), \
                    setval('write_clock', greatest((SELECT last_value FROM write_clock), MAX(time))) FROM changes HAVING COUNT(*) > 0",
};

/// An import in progress. Dropping it before its commit rolls it back.
pub struct ImportTransaction {
    transaction: DatabaseTransaction,
    dialect: &'static Dialect,
    preparation: Preparation,
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
        let preparation = if dialect.backend == DbBackend::Sqlite { SQLITE } else { POSTGRES };
        let prepared = transaction.execute_unprepared(preparation.storing).await;
        prepared.map_err(TransferError::at(STEP))?;
        if is_written(&transaction).await? {
            return Err(TransferError::NotEmpty);
        }
        Ok(Self { transaction, dialect, preparation, store, lock })
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
        let Self { transaction, dialect, preparation, store, lock } = self;
        let Preparation { counting, commit, .. } = preparation;
        for text in [counting, &count_totals(dialect), commit] {
            transaction.execute_unprepared(text).await.map_err(TransferError::at(STEP))?;
        }
        transaction.commit().await.map_err(TransferError::at(STEP))?;
        drop(lock);
        store.close().await;
        Ok(())
    }

    async fn store_some(&self, changes: &[CheckedChange]) -> Result<(), DbErr> {
        self.execute(&self.log(changes)?).await?;
        let last: HashMap<ItemId, &CheckedChange> =
            changes.iter().map(|change| (change.record.item, change)).collect();
        let (gone, left): (Vec<_>, Vec<_>) =
            last.into_values().partition(|change| change.record.kind == WriteOperation::Delete);
        let gone: Vec<_> = gone.into_iter().map(|change| change.record.item.uuid()).collect();
        if !left.is_empty() {
            self.execute(&put(&left, &gone)?).await?;
        }
        if !gone.is_empty() {
            // What belongs to an item is deleted with it, but the log may tell of the item first.
            let children = item::Entity::update_many()
                .col_expr(item::Column::Parent, Expr::value(None::<Uuid>))
                .filter(item::Column::Parent.is_in(gone.iter().copied()));
            children.exec(&self.transaction).await?;
            let gone = item::Entity::delete_many().filter(item::Column::Id.is_in(gone));
            gone.exec(&self.transaction).await?;
        }
        Ok(())
    }

    async fn execute(&self, insert: &InsertStatement) -> Result<(), DbErr> {
        let statement = self.dialect.backend.build(insert);
        self.transaction.execute_raw(statement).await.map(drop)
    }

    fn log(&self, changes: &[CheckedChange]) -> Result<InsertStatement, DbErr> {
        let mut insert = Query::insert();
        insert.into_table(change::Entity).columns(change::Column::iter());
        for CheckedChange { record, .. } in changes {
            let members = Expr::value(record.members.as_deref().map(str::to_owned));
            let author = record.author.clone();
            let values = [
                record.sequence.0.into(),
                record.collection.name().into(),
                record.item.uuid().into(),
                record.version.number().into(),
                record.kind.change_name().into(),
                record.time.as_microsecond().into(),
                Expr::value(author.caller),
                Expr::value(author.acting),
                Expr::value(author.client),
                Expr::value(author.request_id),
                Expr::value(record.parent.map(ItemId::uuid)),
                Expr::value(record.continues.map(ItemId::uuid)),
                members.cast_as(self.dialect.json),
                Expr::value(record.removed_at.map(Timestamp::as_microsecond)),
            ];
            insert.values(values).map_err(unbuildable)?;
        }
        Ok(insert)
    }
}

/// Stores items as they are left. What belongs to an item that is gone is about to go.
fn put(left: &[&CheckedChange], gone: &[Uuid]) -> Result<InsertStatement, DbErr> {
    let mut insert = Query::insert();
    insert.into_table(item::Entity).columns(item::Column::iter());
    // An item keeps its identifier and its collection.
    let updated = item::Column::iter()
        .filter(|column| !matches!(column, item::Column::Id | item::Column::Collection));
    insert.on_conflict(OnConflict::column(item::Column::Id).update_columns(updated).to_owned());
    for CheckedChange { record, created_at, created_by } in left {
        // A version without a body is not the last one, and its item's columns are filled by that.
        let members = record.members.as_deref().unwrap_or("{}");
        let parent = record.parent.map(ItemId::uuid).filter(|parent| !gone.contains(parent));
        let values: [Value; 9] = [
            record.item.uuid().into(),
            record.collection.name().into(),
            parent.into(),
            record.version.number().into(),
            record.sequence.0.into(),
            created_at.as_microsecond().into(),
            record.time.as_microsecond().into(),
            created_by.clone().into(),
            record.continues.map(ItemId::uuid).into(),
        ];
        let references = references::values(&record.collection.references_in(members));
        let keys = Keys::of(record.collection, members);
        let values = values
            .into_iter()
            .chain(references.map(Value::from))
            .chain(keys.columns().iter().map(|key| key.clone().into()));
        insert.values(values.map(Expr::value)).map_err(unbuildable)?;
    }
    Ok(insert)
}

fn unbuildable(error: impl std::fmt::Display) -> DbErr {
    DbErr::Custom(error.to_string())
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

/// Returns whether the database contains an item or a change.
async fn is_written(connection: &impl ConnectionTrait) -> Result<bool, TransferError> {
    let failed = TransferError::at(STEP);
    let change = change::Entity::find().one(connection).await.map_err(&failed)?;
    let item = item::Entity::find().one(connection).await.map_err(&failed)?;
    Ok(change.is_some() || item.is_some())
}

/// Counts every scope from the stored items and changes, including those of removed parents.
fn count_totals(dialect: &Dialect) -> String {
    format!(
        "INSERT INTO totals (collection, parent, lane, items, writes) \
         SELECT c.collection, {nil}, 0, (SELECT COUNT(*) FROM items i WHERE i.collection = c.collection), COUNT(*) \
         FROM changes c GROUP BY c.collection \
         UNION ALL SELECT c.collection, c.parent, 0, \
         (SELECT COUNT(*) FROM items i WHERE i.parent = c.parent AND i.collection = c.collection), COUNT(*) \
         FROM changes c WHERE c.parent IS NOT NULL GROUP BY c.collection, c.parent",
        nil = dialect.nil,
    )
}
