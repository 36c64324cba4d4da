//! What the use cases need from outside.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, Found, Item, ItemId, Lookup, Members, Rule, Version};
use jiff::Timestamp;
use jiff::civil::Date;
use thiserror::Error;

use crate::query::{MemberNames, PageQuery, Place, Position, Total};

/// Makes identifiers.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// A new identifier. MUST be a UUID version 7 and MUST sort after every identifier this process
    /// made before.
    fn next_id(&self) -> ItemId;
}

/// Tells the time.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Clock: Send + Sync {
    /// Now, to the microsecond.
    fn now(&self) -> Timestamp;

    /// The day it is at a time, in the time zone of those whose rules ask for it.
    fn day_of(&self, time: Timestamp) -> Date;
}

/// Leave to do something of which only a little is done at a time; given back when it is dropped.
pub type Permit = Box<dyn Send>;

/// The business rules that are not written in Rust.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait RuleBook: Send + Sync {
    /// The rules about the items of a collection as they are now, in the order in which their
    /// violations are reported. MUST cost next to nothing where there are none, and MUST be all of
    /// one edition.
    fn rules(&self, collection: Collection) -> Arc<[Arc<dyn Rule<Members>>]>;

    /// Which edition they are of; it differs whenever they were changed.
    fn edition(&self) -> u64;

    /// Waits for leave to ask a rule that does not answer at once. Few have it at a time, so that
    /// work beside it goes on.
    async fn permit(&self) -> Permit;
}

/// The part of the store a use case sees: a collection, or the items of it that belong to one
/// owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The collection.
    pub collection: Collection,
    /// The owner, when only its items are seen.
    pub parent: Option<ItemId>,
}

/// What an item's representation shows beside the item itself. Only what exists now is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relations {
    /// The item it continues.
    pub continues: Option<ItemId>,
    /// The items that continue it, oldest first.
    pub continued_by: Vec<ItemId>,
    /// The programme it refers to.
    pub program: Option<ItemId>,
}

/// An item and what it relates to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownItem {
    /// The item.
    pub item: Item,
    /// What it relates to.
    pub relations: Relations,
}

/// Counts the writes to a scope; it differs whenever a member of the scope was created, changed or
/// removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub i64);

/// What is counted of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// How many items the scope holds.
    pub items: u64,
    /// Its revision, with the writes to related collections.
    pub revision: Revision,
}

/// An item as a page shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedItem {
    /// The item.
    pub shown: ShownItem,
    /// How well it matches what was looked for: greater is better.
    pub score: Option<f64>,
    /// A piece of its texts with the words that were looked for marked, for HTML.
    pub snippet: Option<String>,
}

/// A page of a scope, and its totals.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPage {
    /// How many items are selected.
    pub total: Total,
    /// The scope's revision, not newer than the items.
    pub revision: Revision,
    /// The items, in the order asked for.
    pub items: Vec<ListedItem>,
    /// The place of the first item.
    pub first: Option<Place>,
    /// The place of the last item.
    pub last: Option<Place>,
    /// Whether there are items beyond the page, in the direction it was walked in.
    pub goes_on: bool,
}

/// An item about to be stored for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// Its identifier.
    pub id: ItemId,
    /// Its members as compact JSON text of an object.
    pub members: Arc<str>,
    /// The item of the same collection it continues.
    pub continues: Option<ItemId>,
    /// The programme its members name, whether or not it exists.
    pub program: Option<ItemId>,
}

/// New members for an item that was read at `expected`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The item.
    pub id: ItemId,
    /// The version the decision was made on.
    pub expected: Version,
    /// Its new members as compact JSON text of an object.
    pub members: Arc<str>,
    /// The programme its members name, whether or not it exists.
    pub program: Option<ItemId>,
}

/// What a collection is to hold, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionContent {
    /// Items that it holds now and shall hold with new members.
    pub replacements: Vec<Replacement>,
    /// Items it shall hold beside them.
    pub additions: Vec<NewItem>,
    /// The revision the decision was made on, if it matters.
    pub expected: Option<Revision>,
}

/// What a write did, in the change log.
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

