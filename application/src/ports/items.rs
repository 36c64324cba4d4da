//! The items.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, Found, Item, ItemId, Lookup, Version, WriteOperation};
use jiff::Timestamp;

use super::{Ownership, Reach, Result, Sequence, ShownItem, UndeletableItems, Warrant};
use crate::query::{MemberNames, PageQuery, SortPosition, Total};
use crate::{Caller, IdempotencyKey};

/// The part of the store a use case sees: a collection, or the items of it that belong to one
/// parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The collection.
    pub collection: Collection,
    /// The parent, when only its items are seen.
    pub parent: Option<ItemId>,
}

impl Scope {
    /// The whole collection.
    pub const fn of(collection: Collection) -> Self {
        Self { collection, parent: None }
    }

    /// The collection of the parent, when only its items are seen.
    pub fn parents(self) -> Option<Collection> {
        self.parent.and_then(|_| self.collection.parent())
    }
}

/// Counts the writes to a scope; it differs whenever a member of the scope was created, changed or
/// removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision(pub i64);

/// The revision of what a caller sees of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRevision {
    /// Counts the writes to the collection, and to the related ones whose items the caller may read.
    pub revision: Revision,
    /// The collections that would be shown or linked if the caller might read their items, by name.
    /// The same number is another state to a caller with other rights.
    pub unseen: Vec<Collection>,
}

/// The totals of a scope.
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
    /// When its body was removed, if it was: its members are empty then.
    pub removed_at: Option<Timestamp>,
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
    pub first: Option<SortPosition>,
    /// The place of the last item.
    pub last: Option<SortPosition>,
    /// True when there are items beyond the page, in the direction of the traversal.
    pub has_more: bool,
    /// How many of all selected items have each value of the member that the query names.
    pub counts: Option<MemberCounts>,
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
    /// The items its members refer to, in the order of its collection's references, whether or not
    /// they exist.
    pub references: Vec<Option<ItemId>>,
}

impl NewItem {
    /// The replacement that gives an item these members.
    pub(crate) fn in_place_of(self, item: &Item) -> Replacement {
        let Self { members, references, .. } = self;
        Replacement { id: item.id, expected: item.version, members, references }
    }
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
    /// The items its members refer to, in the order of its collection's references, whether or not
    /// they exist.
    pub references: Vec<Option<ItemId>>,
}

/// One of the items that are written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// The parent of the item, in a collection whose items have one.
    pub parent: Option<ItemId>,
    /// The change.
    pub kind: ItemChangeKind,
    /// The key of this item in a request that may be sent again.
    pub key: Option<IdempotencyKey>,
    /// The remarks in the response beside this item; empty when there are none.
    pub remarks: Box<str>,
}

impl ItemChange {
    /// A new item of a collection whose items have no parent, without a key.
    pub fn insert(item: NewItem) -> Self {
        let kind = ItemChangeKind::Insert(item);
        Self { parent: None, kind, key: None, remarks: Box::default() }
    }
}

/// The change of one of the items that are written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChangeKind {
    /// It is stored for the first time.
    Insert(NewItem),
    /// It is given new members.
    Update(Replacement),
}

/// The entire content that a collection is to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionContent {
    /// Items that it holds now and shall hold with new members.
    pub replacements: Vec<Replacement>,
    /// Items it shall hold beside them.
    pub additions: Vec<NewItem>,
    /// The revision the decision was made on, if it matters.
    pub expected: Option<Revision>,
    /// The other collections whose writes count in the revisions.
    pub related: Vec<Collection>,
}

/// The replacement of a whole collection, as it was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionWrite {
    /// When: the time that every item it wrote was updated at.
    pub time: Timestamp,
    /// The revision it made, with the writes to the related collections.
    pub revision: Revision,
}

/// Who writes, and when: what the change log keeps of every write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteMetadata {
    /// When it was asked for (microseconds, UTC). The store may give it another
    /// time: that of its own clock, and always one after those of the writes before it.
    pub time: Timestamp,
    /// The permission to write, and for whom.
    pub warrant: Warrant,
    /// The key of the request, if it may be sent again.
    pub key: Option<IdempotencyKey>,
    /// Until when the key is remembered (microseconds, UTC).
    pub key_expires: Timestamp,
    /// The remarks in the response beside the item, as the use case wrote them; empty when there
    /// are none.
    pub remarks: Box<str>,
    /// The read set: the lookups that the decision is based on.
    pub read_set: Vec<ReadDependency>,
}

