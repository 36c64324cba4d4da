//! The change log.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;

use super::Result;

/// The number of a change. It grows in commit order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(pub i64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeAuthor {
    pub caller: Option<String>,
    pub acting: Option<String>,
    pub client: Option<String>,
    pub request_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedChange {
    pub sequence: Sequence,
    pub collection: Collection,
    pub item: ItemId,
    /// The version that the write made. A deletion makes a version too.
    pub version: Version,
    pub kind: WriteOperation,
    pub time: Timestamp,
    pub author: ChangeAuthor,
    /// The time when the body was removed by the retention policy.
    pub removed_at: Option<Timestamp>,
}

impl LoggedChange {
    /// The previous version with an item to show. The version before a restoration is a removal.
    pub fn previous_version(&self) -> Option<Version> {
        let number = self.version.number() - 1 - i64::from(self.kind == WriteOperation::Create);
        (number > 0).then(|| Version::from_number(number))
    }

    pub fn has_body(&self) -> bool {
        self.kind != WriteOperation::Delete && self.removed_at.is_none()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPage {
    pub changes: Vec<LoggedChange>,
    /// The last change examined. The next part begins after it.
    pub read_to: Sequence,
}

/// The append-only log of writes.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ChangeLog: Send + Sync {
    /// Returns at most `limit` changes after a number, of one collection or of all. A change
    /// committed later MUST have a greater number than every change already shown. MUST NOT cost
    /// more in a collection that is seldom written: it examines a bounded part of the log. An empty
    /// page is therefore not the end.
    async fn changes(
        &self,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage>;

    /// Returns the latest changes of a collection before a number, newest first: all, or the
    /// deletions. MUST NOT cost more in a long log.
    async fn latest(
        &self,
        collection: Collection,
        only_deletions: bool,
        before: Sequence,
        limit: u64,
    ) -> Result<Vec<LoggedChange>>;

    /// The number of the last change; 0 before the first.
    async fn last(&self) -> Result<Sequence>;

    /// The id of the store's history, in ASCII letters and digits. Versions, revisions and change
    /// numbers are comparable within one history. It MUST differ from that of every other store. It
    /// MUST change when the store lost changes that it had shown, for example in a failover. MUST
    /// NOT wait.
    fn history_id(&self) -> Arc<str>;
}
