//! Opening, preparing and closing a store.

use std::fmt;
use std::sync::Arc;

use application::ports::{
    CallerDirectory, ChangeLog, ContentRegister, History, ItemRepository, Readiness, Result,
    SessionStore, StandbyStore, Standbys, VersionBodies,
};
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use sea_orm::DbBackend;

use crate::callers::SqlCallerDirectory;
use crate::engine::{Database, WriteEngine};
use crate::error::{StoreError, read_only};
use crate::migration::runner::Runner;
use crate::migration::schema_version::{self, Access};
use crate::options::{ReplicaOptions, StoreOptions};
use crate::postgres::Postgres;
use crate::read::high_water_mark::HighWaterMark;
use crate::read::past::PastReads;
use crate::read::reads::Reads;
use crate::replicas::{Replicas, open_standbys};
use crate::repository::SqlItemRepository;
use crate::search_index::indexer::Indexer;
use crate::sql::dialect::POSTGRES;
use crate::sqlite::Sqlite;
use crate::sqlite::readers::SqliteReaders;
use crate::transfer::connect_to_look;
use crate::write::writes::Writes;

/// An open store. Clones share it.
#[derive(Clone)]
pub struct Store {
    pub(crate) database: Database,
    items: Arc<SqlItemRepository>,
    past: Arc<PastReads>,
    callers: Arc<SqlCallerDirectory>,
    indexer: Arc<Indexer>,
    replicas: Option<Arc<Replicas>>,
}

impl Store {
    /// Opens the store, which may still have to be [migrated](Self::migrate). If the URL says
    /// `mode=rwc`, the folder of an SQLite file is created.
    ///
    /// # Errors
    /// If the URL is invalid, or the database cannot be reached.
    pub async fn connect(options: &StoreOptions) -> Result<Self, StoreError> {
        let database = match options.backend()? {
            DbBackend::Sqlite => Database::new(Sqlite::open(options).await?),
            _ => Database::new(Postgres::open(options).await?),
        };
        Ok(Self::on(database))
    }

    /// Opens the store for reading while another process may serve it; `None` if its schema is not
    /// up to date. On SQLite, where another process may own the file, writes fail as unavailable.
    ///
    /// # Errors
    /// If the URL is invalid, or the database cannot be reached.
    pub async fn connect_to_look(options: &StoreOptions) -> Result<Option<Self>, StoreError> {
        let schema = connect_to_look(options).await?;
        let is_up_to_date = schema_version::is_up_to_date(&schema, Access::Read).await?;
        // The connection only read, so a failure has no consequence.
        let _ = schema.close().await;
        if !is_up_to_date {
            return Ok(None);
        }
        match options.backend()? {
            DbBackend::Sqlite => {
                let reader = SqliteReaders::open(options).await?;
                Ok(Some(Self::on(Database::read_only(Arc::new(reader)))))
            }
            _ => Self::connect(options).await.map(Some),
        }
    }

    /// Starts the task that indexes, unless the database is only read.
    fn on(database: Database) -> Self {
        let high_water_mark = Arc::new(HighWaterMark::new(Arc::clone(&database.reader)));
        let indexer = match database.writer() {
            Ok(writer) => Indexer::start(Arc::clone(writer), Arc::clone(&high_water_mark)),
            Err(_) => Indexer::none(Arc::clone(&database.reader)),
        };
        let (reader, mark) = (Arc::clone(&database.reader), Arc::clone(&high_water_mark));
        let reads = Reads::new(reader, mark, Arc::clone(&indexer));
        let writes = database.writer().ok();
        let writes = writes.map(|writer| Writes::new(Arc::clone(writer), Arc::clone(&indexer)));
        let items = Arc::new(SqlItemRepository { reads, writes });
        let past = Arc::new(PastReads::new(Arc::clone(&database.reader), high_water_mark));
        let callers = Arc::new(SqlCallerDirectory::new(database.clone()));
        Self { database, items, past, callers, indexer, replicas: None }
    }

    fn on_standby(database: Database) -> StandbyStore {
        let standby = Self::on(database);
        StandbyStore { items: standby.items(), history: standby.history() }
    }

    pub(crate) fn writer(&self) -> Result<&Arc<dyn WriteEngine>, StoreError> {
        self.database.writer().map_err(|_| StoreError::Database(read_only()))
    }

    /// Begins to watch standbys, if there are any, which are read when the schema is up to date.
    ///
    /// # Errors
    /// If a URL is invalid, or the store is not on PostgreSQL.
    pub fn with_replicas(
        mut self,
        options: &StoreOptions,
        replicas: &ReplicaOptions,
    ) -> Result<Self, StoreError> {
        if replicas.urls.trim().is_empty() {
            return Ok(self);
        }
        if self.engine_name() != POSTGRES.name {
            return Err(StoreError::NoReplicas);
        }
        let past = Arc::clone(&self.past);
        let standbys = open_standbys(self.writer()?, options, &replicas.urls, Self::on_standby)?;
        self.replicas = Some(Replicas::start(self.writer()?, past, standbys, replicas.max_lag));
        Ok(self)
    }

