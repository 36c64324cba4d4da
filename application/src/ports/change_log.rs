//! The change log.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;

use super::Result;

/// The number of a change in the log: it grows in the order of the commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(pub i64);

/// The author of a change, as the log keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeAuthor {
    /// The id of the caller; `None` for an anonymous one.
    pub caller: Option<String>,
    /// The id of who acted for the caller, if somebody did.
    pub acting: Option<String>,
    /// The program that was used, if it is known.
    pub client: Option<String>,
    /// The id of the request, if it is known.
    pub request_id: Option<String>,
}

/// A change as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedChange {
    /// Its number.
    pub sequence: Sequence,
    /// Where the item is.
    pub collection: Collection,
    /// The item that was written.
    pub item: ItemId,
    /// The version it was given; a deletion takes one too.
    pub version: Version,
    /// The kind of the write.
    pub kind: WriteOperation,
    /// When.
    pub time: Timestamp,
    /// By whom.
    pub author: ChangeAuthor,
    /// When the body that it left was removed, if it was.
    pub removed_at: Option<Timestamp>,
}

impl LoggedChange {
    /// The version before this one that has an item to show: before an item was restored it had
    /// been removed.
    pub fn previous_version(&self) -> Option<Version> {
        let number = self.version.number() - 1 - i64::from(self.kind == WriteOperation::Create);
        (number > 0).then(|| Version::from_number(number))
    }

    /// Returns true if it left a body that can be shown.
    pub fn has_body(&self) -> bool {
        self.kind != WriteOperation::Delete && self.removed_at.is_none()
    }
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPage {
    /// The changes that were asked for, in their order.
    pub changes: Vec<LoggedChange>,
    /// Up to which change the log was looked through: what follows begins after it.
    pub read_to: Sequence,
}

/// Tells what was written, in an order to which nothing is added but at its end.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ChangeLog: Send + Sync {
    /// The changes after a number, of one collection or of all, at most `limit`. A change that is
    /// committed later MUST have a greater number than every one this has shown. MUST NOT cost more
    /// where a collection is seldom written: it looks through a bounded part of the log, so there
    /// may be more although it finds nothing.
    async fn changes(
        &self,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage>;

    /// The last changes of a collection, the newest first, at most `limit`. MUST NOT cost more in a
    /// long log than in a short one.
    async fn latest(&self, collection: Collection, limit: u64) -> Result<Vec<LoggedChange>>;

    /// The number of the last change; 0 before the first.
    async fn last(&self) -> Result<Sequence>;

    /// The history that the store's state belongs to: some ASCII letters and digits. Versions,
    /// revisions and numbers of changes are comparable within it. It MUST differ from that of every
    /// other store, and from what it was when the store has lost changes that it had shown, as it
    /// may in a failover. MUST NOT wait.
    fn history_id(&self) -> Arc<str>;
}
