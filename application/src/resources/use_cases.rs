//! The inbound port: what can be done with the items of a collection.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Item, ItemId, Members, Pointer, Verdict, Version};
use jiff::Timestamp;

use super::audit::Audited;
use super::history::{Restored, VersionPage};
use super::listing::{Embedded, Listing};
use super::result::{Replaced, Written};
use crate::ports::{PastVersion, Revision, ShownItem};
use crate::query::{MemberNames, PageRequest, SortPosition, View};
use crate::{ApplicationError, Caller, Precondition, WriteOptions};

/// The elements of a collection's replacement as sent, each with its place in the body.
#[derive(Clone, Debug)]
pub struct ReplacementBody {
    /// Each element's place and its members; `None` where the element is no object.
    pub elements: Vec<(Pointer, Option<Members>)>,
}

/// The use cases of one collection. Every use case takes the caller, a write in its options.
#[async_trait]
pub trait ResourceUseCases: Send + Sync {
    /// A page of the collection, or of the part of it that belongs to `parent`.
    ///
    /// # Errors
    /// `ParentNotFound`; `PageOutOfRange` beyond the last page of a selection that is not empty;
    /// `TooMuchEmbedded`; `Store`.
    async fn list(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Listing, ApplicationError>;

    /// The revision that [`list`](Self::list) would give, without a look at any item; `None` where
    /// a look is needed to know whether there is such a page.
    ///
    /// # Errors
    /// `ParentNotFound`; `Store`.
    async fn revision(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<Revision>, ApplicationError>;

    /// One item, and what is shown beside it.
    ///
    /// # Errors
    /// `ItemNotFound`; `TooMuchEmbedded`; `Store`.
    async fn get(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        view: &View,
    ) -> Result<(ShownItem, Embedded), ApplicationError>;

    /// One item whole, what is shown beside it, and what the rules would say if it were replaced by
    /// itself now.
    ///
    /// # Errors
    /// `ItemNotFound`; `TooMuchEmbedded`; `Store`.
    async fn examine(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        view: &View,
    ) -> Result<(ShownItem, Embedded, Verdict), ApplicationError>;

    /// Makes a new item, which belongs to `parent` if there is one.
    ///
    /// # Errors
    /// `ParentNotFound`; `Invalid`; `KeyInUse`; `KeyReused`; `Store`.
    async fn create(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: Members,
    ) -> Result<Written, ApplicationError>;

    /// Makes a new item that continues the one named `id`: a second phase, a resubmission, an
    /// amendment. The condition is on the one that is continued.
    ///
    /// # Errors
    /// `ItemNotFound`; `PreconditionFailed`; `Invalid`; `KeyInUse`; `KeyReused`; `Store`.
    async fn continue_from(
        &self,
        options: &WriteOptions,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<Written, ApplicationError>;

    /// Replaces all members of an item.
    ///
    /// # Errors
    /// `ItemNotFound`; `PreconditionFailed`; `Invalid`; `TooManyConflicts`; `Store`.
    async fn replace(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<Written, ApplicationError>;

    /// Applies a merge patch (RFC 7396) to an item. A patch that changes nothing writes nothing.
    ///
    /// # Errors
    /// `ItemNotFound`; `PreconditionFailed`; `Invalid`; `TooManyConflicts`; `Store`.
    async fn patch(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        patch: Members,
    ) -> Result<Written, ApplicationError>;

    /// Removes an item and what belongs to it.
    ///
    /// # Errors
    /// `ItemNotFound`; `PreconditionFailed`; `Invalid` when a rule keeps it; `TooManyConflicts`; `Store`.
    async fn delete(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
    ) -> Result<(), ApplicationError>;

    /// Makes the collection hold exactly the given elements: those with a known `id` keep it, the
    /// others get one. Returns the `first` page of what this write left, whatever is written later.
    ///
    /// # Errors
    /// `CollectionChanged`; `Invalid` with the errors of all elements; `TooManyConflicts`; `Store`.
    async fn replace_all(
        &self,
        options: &WriteOptions,
        precondition: &Precondition<Revision>,
        body: &ReplacementBody,
        first: &PageRequest,
    ) -> Result<Replaced, ApplicationError>;

    /// A page of the versions of an item, which may have been removed.
    ///
    /// # Errors
    /// `ItemNotFound` when there never was such an item; `PageOutOfRange`; `Store`.
    async fn versions(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        page: u64,
        page_size: u64,
    ) -> Result<VersionPage, ApplicationError>;

    /// An item as a version of it was.
    ///
    /// # Errors
    /// `ItemNotFound` when there never was such an item; `VersionNotFound`; `VersionGone` for a
    /// removal; `Store`.
    async fn version(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        version: Version,
    ) -> Result<(PastVersion, Item), ApplicationError>;

    /// The members of two versions of an item, that they may be compared. Without `from` the first
    /// is of the one before `to`; before there was an item there was nothing, which is an object
    /// without members.
    ///
    /// # Errors
    /// Those of [`version`](Self::version).
    async fn versions_to_compare(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        from: Option<Version>,
        to: Version,
    ) -> Result<[Arc<str>; 2], ApplicationError>;

    /// An item as it was at a time.
    ///
    /// # Errors
    /// `InFuture`; `ItemNotFound` when there was none then; `Store`.
    async fn get_at(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        time: Timestamp,
        fields: Option<&MemberNames>,
    ) -> Result<(PastVersion, Item), ApplicationError>;

    /// A page of what the collection, or the part of it that belongs to `parent`, held at a time.
    ///
    /// # Errors
    /// `InFuture`; `ParentNotFound` when there was no owner then; `PageOutOfRange`; `Store`.
    async fn list_at(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        time: Timestamp,
        request: &PageRequest,
    ) -> Result<Listing, ApplicationError>;

    /// Makes an item what it was in a version. One that was removed is there again under its id.
    ///
    /// # Errors
    /// Those of [`version`](Self::version); `ParentNotFound` when what it belonged to is gone;
    /// `PreconditionFailed`; `ItemDeleted` for a condition on the version of an item that was
    /// removed; `Invalid` when rules refuse today what they once let pass; `KeyInUse`; `KeyReused`;
    /// `TooManyConflicts`; `Store`.
    async fn restore(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        version: Version,
        precondition: &Precondition<Version>,
    ) -> Result<Restored, ApplicationError>;

    /// Asks the rules of the book about the next items, as if each were replaced by itself now. A
    /// rule that does not judge replacements is asked about the first operation it judges.
    ///
    /// # Errors
    /// `Store`.
    async fn audit(
        &self,
        options: &WriteOptions,
        after: Option<SortPosition>,
    ) -> Result<Audited, ApplicationError>;
}
