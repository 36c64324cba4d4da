//! The writes, and the read-modify-write that they share.

use std::sync::Arc;

use domain::{
    Collection, Content, ItemId, Members, Operation, Pointer, Violation, Violations, WriteOperation,
};

use tracing::Instrument as _;

use super::ResourceService;
use super::listing::Listing;
use super::permission::Origin;
use super::replace_all::{Judged, ReplacementBody};
use super::result::{Replaced, Written};
use super::validate::{Draft, Edit, refused};
use crate::ports::{
    CollectionContent, CollectionWrite, NewItem, PageRevision, RepositoryError, Revision, ShownItem,
};
use crate::query::PageRequest;
use crate::trace_span;
use crate::{ApplicationError, ItemAddress, ItemWrite, Precondition, Result, WriteOptions};

/// The limit of retries for a write without a condition.
pub(super) const MAX_ATTEMPTS: usize = 200;

/// The limit in bytes of an item's growth during a patch. The memory of the request covers the item
/// as first read.
const MOST_GROWTH: usize = 64 * 1024;

const REPLACES_ALL: &[Operation] =
    &[Operation::Read, Operation::Create, Operation::Replace, Operation::Delete];

impl ResourceService {
    pub async fn create(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: Members,
    ) -> Result<Written> {
        let caller = &options.caller;
        let parents = self.scope(parent).parents();
        self.access.require_below(caller, parents, self.collection, &[Operation::Create])?;
        let _in_flight = self.in_flight.begin(options)?;
        let created = async {
            self.require_visible_parent(caller, parent).await?;
            self.require_parent(parent).await?;
            self.insert(options, parent, &body, None).await
        };
        self.unless_answered(options, created.await).await
    }

    /// Makes a new item that continues another: a second phase, a resubmission, an amendment. The
    /// condition is on the continued item.
    pub async fn continue_from(&self, write: &ItemWrite<'_>, body: Members) -> Result<Written> {
        let ItemWrite { options, item, .. } = *write;
        let caller = &options.caller;
        self.access.require(caller, self.collection, &[Operation::Read, Operation::Create])?;
        let _in_flight = self.in_flight.begin(options)?;
        let continued = async {
            let shown = self.find_whole(caller, item).await?;
            self.check(write, &shown).await?;
            self.insert(options, item.parent, &body, Some(item.id)).await
        };
        self.unless_answered(options, continued.await).await
    }

    pub async fn replace(&self, write: &ItemWrite<'_>, body: Members) -> Result<Written> {
        self.change(write, Edit::Replace(&body), None).await
    }

    pub async fn to_patch(&self, write: &ItemWrite<'_>) -> Result<ShownItem> {
        self.current(write, Operation::Patch).await
    }

    /// Applies a merge patch (RFC 7396) to the item from [`to_patch`](Self::to_patch). A patch
    /// without changes writes nothing. Fails if other writes enlarge the item much in the meantime.
    pub async fn patch(
        &self,
        write: &ItemWrite<'_>,
        stored: ShownItem,
        patch: Members,
    ) -> Result<Written> {
        self.change(write, Edit::Patch(&patch), Some(stored)).await
    }

