//! The port [`Maintenance`]: each method opens the store for itself.

use std::path::Path;

use application::maintenance::{
    BackupProgress, ChangeRecord, CheckedChange, CollectionSummary, HistoryImport, HistoryReader,
    HistoryValidator, Maintenance, MaintenanceError, OpenStore,
};
use application::{RepositoryError, Sequence};
use async_trait::async_trait;

use super::CopyError;
use super::backup::back_up;
use super::history_validator::SqliteHistoryValidator;
use super::import::{Import, check_is_empty};
use super::log_reader::LogReader;
use crate::{Store, StoreError, StoreOptions};

#[async_trait]
impl Maintenance for StoreOptions {
    async fn migrate(&self) -> Result<(), MaintenanceError> {
        let store = Store::connect(self).await?;
        let migrated = store.migrate().await;
        store.close().await;
        Ok(migrated?)
    }

    fn back_up(&self, to: &Path, report: &dyn Fn(BackupProgress)) -> Result<(), MaintenanceError> {
        Ok(back_up(&self.url, to, report)?)
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

impl HistoryReader for LogReader {
    fn last(&self) -> Sequence {
        self.last()
    }

    fn next_batch(&mut self) -> Option<Result<Vec<ChangeRecord>, MaintenanceError>> {
        self.next_blocking().map(|batch| Ok(batch?))
    }
}

impl HistoryValidator for SqliteHistoryValidator {
    fn check(
        &mut self,
        line: u64,
        record: ChangeRecord,
    ) -> Result<Result<CheckedChange, String>, MaintenanceError> {
        Ok(self.check(line, record)?.map_err(|error| error.to_string()))
    }

    fn orphans(&self, limit: usize) -> Result<Vec<(u64, String)>, MaintenanceError> {
        let orphans = self.left_behind(limit)?.into_iter();
        Ok(orphans.map(|(line, error)| (line, error.to_string())).collect())
    }

    fn summary(&self) -> Result<Vec<CollectionSummary>, MaintenanceError> {
        Ok(self.summary()?)
    }
}

#[async_trait]
impl HistoryImport for Import {
    async fn store(&mut self, changes: Vec<CheckedChange>) -> Result<(), MaintenanceError> {
        Ok(self.store(changes).await?)
    }

    async fn commit(self: Box<Self>) -> Result<(), MaintenanceError> {
        Ok((*self).commit().await?)
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
        use StoreError::{InMemory, InvalidUrl, UnknownScheme};
        match error {
            UnknownScheme | InvalidUrl(_) | InMemory => Self::InvalidOptions(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<CopyError> for MaintenanceError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Store(error) => error.into(),
            CopyError::NotAFile => Self::InvalidOptions(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
