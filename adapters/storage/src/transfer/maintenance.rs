//! The port [`Maintenance`]: each method opens the store for itself.

use std::path::Path;

use application::RepositoryError;
use application::maintenance::{
    BackupProgress, HistoryImport, HistoryReader, HistoryValidator, Maintenance, MaintenanceError,
    MigrationStep, OpenStore,
};
use async_trait::async_trait;
use jiff::Timestamp;

use super::backup::back_up;
use super::erasure::erase;
use super::history_id::renew;
use super::history_validator::SqliteHistoryValidator;
use super::import::{Import, check_is_empty};
use super::log_reader::LogReader;
use crate::{Store, StoreError, StoreOptions};

#[async_trait]
impl Maintenance for StoreOptions {
    async fn migrate(&self) -> Result<(), MaintenanceError> {
        let store = Store::connect(self).await?;
        let migrated = match store.migrate().await {
            Ok(()) => store.fill_in().await,
            failed => failed,
        };
        store.close().await;
        Ok(migrated?)
    }

    async fn contract(&self) -> Result<usize, MaintenanceError> {
        let store = Store::connect(self).await?;
        let contracted = store.contract().await;
        store.close().await;
        Ok(contracted?)
    }

    async fn migration_plan(&self) -> Result<Vec<MigrationStep>, MaintenanceError> {
        let store = Store::open_to_look(self).await?;
        let plan = store.plan().await;
        store.close().await;
        Ok(plan?)
    }

    fn back_up(&self, to: &Path, report: &dyn Fn(BackupProgress)) -> Result<(), MaintenanceError> {
        Ok(back_up(&self.url, to, report)?)
    }

    async fn renew_history(&self) -> Result<(), MaintenanceError> {
        Ok(renew(&self.url)?)
    }

    async fn erase_caller(&self, id: &str, time: Timestamp) -> Result<bool, MaintenanceError> {
        Ok(erase(self, id, time).await?)
    }

    async fn read_history(&self) -> Result<Box<dyn HistoryReader>, MaintenanceError> {
        Ok(Box::new(LogReader::open(self).await?))
    }

    fn validate_history(&self) -> Result<Box<dyn HistoryValidator>, MaintenanceError> {
        Ok(Box::new(SqliteHistoryValidator::new()?))
    }

    async fn check_is_empty(&self) -> Result<(), MaintenanceError> {
        Ok(check_is_empty(self).await?)
    }

    async fn begin_import(&self) -> Result<Box<dyn HistoryImport>, MaintenanceError> {
        Ok(Box::new(Import::begin(self).await?))
    }
}

#[async_trait]
impl OpenStore for Store {
    async fn wait_until_indexed(&self) -> Result<(), RepositoryError> {
        self.wait_until_indexed().await
    }

    async fn close(self: Box<Self>) {
        (*self).close().await;
    }
}

impl From<StoreError> for MaintenanceError {
    fn from(error: StoreError) -> Self {
        use StoreError::{InMemory, InvalidUrl, NoReplicas, ReplicaUrl, UnknownScheme};
        match error {
            UnknownScheme | InvalidUrl(_) | InMemory | ReplicaUrl(_) | NoReplicas => {
                Self::InvalidOptions(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}
