//! Storing a history in an empty store, as if it had been written there: in one transaction, so
//! whole or not at all.
//!
//! Items follow the changes one by one, because each change keeps what the item was before. The
//! totals are counted at the end, from what was stored. The full-text index follows by itself when
//! the service is started, as after any write.

use application::maintenance::CheckedChange;
use async_trait::async_trait;
use domain::ItemId;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::postgres_import::PostgresImport;
use super::sqlite_import::SqliteImport;
use super::{CopyError, looking_at};
use crate::postgres::single_connection;
use crate::sql::dialect::{Dialect, POSTGRES, SQLITE};
use crate::sqlite::named_file;
use crate::{Store, StoreError, StoreOptions};

/// A query that has a row when something was written.
pub(super) const WRITTEN: &str = "SELECT 1 FROM changes UNION ALL SELECT 1 FROM items LIMIT 1";

pub(super) const STEP: &str = "store the changes";

/// What the engines do in their own ways, all in one transaction, which a target that is dropped
/// takes back.
#[async_trait]
pub(super) trait Target: Send {
    /// Stores changes after those before them.
    async fn store(&mut self, changes: Vec<CheckedChange>) -> Result<(), CopyError>;

    /// Counts, and makes everything last.
    async fn commit(self: Box<Self>) -> Result<(), CopyError>;
}

/// An import under way. Dropped before its commit it leaves nothing.
pub(super) struct Import {
    target: Box<dyn Target>,
    store: Store,
}

impl Import {
    /// Prepares the store's schema and begins the transaction. Nobody else writes to the store
    /// until it ends: on `SQLite` nobody opens the file, on `PostgreSQL` others wait for the
    /// commit lock.
    ///
    /// # Errors
    /// Where the store cannot be opened or prepared, or is not empty.
    pub async fn begin(options: &StoreOptions) -> Result<Self, CopyError> {
        let store = Store::connect(options).await?;
        store.bring_up_to_date().await.map_err(|error| StoreError::schema(&error))?;
        let target: Box<dyn Target> = if options.url.starts_with("sqlite:") {
            Box::new(SqliteImport::begin(&named_file(&options.url)?)?)
        } else {
            Box::new(PostgresImport::begin(store.engine().schema()).await?)
        };
        Ok(Self { target, store })
    }

    /// Stores changes after those before them.
    ///
    /// # Errors
    /// When the database fails; the import is then to be dropped.
    pub async fn store(&mut self, changes: Vec<CheckedChange>) -> Result<(), CopyError> {
        self.target.store(changes).await
    }

    /// Makes everything last, and closes the store.
    ///
    /// # Errors
    /// When the database fails; nothing was stored then.
    pub async fn commit(self) -> Result<(), CopyError> {
        let committed = self.target.commit().await;
        self.store.close().await;
        committed
    }
}

/// Makes sure that a store is one that [`Import::begin`] would take, and neither makes nor changes
/// anything.
///
/// # Errors
/// Where the store cannot be reached, or is not empty.
pub(super) async fn check_is_empty(options: &StoreOptions) -> Result<(), CopyError> {
    let is_written = match options.url.split_once(':') {
        Some(("sqlite", _)) => is_file_written(&options.url)?,
        Some(("postgres" | "postgresql", _)) => is_database_written(options).await?,
        _ => return Err(StoreError::UnknownScheme.into()),
    };
    if is_written { Err(CopyError::NotEmpty) } else { Ok(()) }
}

fn is_file_written(url: &str) -> Result<bool, CopyError> {
    let connection = match looking_at(&named_file(url)?) {
        // It would be made.
        Err(CopyError::Store(StoreError::Missing(_))) => return Ok(false),
        opened => opened?,
    };
    let finds = |text: &str| {
        connection
            .prepare(text)
            .and_then(|mut statement| statement.exists([]))
            .map_err(CopyError::sqlite(STEP))
    };
    Ok(finds(SQLITE.has_log)? && finds(WRITTEN)?)
}

async fn is_database_written(options: &StoreOptions) -> Result<bool, CopyError> {
    let connection = single_connection(options).await?;
    let finds = async |text: &str| {
        let found = connection.query_all_raw(POSTGRES.statement(text, [])).await;
        found.map(|rows| !rows.is_empty()).map_err(CopyError::sea(STEP))
    };
    Ok(finds(POSTGRES.has_log).await? && finds(WRITTEN).await?)
}

/// Counts every scope from what is stored. The writes to what belongs to an item begin anew when
/// the item is deleted, with those that went with it; and then they count only if it exists again.
pub(super) fn count_totals(dialect: &Dialect) -> String {
    format!(
        "INSERT INTO collection_totals (collection, parent, items, writes) \
         SELECT c.collection, {nil}, (SELECT COUNT(*) FROM items i WHERE i.collection = c.collection), COUNT(*) \
         FROM changes c GROUP BY c.collection \
         UNION ALL SELECT c.collection, c.parent, \
         (SELECT COUNT(*) FROM items i WHERE i.parent = c.parent AND i.collection = c.collection), COUNT(*) \
         FROM changes c WHERE c.parent IS NOT NULL GROUP BY c.collection, c.parent",
        nil = dialect.nil,
    )
}

/// An identifier as the engines take it.
pub(super) fn uuid(id: Option<ItemId>) -> Option<Uuid> {
    id.map(ItemId::uuid)
}