/// Who writes, and when: what the change log keeps of every write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When it was asked for (microseconds, UTC). The store may give it a later time.
    pub time: Timestamp,
    /// The caller's name; `None` for an anonymous one.
    pub caller: Option<Box<str>>,
    /// By what the write is known when it is asked for again.
    pub key: Option<Box<IdempotencyKey>>,
    /// What was looked up to decide on it.
    pub grounds: Vec<Ground>,
}

/// What a lookup found, on which a write was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// What was looked for.
    pub lookup: Lookup,
    /// What there was, in the order of the ids.
    pub found: Vec<(ItemId, Version)>,
}

/// By what a request is known when it is sent again (draft-ietf-httpapi-idempotency-key-header-07).
/// It is the caller's: two callers may use the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Where the request was sent.
    pub path: Box<str>,
    /// What the client calls it.
    pub key: Box<str>,
    /// Tells what was sent from anything else.
    pub fingerprint: Box<str>,
    /// Until when it is remembered (microseconds, UTC).
    pub expires: Timestamp,
    /// What the answer says beside the item, as the use case wrote it; empty when it says nothing.
    pub remarks: Box<str>,
}

/// What a request with a key was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What had been sent.
    pub fingerprint: Box<str>,
    /// What was done.
    pub kind: ChangeKind,
    /// The item as it was shown.
    pub shown: ShownItem,
    /// What was said beside it.
    pub remarks: Box<str>,
}

