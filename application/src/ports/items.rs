use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use domain::{Collection, Found, Item, ItemId, Lookup, Version, WriteOperation};
use jiff::Timestamp;

use super::{DeletableItems, Reach, Result, Sequence, ShownItem, Warrant};
use crate::IdempotencyKey;
use crate::query::{MemberNames, PageQuery, SortPosition, Total};

/// A collection, or the items in it that belong to one parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    pub collection: Collection,
    pub parent: Option<ItemId>,
}

impl Scope {
    pub const fn of(collection: Collection) -> Self {
        Self { collection, parent: None }
    }

    pub fn parents(self) -> Option<Collection> {
        self.parent.and_then(|_| self.collection.parent())
    }
}

/// Counts the writes to a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision(pub i64);

/// The revision of a page as a caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRevision {
    pub revision: Revision,
    /// The collections that the caller does not see whole, by name. The same number is another
    /// state for a caller with other rights.
    pub unseen: Vec<Collection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub items: u64,
    pub revision: Revision,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListedItem {
    pub shown: ShownItem,
    pub score: Option<f64>,
    pub snippet: Option<String>,
    /// The time when its body was removed. Its members are then empty.
    pub removed_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListedPage {
    pub total: Total,
    /// The scope's revision, not newer than the items.
    pub revision: Revision,
    pub items: Vec<ListedItem>,
    pub first: Option<SortPosition>,
    pub last: Option<SortPosition>,
    pub has_more: bool,
    pub counts: Option<MemberCounts>,
    pub hash: PageHash,
}

/// The hash of a page under an address, computed once. A copy of the page, which may be changed, has
/// none.
#[derive(Debug, Default)]
pub struct PageHash(OnceLock<(Box<str>, u64)>);

impl PageHash {
    pub fn under(&self, address: &str, hash: impl Fn() -> u64) -> u64 {
        let (known, value) = self.0.get_or_init(|| (address.into(), hash()));
        if **known == *address { *value } else { hash() }
    }
}

impl Clone for PageHash {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for PageHash {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    pub id: ItemId,
    pub members: Arc<str>,
    pub continues: Option<ItemId>,
    /// The referenced items in the order of the collection's references. They need not exist.
    pub references: Vec<Option<ItemId>>,
}

impl NewItem {
    pub(crate) fn in_place_of(self, item: &Item) -> Replacement {
        let Self { members, references, .. } = self;
        Replacement { id: item.id, expected: item.version, members, references }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub id: ItemId,
    /// The version on which the decision is based.
    pub expected: Version,
    pub members: Arc<str>,
    /// The referenced items in the order of the collection's references. They need not exist.
    pub references: Vec<Option<ItemId>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    pub parent: Option<ItemId>,
    pub kind: ItemChangeKind,
    /// The idempotency key of this item.
    pub key: Option<IdempotencyKey>,
    pub remarks: Box<str>,
}

impl ItemChange {
    pub fn insert(item: NewItem) -> Self {
        let kind = ItemChangeKind::Insert(item);
        Self { parent: None, kind, key: None, remarks: Box::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChangeKind {
    Insert(NewItem),
    Update(Replacement),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionContent {
    pub replacements: Vec<Replacement>,
    pub additions: Vec<NewItem>,
    /// The revision on which the decision is based.
    pub expected: Option<Revision>,
    pub related: Vec<Collection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionWrite {
    /// The update time of every item written.
    pub time: Timestamp,
    pub revision: Revision,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteMetadata {
    /// The time of the request (microseconds, UTC). The store may assign its own time, later than that
    /// of every earlier version of the item.
    pub time: Timestamp,
    pub warrant: Warrant,
    pub key: Option<IdempotencyKey>,
    /// The expiry of the key (microseconds, UTC).
    pub key_expires: Timestamp,
    pub remarks: Box<str>,
    pub read_set: Vec<ReadDependency>,
    /// The history in which the write was decided; `None` if it depends on nothing that was read.
    pub history: Option<Arc<str>>,
}

impl WriteMetadata {
    pub fn under(warrant: Warrant, time: Timestamp) -> Self {
        Self {
            time,
            warrant,
            key: None,
            key_expires: time,
            remarks: Box::default(),
            read_set: Vec::new(),
            history: None,
        }
    }

    #[must_use]
    pub fn decided_in(self, history: Arc<str>) -> Self {
        Self { history: Some(history), ..self }
    }

    pub fn key_identity(&self) -> Option<[&str; 3]> {
        self.key.as_ref().map(|key| key.identity(self.warrant.caller()))
    }
}

/// The result of a lookup on which the decision depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadDependency {
    pub lookup: Lookup,
    /// The items found and their versions, in the order of the ids.
    pub found: Vec<(ItemId, Version)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCount {
    pub value: String,
    pub items: u64,
}

/// The number of items by value of a member. Values are equal if their JSON texts are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// The [most frequent](crate::query::COUNTED_VALUES) values first, as JSON text; ties in code
    /// point order. [Longer](crate::query::LONGEST_COUNTED_VALUE) values are not counted.
    pub values: Vec<ValueCount>,
    pub rest: u64,
    pub absent: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCounts {
    /// The most frequent first, as strings: the whole value, its first 200 characters, or the
    /// counted prefix.
    pub counts: Vec<ValueCount>,
    /// The last change that is counted.
    pub up_to: Sequence,
    pub time: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub fingerprint: Box<str>,
    pub kind: WriteOperation,
    pub shown: ShownItem,
    pub remarks: Box<str>,
}

/// The repository of items. Every method is ONE atomic step. When it has returned `Ok`, the step
/// survives a crash of the process or the machine.
///
/// Every write MUST append one change per item to the change log, with its new members. It MUST
/// adjust the totals and the revision of every scope that shows the item, in the same transaction.
/// Writes MAY be concurrent. The times and numbers of an item's changes MUST grow with its
/// versions. If a page selects or sorts by the time of the last write, later writes MUST have a
/// later time than those it shows.
///
/// A write with a read set MUST be made only while each lookup finds the same items at the same
/// versions. The store decides this in the same transaction, so that no other write comes between;
/// otherwise the write MUST return `VersionConflict`. A write that was decided in another history
/// than that to which it is committed MUST return `VersionConflict`.
///
/// A write with a key MUST be remembered by it with the resulting item, in the same transaction,
/// until the key expires. Until then inserts, updates and restorations with the same caller, path
/// and key MUST return `AnsweredBefore`.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ItemRepository: Send + Sync {
    async fn find(&self, reach: &Reach, id: ItemId) -> Result<Option<ShownItem>>;

    /// Returns those of these items that are in reach, in any order.
    async fn in_reach(&self, reach: &Reach, ids: &[ItemId]) -> Result<Vec<ItemId>>;

    /// Returns `true` if an item that is not deletable belongs to `parent`, regardless of the
    /// caller's reach. MUST be one read, however many items belong to it.
    async fn has_undeletable(&self, parent: ItemId, deletable: &[DeletableItems]) -> Result<bool>;

    /// Returns the items in any order.
    async fn find_many(&self, reach: &Reach, ids: &[ItemId]) -> Result<Vec<ShownItem>>;

    /// Returns the items in any order, with the named members alone, in the order of the names. MUST
    /// NOT read the other members from a database.
    async fn find_fields(
        &self,
        reach: &Reach,
        ids: &[ItemId],
        fields: &MemberNames,
    ) -> Result<Vec<ShownItem>>;

    /// Returns the reached items of the parents in the order of their ids, at most `limit` in all.
    async fn belonging_to(
        &self,
        reach: &Reach,
        parents: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>>;

    /// Returns the result of a rule's lookup, regardless of the caller's reach: rules protect the
    /// whole store. MUST NOT read the members of items beyond [`Lookup::MOST_ITEMS`] or
    /// [`Lookup::MOST_BYTES`].
    async fn look_up(&self, lookup: &Lookup) -> Result<Found>;

    /// Returns the number of items and the revision, which includes writes to related collections.
    /// MUST return `ParentNotFound` when the scope's parent does not exist. MUST NOT cost more in a
    /// large scope than in a small one, unless the reach has a condition: then the items are counted
    /// as matches are, and the revision includes writes to the collections that the condition reads.
    async fn totals(&self, reach: &Reach, related: &[Collection]) -> Result<Totals>;

    /// Returns a page of the selected items; ties are in the order of ids. MUST return
    /// `ParentNotFound` when the scope's parent does not exist. The items are at least as new as
    /// the revision, and in the state that was selected. All items of a scope are counted exactly;
    /// matches up to [`COUNTED_MATCHES`](crate::query::COUNTED_MATCHES). A search with more matches
    /// MUST list that number of the newest. A page without items is no error here. The counts by
    /// value MUST cover all items of the query, at the state of the page.
    async fn page(&self, reach: &Reach, query: &PageQuery) -> Result<Arc<ListedPage>>;

    /// Returns the current changes of the selected items at one moment, in the requested order. A
    /// snapshot: the items can be read by these changes later. Ignores position, limit and counts
    /// of the query. It costs a few bytes of memory for each item.
    async fn select(&self, reach: &Reach, query: &PageQuery) -> Result<Vec<Sequence>>;

    /// Returns the most frequent values of a member that the [collection](Collection::spec) counts,
    /// at most `limit`. For the name of a sum it returns the months with the largest sums, as
    /// `2026-01`, in hundredths. The counts MUST be those at one point of the change log, which MAY
    /// be a little before its end. MUST NOT read the items, unless the reach has a condition.
    async fn value_counts(&self, reach: &Reach, member: &str, limit: u64) -> Result<ValueCounts>;

    /// Stores a new item at version 1. MUST return `ParentNotFound` when the scope's parent does
    /// not exist, and `ItemNotFound` when the continued item does not exist.
    async fn insert(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem>;

    /// Writes all items as [`insert`](Self::insert) and [`update`](Self::update) do, or none. MUST
    /// return the error of an item that cannot be written. Each is remembered by its own key. No
    /// item continues another of them; items and keys are unique.
    async fn write_all(
        &self,
        collection: Collection,
        changes: Vec<ItemChange>,
        metadata: WriteMetadata,
    ) -> Result<()>;

    /// Stores a removed item at the version after its removal, with its first creation time. MUST
    /// return `ParentNotFound` when the scope's parent does not exist, `VersionConflict` when the
    /// item exists, and `ItemNotFound` when it never did. The continued item need not exist.
    async fn restore(
        &self,
        scope: Scope,
        item: NewItem,
        metadata: WriteMetadata,
    ) -> Result<ShownItem>;

    /// Stores new members at the next version. MUST return `ItemNotFound` when the scope does not
    /// hold the item and `VersionConflict` when it is not at the expected version. `updated_at`
    /// MUST NOT go back, even if the clock does.
    async fn update(
        &self,
        scope: Scope,
        replacement: Replacement,
        kind: WriteOperation,
        metadata: WriteMetadata,
    ) -> Result<ShownItem>;

    /// Removes an item and all items that belong to it. MUST return `ItemNotFound` when the scope
    /// does not hold it. MUST return `VersionConflict` when it is not at the expected version, or
    /// when an item outside the warrant's [limits](Warrant::deletable) belongs to it at the time of
    /// the write.
    async fn delete(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
        metadata: WriteMetadata,
    ) -> Result<()>;

    /// Replaces the whole collection in one transaction: updates the replacements, inserts the
    /// additions and removes all other items. MUST return `VersionConflict` when a replaced item is
    /// gone or not at its expected version, or the collection not at the expected revision. MUST
    /// return the time of the write and its revision, which `totals` returns until the next write.
    async fn replace_all(
        &self,
        collection: Collection,
        content: CollectionContent,
        metadata: WriteMetadata,
    ) -> Result<CollectionWrite>;

    /// Returns the result of an earlier write with this caller and key, unless the key had expired
    /// by the time of this change.
    async fn answered(&self, metadata: &WriteMetadata) -> Result<Option<Answered>>;
}
