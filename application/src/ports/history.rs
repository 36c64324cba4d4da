//! The versions of items.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Item, ItemId, Version};
use jiff::Timestamp;

use super::{ListedPage, LoggedChange, Reach, Result, Sequence};
use crate::query::PageStart;

/// A version of an item, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastVersion {
    /// The write that made it.
    pub change: LoggedChange,
    /// The item as the write left it; `None` when it removed it. Without members where the body was
    /// removed since, which the change tells.
    pub item: Option<Item>,
    /// The last version there is, which may be a removal.
    pub latest: Version,
    /// True when the item exists now.
    pub exists: bool,
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

/// About how many bytes of members are read together: beyond it no more items are added.
pub const CONTENT_BYTES: usize = 4 << 20;

/// The content of an item as one change left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemContent {
    /// The change.
    pub change: Sequence,
    /// The item.
    pub id: ItemId,
    /// Its version.
    pub version: Version,
    /// The item that it belongs to, if any.
    pub parent: Option<ItemId>,
    /// Its members as compact JSON text of an object.
    pub members: Arc<str>,
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

    /// Returns the items as the first of these changes left them, in the same order, whatever was
    /// written later; none for a removal. MUST return at least one if there is any, and MUST leave out
    /// the last ones where their members are more than [`CONTENT_BYTES`].
    async fn contents(&self, reach: &Reach, changes: &[Sequence]) -> Result<Vec<ItemContent>>;

    /// The latest time of a change.
    async fn latest_time(&self) -> Result<Option<Timestamp>>;
}
