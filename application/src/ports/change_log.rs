//! The change log.

use async_trait::async_trait;
use domain::{Collection, ItemId, Version};
use jiff::Timestamp;

use super::RepositoryError;

/// The kind of a write, in the change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The item's first version.
    Created,
    /// All members were replaced.
    Replaced,
    /// A merge patch was applied.
    Patched,
    /// The item was removed; the deletion takes the version after the last.
    Deleted,
}

impl ChangeKind {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Created, Self::Replaced, Self::Patched, Self::Deleted];

    /// The kind that the change log calls so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The word the change log keeps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Replaced => "replaced",
            Self::Patched => "patched",
            Self::Deleted => "deleted",
        }
    }
}

/// The number of a change in the log: it grows in the order of the commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(pub i64);

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
    pub kind: ChangeKind,
    /// When.
    pub time: Timestamp,
    /// By whom; `None` for an anonymous caller.
    pub caller: Option<String>,
}

impl LoggedChange {
    /// The version before this one that has an item to show: before an item was restored it had
    /// been removed.
    #[must_use]
    pub fn predecessor(&self) -> Option<Version> {
        let number = self.version.number() - 1 - i64::from(self.kind == ChangeKind::Created);
        (number > 0).then(|| Version::from_number(number))
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

/// Tells what was written, in the order in which it was committed.
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
    ) -> Result<LogPage, RepositoryError>;

    /// The number of the last change; 0 before the first.
    async fn last(&self) -> Result<Sequence, RepositoryError>;
}