impl WriteMetadata {
    /// A write at a time, without a key and based on nothing.
    pub fn under(warrant: Warrant, time: Timestamp) -> Self {
        Self {
            time,
            warrant,
            key: None,
            key_expires: time,
            remarks: Box::default(),
            read_set: Vec::new(),
        }
    }

    /// The [identity](IdempotencyKey::identity) of the request's key, if it has one.
    pub fn key_identity(&self) -> Option<[&str; 3]> {
        self.key.as_ref().map(|key| key.identity(self.warrant.caller()))
    }
}

/// The result of a lookup on which the decision about a write depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadDependency {
    /// The lookup.
    pub lookup: Lookup,
    /// The items found and their versions, in the order of the ids.
    pub found: Vec<(ItemId, Version)>,
}

/// How many items have a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The value, in the form that the counts it is among have.
    pub value: String,
    /// The number of items, or the sum.
    pub items: u64,
}

/// How many items have each value of a member. Two values are the same when their JSON texts are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// The [most frequent](crate::query::COUNTED_VALUES) values first, as JSON text; those that as
    /// many items have by code point. None is
    /// [longer](crate::query::LONGEST_COUNTED_VALUE) than is counted.
    pub values: Vec<ValueCount>,
    /// The number of items with a value that is not among them.
    pub rest: u64,
    /// The number of items that lack the member, or have `null`.
    pub absent: u64,
}

/// The most frequent values of a member, at a point of the change log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCounts {
    /// The most frequent first: values as strings, or their beginnings of 200 characters, or of those
    /// that are counted.
    pub counts: Vec<ValueCount>,
    /// Up to which change everything is counted.
    pub up_to: Sequence,
    /// The time of that change; `None` before the first.
    pub time: Option<Timestamp>,
}

/// The response to a request with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The fingerprint of the request that was sent.
    pub fingerprint: Box<str>,
    /// The kind of the write.
    pub kind: WriteOperation,
    /// The item as it was shown.
    pub shown: ShownItem,
    /// The remarks in the response beside the item.
    pub remarks: Box<str>,
}

/// The creator of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creator {
    /// The id of the caller; `None` for an anonymous one.
    pub caller: Option<Box<str>>,
}

impl Creator {
    /// The relation of a caller to the item: an anonymous caller owns nothing, and what was created
    /// anonymously is nobody's own.
    pub fn ownership(&self, caller: &Caller) -> Ownership {
        let is_own = self.caller.is_some() && self.caller.as_deref() == caller.id();
        if is_own { Ownership::Own } else { Ownership::Others }
    }
}