    /// Removes an item and the items below it. Requires `delete` on each of them.
    pub async fn delete(&self, write: &ItemWrite<'_>) -> Result<()> {
        let ItemWrite { options, item, .. } = *write;
        for history in self.attempts(options) {
            let shown = self.current(write, Operation::Delete).await?;
            let read_set = self.decide_removal(options, &shown).await?;
            if options.is_dry_run {
                return Ok(());
            }
            let operations = &[Operation::Delete];
            let metadata = self.metadata(options, operations, read_set, &Violations::default())?;
            let metadata = metadata.decided_in(history);
            let (scope, version) = (self.scope(item.parent), shown.item.version);
            match self.ports.items.delete(scope, item.id, version, metadata).await {
                Err(RepositoryError::VersionConflict) => {}
                done => return Ok(done?),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    /// Replaces the collection with the given elements: those with a known `id` keep it, the others
    /// get one. Returns the `first` page after this write, regardless of later ones.
    pub async fn replace_all(
        &self,
        options: &WriteOptions,
        precondition: &Precondition<PageRevision>,
        body: &ReplacementBody,
        first: &PageRequest,
    ) -> Result<Replaced> {
        self.access.require_whole(&options.caller, self.collection, REPLACES_ALL)?;
        let caller = &options.caller;
        let visibility = self.access.visibility(caller, self.collection, &first.view);
        for history in self.attempts(options) {
            let mut related = first.view.related(self.collection);
            related.retain(|collection| visibility.has_all(*collection));
            let unseen = &visibility.limited();
            let expected = self.expected_revision(options, precondition, unseen, &related).await?;
            let content = CollectionContent { expected, related, ..CollectionContent::default() };
            let Judged { content, items, warnings, read_set } =
                self.judge_all(options, body, content).instrument(trace_span!("rules")).await?;
            let written = if options.is_dry_run {
                Ok(CollectionWrite { time: self.ports.clock.now(), revision: Revision(0) })
            } else {
                let metadata = self.metadata(options, REPLACES_ALL, read_set, &warnings)?;
                let metadata = metadata.decided_in(history);
                self.ports.items.replace_all(self.collection, content, metadata).await
            };
            match written {
                Err(RepositoryError::VersionConflict) => {}
                written => {
                    let listing = self.first_page_of(items, written?, first).await?;
                    let content = Arc::clone(&listing.content);
                    let content = self.page_seen_by(caller, &visibility, content).await?;
                    let listing = Listing { content, visibility, ..listing };
                    return Ok(Replaced { listing, warnings });
                }
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }
}

impl ResourceService {
    /// Inserts a new item. Retries if the basis of the decision has changed.
    async fn insert(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: &Members,
        continues: Option<ItemId>,
    ) -> Result<Written> {
        let item = ItemAddress { parent, id: self.ports.ids.next_id() };
        for history in self.attempts(options) {
            if continues.is_some() {
                // The continued item was read, and its version compared, before.
                self.require_history(options)?;
            }
            let draft = Draft::of(self.collection, body, continues);
            let origin = Origin::New { continues };
            let (create, decision) = (WriteOperation::Create, self.decision());
            let (warnings, read_set) =
                self.decide(options, create, item, origin, &draft, decision).await?;
            let addition = self.new_item(item.id, draft.after, continues);
            let stored = if options.is_dry_run {
                Ok(self.would_be_inserted(&options.caller, parent, addition).await?)
            } else {
                let metadata = self.metadata(options, &[Operation::Create], read_set, &warnings)?;
                let metadata = metadata.decided_in(history);
                self.ports.items.insert(self.scope(parent), addition, metadata).await
            };
            if let Some(written) = self.written(options, stored, warnings).await? {
                return Ok(written);
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    /// Returns the current item after it checked permission and condition.
    pub(super) async fn current(
        &self,
        write: &ItemWrite<'_>,
        operation: Operation,
    ) -> Result<ShownItem> {
        let ItemWrite { options, item, .. } = *write;
        let operations = &[Operation::Read, operation];
        self.access.require(&options.caller, self.collection, operations)?;
        let shown = self.find_whole(&options.caller, item).await?;
        self.require_on(&options.caller, operation, &shown).await?;
        self.check(write, &shown).await?;
        Ok(shown)
    }

    /// The read-modify-write of an item. The first attempt uses the item `stored`.
    pub(super) async fn change(
        &self,
        write: &ItemWrite<'_>,
        edit: Edit<'_>,
        stored: Option<ShownItem>,
    ) -> Result<Written> {
        self.change_from(write, edit, stored).await.map(|(written, _)| written)
    }

    /// Also returns whether the item had content before.
    pub(super) async fn change_from(
        &self,
        write: &ItemWrite<'_>,
        edit: Edit<'_>,
        mut stored: Option<ShownItem>,
    ) -> Result<(Written, bool)> {
        let ItemWrite { options, item, .. } = *write;
        let operation = edit.operation();
        let size = |shown: &ShownItem| shown.item.members.len();
        let most = stored.as_ref().map_or(usize::MAX, |stored| size(stored) + MOST_GROWTH);
        for history in self.attempts(options) {
            let shown = match stored.take() {
                Some(stored) => stored,
                None => self.current(write, operation.into()).await?,
            };
            if size(&shown) > most {
                break;
            }
            let (own, mut decision) = (ItemAddress::of(&shown.item), self.decision());
            let visible = self.visible_members(&options.caller, &shown.item, &mut decision).await?;
            let had_content = Content::encoded_in(&shown.item.members).is_some();
            if !edit.changes_content(&shown.item, visible.as_ref())? {
                let unchanged = Written { shown, warnings: Violations::default() };
                return Ok((self.written_by(&options.caller, unchanged).await, had_content));
            }
            let draft = Draft::edited(self.collection, edit, &shown.item, visible)?;
            self.require_space_after(&shown.item, &draft.after, &mut decision).await?;
            let origin = Origin::Stored(&shown);
            let (warnings, read_set) =
                self.decide(options, operation, own, origin, &draft, decision).await?;
            let replacement = self.new_item(item.id, draft.after, None).in_place_of(&shown.item);
            if operation == WriteOperation::Patch && replacement.members == shown.item.members {
                let written = Written { shown, warnings };
                return Ok((self.written_by(&options.caller, written).await, had_content));
            }
            self.require_size(replacement.members.len()).map_err(refused)?;
            let stored = if options.is_dry_run {
                Ok(self.would_be_updated(shown, replacement).await?)
            } else {
                let operations = &[operation.into()];
                let metadata = self.metadata(options, operations, read_set, &warnings)?;
                let metadata = metadata.decided_in(history);
                let scope = self.scope(item.parent);
                self.ports.items.update(scope, replacement, edit.logged(), metadata).await
            };
            if let Some(written) = self.written(options, stored, warnings).await? {
                return Ok((written, had_content));
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    /// The outcome of an attempt to write one item; `None` if the decision must be retried.
    pub(super) async fn written(
        &self,
        options: &WriteOptions,
        stored: Result<ShownItem, RepositoryError>,
        warnings: Violations,
    ) -> Result<Option<Written>> {
        match stored {
            Err(RepositoryError::VersionConflict) => Ok(None),
            // A retry, or another instance was faster.
            Err(RepositoryError::AnsweredBefore) => self.written_before(options).await,
            stored => {
                let written = Written { shown: stored?, warnings };
                Ok(Some(self.written_by(&options.caller, written).await))
            }
        }
    }

    /// Refuses an item that grew beyond the size of any request.
    pub(super) fn require_size(&self, size: usize) -> Result<(), Violation> {
        let largest = self.limits.largest;
        if size <= largest {
            return Ok(());
        }
        // Its size would tell that of hidden members.
        let detail = format!(
            "The item would have more than {largest} bytes. Remove members, or split the item."
        );
        Err(Violation::new(Pointer::root(), "item_too_large", detail))
    }

    /// The revision on which a replacement is decided, if the client set a condition.
    async fn expected_revision(
        &self,
        options: &WriteOptions,
        precondition: &Precondition<PageRevision>,
        unseen: &[Collection],
        related: &[Collection],
    ) -> Result<Option<Revision>> {
        if !precondition.is_conditional() {
            return Ok(None);
        }
        let revision = self.ports.items.totals(&self.everything(), related).await?.revision;
        let current = PageRevision { revision, unseen: unseen.to_vec() };
        self.require_history(options)?;
        if precondition.excludes(&current) {
            Err(ApplicationError::CollectionChanged { current })
        } else {
            Ok(Some(revision))
        }
    }

    async fn check(&self, write: &ItemWrite<'_>, shown: &ShownItem) -> Result<()> {
        if write.precondition.is_conditional() {
            self.require_history(write.options)?;
        }
        let current = shown.item.version;
        if write.precondition.excludes(&current) {
            let links = self.seen_by(&write.options.caller, shown.clone()).await.links;
            return Err(ApplicationError::PreconditionFailed { current, links });
        }
        Ok(())
    }

    /// Returns the history of each attempt of a write, known before its reads. The first one may use
    /// items that were read since the request began.
    pub(super) fn attempts(&self, options: &WriteOptions) -> impl Iterator<Item = Arc<str>> {
        let mut first = options.history.clone();
        let next = move || first.take().unwrap_or_else(|| self.ports.changes.history_id());
        std::iter::repeat_with(next).take(MAX_ATTEMPTS)
    }

    /// Rejects a condition from another history, for example after a failover. Its numbers are not
    /// comparable.
    pub(super) fn require_history(&self, options: &WriteOptions) -> Result<()> {
        match &options.history {
            Some(history) if *history != self.ports.changes.history_id() => {
                Err(ApplicationError::Store(RepositoryError::Unavailable))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn new_item(
        &self,
        id: ItemId,
        members: Members,
        continues: Option<ItemId>,
    ) -> NewItem {
        let references = self.collection.references_in(members.encoded());
        NewItem { id, members: members.into_encoded(), continues, references }
    }
}