    /// Adds the tables and columns of this version. Of concurrent instances one does the work, the
    /// others wait for it. Existing rows are [filled in](Self::fill_in) afterwards.
    ///
    /// # Errors
    /// If the database refuses, is too new, or a running service is too old for the new schema.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        Runner(&**self.writer()?).expand().await?;
        self.writer()?.check_schema().await?;
        self.resume().await
    }

    /// Fills in the new columns of all rows, while others use the store.
    ///
    /// # Errors
    /// If the database refuses for a minute; completed work is kept.
    pub async fn fill_in(&self) -> Result<(), StoreError> {
        Runner(&**self.writer()?).fill_in().await
    }

    /// Removes the parts that only older versions use. Returns the number of migrations.
    ///
    /// # Errors
    /// If the database refuses, the schema is not expanded, or an older service runs.
    pub async fn contract(&self) -> Result<usize, StoreError> {
        Runner(&**self.writer()?).contract().await
    }

    /// Returns whether nothing is left to [migrate](Self::migrate).
    ///
    /// # Errors
    /// If the database cannot be asked, or a newer version of the service prepared it.
    pub async fn is_migrated(&self) -> Result<bool, StoreError> {
        let writer = self.writer()?;
        let is_migrated = schema_version::is_up_to_date(writer.schema(), Access::Write).await?;
        if is_migrated {
            schema_version::check_tables(writer.schema()).await?;
            writer.check_schema().await?;
            self.resume().await?;
        }
        Ok(is_migrated)
    }

    /// Reads the history's id, and continues the indexing that an earlier process left incomplete.
    async fn resume(&self) -> Result<(), StoreError> {
        self.writer()?.begin_history().await?;
        self.indexer.written(1);
        Ok(())
    }

    pub fn engine_name(&self) -> &'static str {
        self.database.reader.dialect().name
    }

    pub fn items(&self) -> Arc<dyn ItemRepository> {
        Arc::<SqlItemRepository>::clone(&self.items)
    }

    pub fn change_log(&self) -> Arc<dyn ChangeLog> {
        Arc::<PastReads>::clone(&self.past)
    }

    pub fn history(&self) -> Arc<dyn History> {
        Arc::<PastReads>::clone(&self.past)
    }

    pub fn version_bodies(&self) -> Arc<dyn VersionBodies> {
        Arc::new(self.database.clone())
    }

    pub fn content_register(&self) -> Arc<dyn ContentRegister> {
        Arc::new(self.database.clone())
    }

    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(self.database.clone())
    }

    pub fn callers(&self) -> Arc<dyn CallerDirectory> {
        Arc::<SqlCallerDirectory>::clone(&self.callers)
    }

    pub fn standbys(&self) -> Option<Arc<dyn Standbys>> {
        self.replicas.clone().map(|replicas| replicas as Arc<dyn Standbys>)
    }

    /// Deletes the idempotency keys that have expired. Returns their number.
    ///
    /// # Errors
    /// If the store is unavailable; some may be deleted then.
    pub async fn forget_requests(&self, now: Timestamp) -> Result<u64> {
        self.items.writes()?.forget_requests(now).await
    }

    /// Warns in the log if stored times are ahead of the clock; `now` is the time of this machine.
    pub async fn warn_of_times_ahead(&self, now: Timestamp) {
        if let Ok(writes) = self.items.writes() {
            writes.warn_of_times_ahead(now).await;
        }
    }

    pub fn readiness(&self) -> Arc<dyn Readiness> {
        Arc::<SqlItemRepository>::clone(&self.items)
    }

    /// Waits until all writes are indexed for searches, which happens after a while in any case.
    ///
    /// # Errors
    /// If the store is unavailable, or it takes longer than a search would wait.
    pub async fn wait_until_indexed(&self) -> Result<()> {
        self.indexer.wait_until_indexed().await
    }

    /// Waits for the accepted writes, then closes all connections. Later calls fail as unavailable.
    pub async fn close(self) {
        if let Some(replicas) = &self.replicas {
            replicas.close().await;
        }
        self.indexer.close().await;
        self.database.reader.close().await;
    }
}

impl Collector for Store {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let system = self.engine_name().to_ascii_lowercase();
        self.database.reader.metrics().encode(&system, &mut encoder)?;
        if let Ok(writer) = self.database.writer() {
            writer.encode(&mut encoder)?;
        }
        self.items.reads.encode(&mut encoder)?;
        match &self.replicas {
            Some(replicas) => replicas.encode(&mut encoder),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Store").finish_non_exhaustive()
    }
}