/// Keeps the items. Every method is ONE atomic step: it happens whole or not at all, and when it
/// has returned `Ok` it survives a crash of the process or the machine.
///
/// Every write MUST append one change per item written to the change log, with the members it
/// left, and MUST adjust the totals and the revision of every scope that shows the item, in
/// the same transaction. Writes MAY be made side by side. The times and the numbers of an item's
/// changes MUST grow with its versions; and where a page selects or sorts by the time of the last
/// write, what is written after it MUST have a time after those that it shows.
///
/// A write with a read set MUST be made only while each of its lookups finds the same items at the
/// same versions, decided in the transaction that makes it, so that no other write comes between;
/// otherwise the write MUST return `VersionConflict`.
///
/// A write with a key MUST be remembered by it, with the item the write leaves, in the same
/// transaction, until the key expires; until then inserts, updates and restorations with the same
/// caller, path and key MUST return `AnsweredBefore`.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ItemRepository: Send + Sync {
    /// The item, if the scope holds it.
    async fn find(&self, reach: &Reach, id: ItemId) -> Result<Option<ShownItem>>;

    /// Returns who created an item that the scope holds: the caller of its first version, also after it
    /// was removed and restored. MUST be one read, and MUST NOT read the members.
    async fn creator(&self, reach: &Reach, id: ItemId) -> Result<Option<Creator>>;

    /// Returns `true` if one of these items belongs to `parent`, whatever a caller reaches. MUST be one
    /// read, however many items belong to it, and MUST NOT read the members.
    async fn has_undeletable(
        &self,
        parent: ItemId,
        undeletable: &[UndeletableItems],
    ) -> Result<bool>;

    /// The items of `ids` that the scope holds, in any order.
    async fn find_many(&self, reach: &Reach, ids: &[ItemId]) -> Result<Vec<ShownItem>>;

    /// The item with the named members alone, in the order they are named, if the scope holds it.
    /// MUST NOT read the other members from a database.
    async fn find_fields(
        &self,
        reach: &Reach,
        id: ItemId,
        fields: &MemberNames,
    ) -> Result<Option<ShownItem>>;

    /// The items reached that belong to the parents, in the order of their ids, at most `limit` in all.
    async fn belonging_to(
        &self,
        reach: &Reach,
        parents: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>>;

    /// Returns the result of a rule's lookup in the stored items, whatever a caller reaches: rules
    /// keep the whole store right. MUST NOT read the members of
    /// items beyond [`Lookup::MOST_ITEMS`] or [`Lookup::MOST_BYTES`].
    async fn look_up(&self, lookup: &Lookup) -> Result<Found>;

    /// How many items the scope holds, and its revision: the writes to it and to the related
    /// collections. MUST return `ParentNotFound` when the scope's parent does not exist. MUST NOT
    /// cost more in a large scope than in a small one.
    async fn totals(&self, reach: &Reach, related: &[Collection]) -> Result<Totals>;

    /// A page of the selected items in the order asked for, those that are equal by it by id. MUST
    /// return `ParentNotFound` when the scope's parent does not exist. The items are at least as new
    /// as the revision, and as they were selected. All items of a scope are always counted exactly;
    /// matches are counted up to [`COUNTED_MATCHES`](crate::query::COUNTED_MATCHES). Of more
    /// matches of a search the newest MUST be listed, so many of them. A page without items is no
    /// error here. The counts by value MUST be those of all items that pages of the query list, at the
    /// state of the page.
    async fn page(&self, reach: &Reach, query: &PageQuery) -> Result<Arc<ListedPage>>;

    /// Returns the changes that the selected items are at, all of one moment, in the order asked
    /// for: the items can be read by them later as they were then. Position, limit and counts of
    /// the query do not matter. It costs memory of a few bytes for each item.
    async fn select(&self, reach: &Reach, query: &PageQuery) -> Result<Vec<Sequence>>;

    /// The values that most items have for one of the members that their
    /// [collection](Collection::spec) counts, in the whole collection, at most `limit`; or the months
    /// with the largest sums of amounts, as `2026-01`, in hundredths, by the name of what it sums.
    /// The counts MUST be those of the items at one point of the change log, which MAY be a little
    /// before its end. MUST NOT read the items.
    async fn value_counts(&self, reach: &Reach, member: &str, limit: u64) -> Result<ValueCounts>;

    /// Stores a new item at version 1. MUST return `ParentNotFound` when the scope's parent does not
    /// exist, and `ItemNotFound` when the item it continues does not.
    async fn insert(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem>;

    /// Writes items as [`insert`](Self::insert) and [`update`](Self::update) do, all or none. None
    /// continues another of them, and no two are the same item or have the same key. MUST return
    /// the error of one that cannot be written; each is remembered by its own key.
    async fn write_all(
        &self,
        collection: Collection,
        changes: Vec<ItemChange>,
        metadata: WriteMetadata,
    ) -> Result<()>;

    /// Stores an item again that was removed, at the version after its removal, created when it was
    /// first. MUST return `ParentNotFound` when the scope's parent does not exist, `VersionConflict`
    /// when the item exists, and `ItemNotFound` when there never was one. The item it continues need
    /// not exist.
    async fn restore(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem>;

    /// Gives an item new members and the next version. MUST return `ItemNotFound` when the scope
    /// does not hold it and `VersionConflict` when it is not at the expected version. `updated_at`
    /// MUST NOT go back, whatever the clock does.
    async fn update(
        &self,
        scope: Scope,
        replacement: Replacement,
        kind: WriteOperation,
        metadata: WriteMetadata,
    ) -> Result<ShownItem>;

    /// Removes an item and all items that belong to it. MUST return `ItemNotFound` when the scope
    /// does not hold it, and `VersionConflict` when it is not at the expected version or when one of
    /// the items that the warrant [excludes](Warrant::undeletable) belongs to it at the time of the
    /// write.
    async fn delete(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
        metadata: WriteMetadata,
    ) -> Result<()>;

    /// Makes the collection hold exactly the content, in one transaction: items named by
    /// replacements are updated, all others removed, additions inserted. MUST return
    /// `VersionConflict` when a replaced item is gone or not at its expected version, or the
    /// collection not at the expected revision. MUST return the time of the write and the revision
    /// it made, which `totals` tells until the next write.
    async fn replace_all(
        &self,
        collection: Collection,
        content: CollectionContent,
        metadata: WriteMetadata,
    ) -> Result<CollectionWrite>;

    /// Returns the result of an earlier write with the caller and the key of this change, unless
    /// the key had expired by the time of this change.
    async fn answered(&self, metadata: &WriteMetadata) -> Result<Option<Answered>>;
}
