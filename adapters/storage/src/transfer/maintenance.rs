//! Operations on a whole store: each opens the store for itself.

use std::path::Path;

use jiff::Timestamp;

use super::backup::back_up;
use super::erasure::erase;
use super::history_id::renew;
use super::import::check_is_empty;
use super::{TransferError, connect_to_look};
use crate::migration::plan::{self, MigrationStep};
use crate::{Store, StoreError, StoreOptions};

impl StoreOptions {
    /// [Expands](Store::migrate) the schema and [fills it in](Store::fill_in).
    ///
    /// # Errors
    /// As of these.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let store = Store::connect(self).await?;
        let migrated = match store.migrate().await {
            Ok(()) => store.fill_in().await,
            failed => failed,
        };
        store.close().await;
        migrated
    }

    /// [Contracts](Store::contract) the schema, and returns how many migrations did.
    ///
    /// # Errors
    /// Where an older service runs, or the database refuses.
    pub async fn contract(&self) -> Result<usize, StoreError> {
        let store = Store::connect(self).await?;
        let contracted = store.contract().await;
        store.close().await;
        contracted
    }

    /// Returns the steps of migrations that are left. Changes nothing.
    ///
    /// # Errors
    /// Where the database cannot be asked.
    pub async fn migration_plan(&self) -> Result<Vec<MigrationStep>, StoreError> {
        plan::steps(&connect_to_look(self).await?).await
    }

    /// Backs up the store's file as of one moment into the empty file at `to`. Other processes may
    /// write meanwhile. Reports the copied and the total bytes. Blocks. The caller flushes the copy to
    /// the disk.
    ///
    /// # Errors
    /// If the store is not a file, it cannot be read, or the copy cannot be written.
    pub fn back_up(&self, to: &Path, report: &dyn Fn(u64, u64)) -> Result<(), TransferError> {
        back_up(&self.url, to, report)
    }

    /// Gives the store a new history: entity tags and cursors of the old one do not match in it. For a
    /// file that was copied byte by byte.
    ///
    /// # Errors
    /// Where a service has the file open.
    pub fn renew_history(&self) -> Result<(), TransferError> {
        renew(&self.url)
    }

    /// Erases the display name of a caller, and keeps none from now on, also while another process
    /// serves the store; that one does not return the name a minute later. Returns whether a name was
    /// known until now.
    ///
    /// # Errors
    /// Where the database refuses.
    pub async fn erase_caller(&self, id: &str, time: Timestamp) -> Result<bool, TransferError> {
        erase(self, id, time).await
    }

    /// Fails unless [`ImportTransaction`](super::ImportTransaction) would accept the store. Creates and changes nothing.
    ///
    /// # Errors
    /// Where the store is not empty, or cannot be read.
    pub async fn check_is_empty(&self) -> Result<(), TransferError> {
        check_is_empty(self).await
    }
}
