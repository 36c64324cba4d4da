//! The bodies of superseded versions, which a retention policy removes, and the legal holds.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use domain::ItemId;
use jiff::Timestamp;

use super::{Result, Sequence};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupersededVersion {
    pub change: Sequence,
    pub item: ItemId,
    pub written: Timestamp,
    /// The time of the next version, or of the item's deletion.
    pub superseded: Timestamp,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupersededPage {
    pub versions: Vec<SupersededVersion>,
    /// The last change examined; `None` at the end of the log.
    pub read_to: Option<Sequence>,
}

/// A lease: one worker at a time removes bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionLease {
    pub holder: Box<str>,
    pub now: Timestamp,
    /// The expiry, unless the worker renews it.
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionProgress {
    pub policy: Box<str>,
    /// The last change examined in this pass.
    pub after: Sequence,
    pub begins: Timestamp,
}

/// Removes the bodies of superseded versions. Authors, times and the current body stay.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait VersionBodies: Send + Sync {
    /// Examines at most `limit` changes and returns those whose body was superseded before a time.
    /// MUST NOT return a version that is still to be read, for example by the index task or for the
    /// answer to a retry under an idempotency key.
    async fn superseded(
        &self,
        after: Sequence,
        before: Timestamp,
        limit: u64,
    ) -> Result<SupersededPage>;

    /// Removes the bodies of these changes, and records when. Returns the number removed. MUST NOT
    /// remove the current body of an item, for any argument.
    async fn remove(&self, changes: &[Sequence], time: Timestamp) -> Result<u64>;

    /// Dooms the bytes of contents that only removed bodies had. Returns their number. MUST NOT doom bytes
    /// that a concurrent write gives to an item. Reads the whole log, unless there are no contents.
    async fn release_contents(&self, now: Timestamp) -> Result<u64>;

    /// Returns pairs of one of these items and another that it belongs to or references in a body.
    async fn related(&self, items: &[ItemId]) -> Result<Vec<[ItemId; 2]>>;

    /// Returns those of these items that exist or did.
    async fn known(&self, items: &[ItemId]) -> Result<Vec<ItemId>>;

    /// Takes or renews the lease and returns the progress; `None` while another worker has it.
    async fn lease(&self, lease: &CompactionLease) -> Result<Option<CompactionProgress>>;

    /// Records the progress, and releases the lease if `is_released`. Has no effect while another
    /// worker has the lease.
    async fn advance(
        &self,
        holder: &str,
        progress: &CompactionProgress,
        is_released: bool,
    ) -> Result<()>;
}

/// The items whose bodies are kept for legal reasons, regardless of age.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait LegalHolds: Send + Sync {
    fn items(&self) -> Arc<HashSet<ItemId>>;
}
