//! The versions of items.

use async_trait::async_trait;
use domain::{Item, ItemId, Version};
use jiff::Timestamp;

use super::{ListedPage, LoggedChange, Reach, Result};
use crate::query::PageStart;

/// A version of an item, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastVersion {
    /// The write that made it.
    pub change: LoggedChange,
    /// The item as the write left it; `None` when it removed it.
    pub item: Option<Item>,
    /// The last version there is, which may be a removal.
    pub latest: Version,
    /// True when the item exists now.
    pub exists: bool,
}

impl PastVersion {
    /// The version before this one that has an item to show.
    #[must_use]
    pub fn previous_version(&self) -> Option<Version> {
        self.change.previous_version()
    }
}

/// A part of the items that a scope held at a time, in the order of their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPageQuery {
    /// Where it begins or ends.
    pub position: PageStart,
    /// Items at most.
    pub limit: u64,
    /// True when the items are counted, up to [`COUNTED_MATCHES`](crate::query::COUNTED_MATCHES).
    pub is_counted: bool,
}

/// Every version of every item, also of those that were removed. What was at a time MUST be
/// answered alike whenever it is asked: a write that is committed after such an answer MUST have a
/// later time. A time to come has no answer; the caller does not ask for one.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait History: Send + Sync {
    /// The versions of an item that the scope holds or held, the newest first, from `newest` on;
    /// none when it never did.
    async fn versions(
        &self,
        reach: &Reach,
        id: ItemId,
        newest: Version,
        limit: u64,
    ) -> Result<Vec<LoggedChange>>;

    /// One version of an item that the scope holds or held.
    async fn version(
        &self,
        reach: &Reach,
        id: ItemId,
        version: Version,
    ) -> Result<Option<PastVersion>>;

    /// The version an item was at, if it was written by then.
    async fn version_at(
        &self,
        reach: &Reach,
        id: ItemId,
        time: Timestamp,
    ) -> Result<Option<PastVersion>>;

    /// Returns a page of the items that the scope held at a time. The revision is that of no page.
    async fn page_at(
        &self,
        reach: &Reach,
        time: Timestamp,
        query: &PastPageQuery,
    ) -> Result<ListedPage>;

    /// The latest time of a change.
    async fn latest_time(&self) -> Result<Option<Timestamp>>;
}
