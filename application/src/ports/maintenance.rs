//! Maintenance of a store as a whole: migration, backup, erasures, and the transfer of its history
//! into another store.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;
use thiserror::Error;

use super::{ChangeAuthor, RepositoryError, Sequence};

/// Maintains one store, which every method reaches by itself.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Adds to the schema what this version uses, and fills it in; older services MUST be able to go on
    /// meanwhile, or it fails. Any number of instances MAY do so at once, and what one that was
    /// interrupted did MUST NOT be done again.
    async fn migrate(&self) -> Result<(), MaintenanceError>;

    /// Takes away what only older versions use, and returns how many migrations did. MUST fail while a
    /// service runs that could not go on.
    async fn contract(&self) -> Result<usize, MaintenanceError>;

    /// Returns the steps of migrations that are left. MUST NOT change anything.
    async fn migration_plan(&self) -> Result<Vec<MigrationStep>, MaintenanceError>;

    /// Backs up the store's file into the empty file at `to` as it is at one moment, while others
    /// may go on writing; reports its progress. Blocks. The caller flushes the copy to the disk.
    ///
    /// # Errors
    /// Where there is no file to copy, it cannot be read, or the copy cannot be written.
    fn back_up(&self, to: &Path, report: &dyn Fn(BackupProgress)) -> Result<(), MaintenanceError>;

    /// Gives the store a new history: entity tags and cursors of the old one MUST NOT match in it. For a
    /// file that was copied byte by byte. MUST fail while a service has the file open.
    async fn renew_history(&self) -> Result<(), MaintenanceError>;

    /// Erases the display name of a caller, and keeps none from now on, also while another process
    /// serves the store; that one MUST NOT return the name a minute later. Returns whether a name was
    /// known until now.
    async fn erase_caller(&self, id: &str, time: Timestamp) -> Result<bool, MaintenanceError>;

    /// Reads the history of the store, which MUST be left as it is.
    async fn read_history(&self) -> Result<Box<dyn HistoryReader>, MaintenanceError>;

    /// Validates a history that is to be imported.
    ///
    /// # Errors
    /// Where there is no room for temporary files.
    fn validate_history(&self) -> Result<Box<dyn HistoryValidator>, MaintenanceError>;

    /// Fails unless [`Maintenance::begin_import`] would accept the store. MUST NOT create or change
    /// anything.
    async fn check_is_empty(&self) -> Result<(), MaintenanceError>;

    /// Prepares the schema and begins an import, which MUST fail unless the store is empty. Nobody
    /// else can write to the store until it ends.
    async fn begin_import(&self) -> Result<Box<dyn HistoryImport>, MaintenanceError>;
}

/// A step of a migration.
#[derive(Clone, Debug)]
pub struct MigrationStep {
    /// The name of the migration.
    pub migration: &'static str,
    /// `expand`, `backfill` or `contract`.
    pub phase: &'static str,
    /// The description of the step.
    pub action: String,
    /// The lock that is taken where several services share a database, and who waits for it.
    pub lock: &'static str,
    /// The seconds that it takes, roughly; `None` for a moment.
    pub seconds: Option<i64>,
}

/// Reads the changes of a store, from the first to the one that was the last at the beginning.
pub trait HistoryReader: Send {
    /// The number of the last change that is read.
    fn last(&self) -> Sequence;

    /// The next changes; `None` at the end. Blocks.
    fn next_batch(&mut self) -> Option<Result<Vec<ChangeRecord>, MaintenanceError>>;
}

/// Validates that changes can follow each other. Memory MUST NOT grow with their number. Blocks.
pub trait HistoryValidator: Send {
    /// Checks that a change can follow those before it, and otherwise tells the reason and how to
    /// fix it. The change counts in either case, so that one error is not reported on every line
    /// after it.
    ///
    /// # Errors
    /// Where there is no room for temporary files.
    fn check(
        &mut self,
        line: u64,
        record: ChangeRecord,
    ) -> Result<Result<CheckedChange, String>, MaintenanceError>;

    /// The items that exist without the item they belong to, or without a body: their lines and what is
    /// wrong, at most `limit`.
    ///
    /// # Errors
    /// Where temporary files cannot be read.
    fn incomplete_items(&self, limit: usize) -> Result<Vec<(u64, String)>, MaintenanceError>;

    /// Counts what was checked, by collection.
    ///
    /// # Errors
    /// Where temporary files cannot be read.
    fn summary(&self) -> Result<Vec<CollectionSummary>, MaintenanceError>;
}

/// An import under way: one transaction, which is rolled back when it is dropped.
#[async_trait]
pub trait HistoryImport: Send {
    /// Stores changes after those before them.
    async fn store(&mut self, changes: Vec<CheckedChange>) -> Result<(), MaintenanceError>;

    /// Commits everything, and closes the store.
    async fn commit(self: Box<Self>) -> Result<(), MaintenanceError>;
}

/// An open store, beside the ports through which use cases see it.
#[async_trait]
pub trait OpenStore: Send {
    /// Returns when everything that was written is indexed for searches. Fails when the store is
    /// unavailable, or it takes longer than a search would wait.
    async fn wait_until_indexed(&self) -> Result<(), RepositoryError>;

    /// Waits for the writes that were accepted, then closes all connections.
    async fn close(self: Box<Self>);
}

/// The progress of a backup, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// Bytes copied.
    pub copied: u64,
    /// Bytes to be copied in all.
    pub total: u64,
}

/// A change with the members that it left: all there is to know of one version of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// Its number in the log.
    pub sequence: Sequence,
    /// The collection of the item.
    pub collection: Collection,
    /// The item that was written.
    pub item: ItemId,
    /// The version it was given; a deletion takes one too.
    pub version: Version,
    /// The kind of write.
    pub kind: WriteOperation,
    /// The time of the write.
    pub time: Timestamp,
    /// By whom.
    pub author: ChangeAuthor,
    /// The item it belongs to.
    pub parent: Option<ItemId>,
    /// The item it continues.
    pub continues: Option<ItemId>,
    /// Its members after the change as compact JSON text of an object; none after a deletion, or where
    /// they were removed.
    pub members: Option<Arc<str>>,
    /// When they were removed, if they were.
    pub removed_at: Option<Timestamp>,
}

/// A change that can follow those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedChange {
    /// The change.
    pub record: ChangeRecord,
    /// When the item was first created, though it may have been deleted and restored since.
    pub created_at: Timestamp,
    /// By whom; `None` for an anonymous caller.
    pub created_by: Option<String>,
}

impl CheckedChange {
    /// The approximate number of bytes it takes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.record.members.as_deref().map_or(0, str::len)
    }
}

/// The items of one collection in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionSummary {
    /// The collection's name.
    pub collection: String,
    /// Items that exist after the last change.
    pub items: u64,
    /// Items that were deleted.
    pub deleted: u64,
}

/// Why a store could not be opened or maintained: one line that says how to fix it, without
/// passwords.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MaintenanceError {
    /// The options that name the store are wrong, or name one of a kind that cannot do this.
    #[error("{0}")]
    InvalidOptions(String),
    /// The store, or what was asked of it, failed.
    #[error("{0}")]
    Failed(String),
}