/// Keeps the items. Every method is ONE atomic step: it happens whole or not at all, and when it
/// has returned `Ok` it survives a crash of the process or the machine.
///
/// Every write MUST append one change per item written to the change log, with the members it
/// superseded, and MUST adjust the totals and the revision of every scope that shows the item, in
/// the same transaction. Writes MUST become visible in the order of their times: each has a time
/// after those of all writes that were visible before it.
///
/// A change with grounds MUST be made only while each of its lookups finds the same items at the
/// same versions, decided in the transaction that makes it, so that no other write comes between;
/// otherwise the write MUST return `VersionConflict`.
///
/// A change with a key MUST be remembered by it, with the item the write leaves, in the same
/// transaction, until the key expires; until then inserts, updates and restorations with the same
/// caller, path and key MUST return `AnsweredBefore`.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ItemRepository: Send + Sync {
    /// The item, if the scope holds it.
    async fn find(&self, scope: Scope, id: ItemId) -> Result<Option<ShownItem>, RepositoryError>;

    /// The items of `ids` that the scope holds, in any order.
    async fn find_many(
        &self,
        scope: Scope,
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>, RepositoryError>;

    /// The item with the named members alone, in the order they are named, if the scope holds it.
    /// MUST NOT read the other members from a database.
    async fn find_fields(
        &self,
        scope: Scope,
        id: ItemId,
        fields: &MemberNames,
    ) -> Result<Option<ShownItem>, RepositoryError>;

    /// The items that belong to the owners, in the order of their ids, at most `limit` in all.
    async fn belonging_to(
        &self,
        collection: Collection,
        owners: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>, RepositoryError>;

    /// What a rule looks for, as it is stored. MUST NOT read the members of items beyond
    /// [`Lookup::MOST_ITEMS`] or [`Lookup::MOST_BYTES`].
    async fn look_up(&self, lookup: &Lookup) -> Result<Found, RepositoryError>;

    /// How many items the scope holds, and its revision: the writes to it and to the related
    /// collections. MUST return `OwnerMissing` when the scope's parent does not exist. MUST NOT
    /// cost more in a large scope than in a small one.
    async fn totals(&self, scope: Scope, related: &[Collection])
    -> Result<Totals, RepositoryError>;

    /// A page of the selected items in the order asked for, those that are equal by it by id. MUST
    /// return `OwnerMissing` when the scope's parent does not exist. The items are at least as new
    /// as the revision. All items of a scope are always counted exactly; matches are counted up to
    /// [`COUNTED_MATCHES`](crate::query::COUNTED_MATCHES). A page without items is no error here.
    async fn page(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>, RepositoryError>;

    /// Stores a new item at version 1. MUST return `OwnerMissing` when the scope's parent does not
    /// exist, and `ItemMissing` when the item it continues does not.
    async fn insert(
        &self,
        scope: Scope,
        item: NewItem,
        change: Change,
    ) -> Result<ShownItem, RepositoryError>;

    /// Stores an item again that was removed, at the version after its removal, created when it was
    /// first. MUST return `OwnerMissing` when the scope's parent does not exist, `VersionConflict`
    /// when the item exists, and `ItemMissing` when there never was one. The item it continues need
    /// not exist.
    async fn restore(
        &self,
        scope: Scope,
        item: NewItem,
        change: Change,
    ) -> Result<ShownItem, RepositoryError>;

    /// Gives an item new members and the next version. MUST return `ItemMissing` when the scope
    /// does not hold it and `VersionConflict` when it is not at the expected version. `updated_at`
    /// MUST NOT go back, whatever the clock does.
    async fn update(
        &self,
        scope: Scope,
        replacement: Replacement,
        kind: ChangeKind,
        change: Change,
    ) -> Result<ShownItem, RepositoryError>;

    /// Removes an item and all items that belong to it. MUST return `ItemMissing` when the scope
    /// does not hold it and `VersionConflict` when it is not at the expected version.
    async fn delete(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
        change: Change,
    ) -> Result<(), RepositoryError>;

    /// Makes the collection hold exactly the content, in one transaction: items named by
    /// replacements are updated, all others removed, additions inserted. MUST return
    /// `VersionConflict` when a replaced item is gone or not at its expected version, or the
    /// collection not at the expected revision.
    async fn replace_all(
        &self,
        collection: Collection,
        content: CollectionContent,
        change: Change,
    ) -> Result<(), RepositoryError>;

    /// What a write with the caller and the key of this change left, unless the key had expired by
    /// its time.
    async fn answered(&self, change: &Change) -> Result<Option<Answered>, RepositoryError>;
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
    /// What was done.
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

/// A version of an item, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastVersion {
    /// The write that made it.
    pub change: LoggedChange,
    /// The item as the write left it; `None` when it removed it.
    pub item: Option<Item>,
    /// The last version there is, which may be a removal.
    pub latest: Version,
    /// Whether the item exists now.
    pub exists: bool,
}

impl PastVersion {
    /// The version before this one that has an item to show.
    #[must_use]
    pub fn predecessor(&self) -> Option<Version> {
        self.change.predecessor()
    }
}

/// Which part of what a scope held at a time is wanted, in the order of the items' ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPageQuery {
    /// Where it begins or ends.
    pub position: Position,
    /// Items at most.
    pub limit: u64,
    /// Whether the items are counted, up to [`COUNTED_MATCHES`](crate::query::COUNTED_MATCHES).
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
        scope: Scope,
        id: ItemId,
        newest: Version,
        limit: u64,
    ) -> Result<Vec<LoggedChange>, RepositoryError>;

    /// One version of an item that the scope holds or held.
    async fn version(
        &self,
        scope: Scope,
        id: ItemId,
        version: Version,
    ) -> Result<Option<PastVersion>, RepositoryError>;

    /// The last version of an item that the scope holds or held.
    async fn last_version(
        &self,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<PastVersion>, RepositoryError>;

    /// The version an item was at, if it was written by then.
    async fn version_at(
        &self,
        scope: Scope,
        id: ItemId,
        time: Timestamp,
    ) -> Result<Option<PastVersion>, RepositoryError>;

    /// What the scope held at a time. The revision is that of no page.
    async fn page_at(
        &self,
        scope: Scope,
        time: Timestamp,
        query: &PastPageQuery,
    ) -> Result<ListedPage, RepositoryError>;

    /// The last change there is.
    async fn last_change(&self) -> Result<Option<LoggedChange>, RepositoryError>;
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

/// Whether the service can do its work now.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Asks the store something trivial.
    async fn check(&self) -> Result<(), RepositoryError>;
}

/// Why the store did not do a step. The cause was logged where it arose.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RepositoryError {
    /// The scope does not hold the item.
    #[error("the item does not exist")]
    ItemMissing,
    /// The scope's parent does not exist.
    #[error("the owner of the collection does not exist")]
    OwnerMissing,
    /// The item is not at the expected version.
    #[error("the item was written by somebody else")]
    VersionConflict,
    /// A write with the same key was done before.
    #[error("the request was answered before")]
    AnsweredBefore,
    /// The store cannot be reached or is too busy; trying again later may help.
    #[error("the store is unavailable")]
    Unavailable,
    /// The store has no room for the write.
    #[error("the store is full")]
    Full,
    /// What the store holds or answers makes no sense.
    #[error("the store's content is not understood")]
    Corrupt,
}
