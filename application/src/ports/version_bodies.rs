//! The bodies of superseded versions, which can be removed, and what must keep them.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use domain::ItemId;
use jiff::Timestamp;

use super::{Result, Sequence};

/// A version that has a body and is superseded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupersededVersion {
    /// The change that made it.
    pub change: Sequence,
    /// Its item.
    pub item: ItemId,
    /// When it was written.
    pub written: Timestamp,
    /// When the next version, or the deletion of the item, was written.
    pub superseded: Timestamp,
    /// Bytes that the body takes in the store.
    pub bytes: u64,
}

/// Some superseded versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupersededPage {
    /// Those that were found, in the order of the log.
    pub versions: Vec<SupersededVersion>,
    /// The change up to which the log was looked through; `None` at its end.
    pub read_to: Option<Sequence>,
}

/// A lease on the work of removing bodies: of several workers one at a time has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionLease {
    /// The worker.
    pub holder: Box<str>,
    /// The time by the worker's clock.
    pub now: Timestamp,
    /// When the lease ends, should the worker not be heard of again.
    pub until: Timestamp,
}

/// How far the work has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionProgress {
    /// The policy that is carried out.
    pub policy: Box<str>,
    /// The change up to which the log has been looked through in this pass.
    pub after: Sequence,
    /// When this pass begins, if it has not begun.
    pub begins: Timestamp,
}

/// Removes the bodies of superseded versions. Who wrote what and when stays, and so does the body
/// that an item is at.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait VersionBodies: Send + Sync {
    /// Looks through at most `limit` changes after a number, and returns those with a body that were
    /// superseded before a time. MUST NOT return a version that something still has to read, such as
    /// the index task, or the answer to a request that is sent again under its idempotency key.
    async fn superseded(
        &self,
        after: Sequence,
        before: Timestamp,
        limit: u64,
    ) -> Result<SupersededPage>;

    /// Removes the bodies that these changes left, and notes when; returns how many there were. MUST
    /// NOT remove the body that an item is at, whatever it is told.
    async fn remove(&self, changes: &[Sequence], time: Timestamp) -> Result<u64>;

    /// Returns pairs of an item of these and another one that it belongs to, or that a reference in
    /// one of its bodies names.
    async fn related(&self, items: &[ItemId]) -> Result<Vec<[ItemId; 2]>>;

    /// Returns those of these items that exist or did.
    async fn known(&self, items: &[ItemId]) -> Result<Vec<ItemId>>;

    /// Takes the lease, or renews it, and returns how far the work has come; `None` while another
    /// worker has it.
    async fn lease(&self, lease: &CompactionLease) -> Result<Option<CompactionProgress>>;

    /// Notes how far the work has come, and gives the lease back when it `is_released`. Has no effect
    /// when another worker has the lease.
    async fn advance(
        &self,
        holder: &str,
        progress: &CompactionProgress,
        is_released: bool,
    ) -> Result<()>;
}

/// The items whose bodies are kept whatever their age, because the law or a court wants it.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait LegalHolds: Send + Sync {
    /// Returns the items that are named.
    fn items(&self) -> Arc<HashSet<ItemId>>;
}
