use std::sync::Arc;

use async_trait::async_trait;
use domain::{Item, ItemId, Version};
use jiff::Timestamp;

use super::{ListedPage, LoggedChange, Reach, Result, Sequence};
use crate::query::PageStart;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastVersion {
    pub change: LoggedChange,
    /// The item as the write left it; `None` for a removal. It has no members if the body was
    /// removed.
    pub item: Option<Item>,
    /// The last version, which may be a removal.
    pub latest: Version,
    pub exists: bool,
    /// True if the caller does not see all of it.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPageQuery {
    pub position: PageStart,
    pub limit: u64,
    pub is_counted: bool,
    /// Only items that named an item by this member.
    pub naming: Option<(&'static str, ItemId)>,
}

/// The approximate limit in bytes of members that one read returns.
pub const CONTENT_BYTES: usize = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemContent {
    pub change: Sequence,
    pub id: ItemId,
    pub version: Version,
    pub parent: Option<ItemId>,
    pub members: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedVersion {
    pub item: ItemId,
    pub version: Version,
    /// True if the names of callers are visible.
    pub shows_author: bool,
}

/// Every version of every item, including removed items. The state at a time MUST be the same in
/// every answer: a write committed after such an answer MUST have a later time. Callers never ask
/// for a future time.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait History: Send + Sync {
    /// Returns the versions of an item that the scope holds or held, newest first, from `newest`
    /// on. Under a condition, a version is in reach if its content is, with the other items as they
    /// are now, and a removal if the content before it is. Without a body it is not. The author of a
    /// change has no names if the names of callers are not visible.
    async fn versions(
        &self,
        reach: &Reach,
        id: ItemId,
        newest: Version,
        limit: u64,
    ) -> Result<Vec<LoggedChange>>;

    async fn version(
        &self,
        reach: &Reach,
        id: ItemId,
        version: Version,
    ) -> Result<Option<PastVersion>>;

    /// Returns the version of an item at a time.
    async fn version_at(
        &self,
        reach: &Reach,
        id: ItemId,
        time: Timestamp,
    ) -> Result<Option<PastVersion>>;

    /// Returns a page of the items that the scope held at a time. The revision is that of no page. An
    /// item names another only if the member is visible. If its body was removed, its current one
    /// decides, and under a condition or a mask it names none.
    async fn page_at(
        &self,
        reach: &Reach,
        time: Timestamp,
        query: &PastPageQuery,
    ) -> Result<ListedPage>;

    /// Returns the items as the first of these changes left them, in the same order, regardless of
    /// later writes. Omits removals. MUST return at least one if any exists, and MUST omit the last
    /// ones if their members exceed [`CONTENT_BYTES`].
    async fn contents(&self, reach: &Reach, changes: &[Sequence]) -> Result<Vec<ItemContent>>;

    /// Returns those of these versions whose content was in reach, with the other items as they are
    /// now. Omits removals, and versions whose body was removed.
    async fn versions_in_reach(
        &self,
        reach: &Reach,
        versions: &[(ItemId, Version)],
    ) -> Result<Vec<ReachedVersion>>;

    async fn latest_time(&self) -> Result<Option<Timestamp>>;
}
