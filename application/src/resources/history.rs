//! The history of items: versions, comparison of versions, past states and restoration.

mod dossier;

use std::sync::Arc;

use domain::{Item, ItemId, Members, Operation, Pointer, Version, WriteOperation};
use jiff::Timestamp;

use super::listing::{Embedded, Listing, cut, require_within};
use super::permission::{Origin, refused_members};
use super::validate::{Draft, Edit, stored_members};
use super::visibility::missing;
use super::{ResourceService, Written};
use crate::ports::{LoggedChange, NewItem, PastPageQuery, PastVersion, Reach, Scope, ShownItem};
use crate::query::{MemberNames, PageRequest, PageStart, View};
use crate::{ApplicationError, Caller, ItemAddress, ItemWrite, Result};

pub use dossier::{Dossier, PointInTime};

/// The operations that a read of the past requires, and every restoration.
const PAST: &[Operation] = &[Operation::Read, Operation::History];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionPage {
    pub versions: Vec<LoggedChange>,
    /// The last version, which equals the number of versions.
    pub latest: Version,
    pub exists: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub written: Written,
    pub is_created: bool,
}

impl ResourceService {
    /// Returns a page of the versions of an item, which may have been removed.
    pub async fn versions(
        &self,
        caller: &Caller,
        item: ItemAddress,
        page: u64,
        page_size: u64,
    ) -> Result<VersionPage> {
        let reach = self.visible_history(caller, item).await?;
        let newest = self.newest_change(item).await?;
        let latest = newest.version;
        let skipped = i64::try_from((page - 1).saturating_mul(page_size)).unwrap_or(i64::MAX);
        let first = latest.number().saturating_sub(skipped);
        if first <= 0 {
            let page_count = Some(latest.number().unsigned_abs().div_ceil(page_size));
            return Err(ApplicationError::PageOutOfRange { page, page_count });
        }
        let first = Version::from_number(first);
        let mut versions = self.ports.history.versions(&reach, item.id, first, page_size).await?;
        // Pages are ranges of numbers, so that hidden versions leave gaps.
        let size = i64::try_from(page_size).unwrap_or(i64::MAX);
        versions.retain(|change| first.number() - change.version.number() < size);
        let permissions = self.access.permissions(caller);
        for change in &mut versions {
            change.kind = permissions.shown_kind(self.collection, change.kind);
        }
        Ok(VersionPage { versions, latest, exists: newest.kind != WriteOperation::Delete })
    }

    pub async fn version(
        &self,
        caller: &Caller,
        item: ItemAddress,
        version: Version,
    ) -> Result<(PastVersion, Item)> {
        let reach = self.visible_history(caller, item).await?;
        let found = self.ports.history.version(&reach, item.id, version).await?;
        let Some(mut found) = found else {
            let latest = self.newest_change(item).await?.version;
            return Err(ApplicationError::VersionNotFound { latest });
        };
        let kind = found.change.kind;
        found.change.kind = self.access.permissions(caller).shown_kind(self.collection, kind);
        if let Some(removed_at) = found.change.removed_at {
            return Err(ApplicationError::BodyRemoved { version, removed_at });
        }
        match found.item.clone() {
            Some(item) => Ok((found, item)),
            None => Err(ApplicationError::VersionGone { version, time: found.change.time }),
        }
    }

    /// Returns the members of two versions. Without `from` the first is the version before `to`, or
    /// an object without members before a creation.
    pub async fn versions_to_compare(
        &self,
        caller: &Caller,
        item: ItemAddress,
        from: Option<Version>,
        to: Version,
    ) -> Result<[Arc<str>; 2]> {
        let (made, to) = self.version(caller, item, to).await?;
        let previous = made.change.previous_version();
        let from = match (from, previous) {
            (Some(from), _) => self.version(caller, item, from).await?.1.members,
            (None, Some(previous)) => match self.version(caller, item, previous).await {
                // The caller may not see the version before.
                Err(ApplicationError::VersionNotFound { .. }) => Arc::from("{}"),
                found => found?.1.members,
            },
            (None, None) => Arc::from("{}"),
        };
        Ok([from, to.members])
    }

    /// Returns the item at a time, without members if that version's body was removed.
    pub async fn get_at(
        &self,
        caller: &Caller,
        item: ItemAddress,
        time: Timestamp,
        fields: Option<&MemberNames>,
    ) -> Result<(PastVersion, Item)> {
        let reach = self.visible_history(caller, item).await?;
        self.require_past(time).await?;
        let found = self.ports.history.version_at(&reach, item.id, time).await?;
        let found = found.ok_or(ApplicationError::ItemNotFound)?;
        let mut item = found.item.clone().ok_or(ApplicationError::ItemNotFound)?;
        cut(&mut item, fields);
        let seen = self.visible_parents(caller, item.parent.as_slice()).await?;
        item.parent = item.parent.filter(|parent| seen.contains(parent));
        Ok((found, item))
    }

    /// Returns a page of the collection, or of the items of `parent`, at a time.
    pub async fn list_at(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        time: Timestamp,
        request: &PageRequest,
    ) -> Result<Listing> {
        let reach = self.past_reach(caller, parent).await?;
        self.require_past(time).await?;
        if let Some(parent) = parent {
            let collection = self.collection.parent().ok_or(ApplicationError::ParentNotFound)?;
            let of_parent = Reach::of_the_service(Scope::of(collection));
            let found = self.ports.history.version_at(&of_parent, parent, time).await?;
            found.and_then(|found| found.item).ok_or(ApplicationError::ParentNotFound)?;
        }
        let query = PastPageQuery {
            position: request.query(self.collection).position,
            limit: request.page_size,
            is_counted: request.is_counted,
            naming: None,
        };
        let mut content = self.ports.history.page_at(&reach, time, &query).await?;
        let has_items = async {
            let position = PageStart::Offset(0);
            let first = PastPageQuery { position, limit: 1, is_counted: false, naming: None };
            Ok(!self.ports.history.page_at(&reach, time, &first).await?.items.is_empty())
        };
        require_within(request, &content, has_items).await?;
        let visibility = self.access.visibility(caller, self.collection, &View::default());
        let linking = content.items.iter().map(|listed| (self.collection, &listed.shown));
        let visible = self.visible_links(caller, &visibility, linking).await?;
        for listed in &mut content.items {
            cut(&mut listed.shown.item, request.view.fields.as_ref());
            visible.cut(self.collection, &mut listed.shown);
        }
        Ok(Listing::new(request, content.into(), Embedded::default()))
    }

    /// Restores the version that [`version`](Self::version) returned. Returns the error in `past`
    /// unless the request was already answered. A removed item returns under its id. Current rules
    /// apply and can refuse a version that they once accepted.
    pub async fn restore(
        &self,
        write: &ItemWrite<'_>,
        past: Result<(PastVersion, Item)>,
    ) -> Result<Restored> {
        let ItemWrite { options, item, .. } = *write;
        self.access.require(&options.caller, self.collection, PAST)?;
        let _in_flight = self.in_flight.begin(options)?;
        if let Some(answered) = self.answered(options).await? {
            let is_created = answered.kind == WriteOperation::Create;
            let written = self.written_by(&options.caller, answered.into()).await;
            return Ok(Restored { written, is_created });
        }
        let (version, past) = past?;
        if version.is_cut {
            let detail = "You do not see every member of this version, so you cannot restore it. Send the members that you want to change in a PATCH.";
            return Err(refused_members(&options.caller, [(Pointer::root(), detail)]));
        }
        let body = stored_members(&past)?;
        for history in self.attempts(options) {
            // The version was read before.
            self.require_history(options)?;
            let reach = self.reach(&options.caller, item.parent).await?;
            if self.ports.items.find(&reach, item.id).await?.is_some() {
                match self.change(write, Edit::Restore(&body), None).await {
                    // A concurrent request removed the item.
                    Err(ApplicationError::ItemNotFound) => {}
                    changed => return Ok(Restored { written: changed?, is_created: false }),
                }
            } else if let Some(written) = self.bring_back(write, &past, &body, history).await? {
                return Ok(Restored { written, is_created: true });
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }
}

impl ResourceService {
    /// Requires that the caller may read the history of the item as it is now. Of a removed item
    /// the last version decides.
    async fn visible_history(&self, caller: &Caller, item: ItemAddress) -> Result<Reach> {
        let reach = self.past_reach(caller, item.parent).await?;
        if reach.condition().is_none() {
            return Ok(reach);
        }
        let newest = match self.newest_change(item).await {
            Ok(newest) => self.ports.history.version(&reach, item.id, newest.version).await?,
            Err(ApplicationError::ItemNotFound) => None,
            Err(error) => return Err(error),
        };
        let missing = || missing(caller, &reach, ApplicationError::ItemNotFound);
        newest.map(|_| ()).ok_or_else(missing)?;
        Ok(reach)
    }

    /// Also finds a removed item.
    async fn newest_change(&self, item: ItemAddress) -> Result<LoggedChange> {
        let all = Reach::of_the_service(self.scope(item.parent));
        let newest = Version::from_number(i64::MAX);
        let changes = self.ports.history.versions(&all, item.id, newest, 1).await?;
        changes.into_iter().next().ok_or(ApplicationError::ItemNotFound)
    }

    /// Restores a removed item. Requires `create`. `None` if the decision must be retried.
    async fn bring_back(
        &self,
        write: &ItemWrite<'_>,
        past: &Item,
        body: &Members,
        history: Arc<str>,
    ) -> Result<Option<Written>> {
        let ItemWrite { options, precondition, .. } = *write;
        let parents = self.scope(past.parent).parents();
        let creates = &[Operation::Create];
        self.access.require_below(&options.caller, parents, self.collection, creates)?;
        if precondition.is.is_some() {
            return Err(ApplicationError::ItemDeleted);
        }
        self.require_parent(past.parent).await?;
        let draft = Draft::restored(self.collection, body, past.id);
        let own = ItemAddress::of(past);
        let (create, origin) = (WriteOperation::Create, Origin::Removed(past));
        let (warnings, read_set) =
            self.decide(options, create, own, origin, &draft, self.decision()).await?;
        let item = self.new_item(past.id, draft.after, past.continues);
        let stored = if options.is_dry_run {
            Ok(self.would_be_restored(&options.caller, past, item).await?)
        } else {
            let metadata = self.metadata(options, &[Operation::Create], read_set, &warnings)?;
            let metadata = metadata.decided_in(history);
            self.ports.items.restore(self.scope(past.parent), item, metadata).await
        };
        self.written(options, stored, warnings).await
    }

    async fn would_be_restored(
        &self,
        caller: &Caller,
        past: &Item,
        item: NewItem,
    ) -> Result<ShownItem> {
        let newest = self.newest_change(ItemAddress::of(past)).await?;
        let mut shown = self.would_be_inserted(caller, past.parent, item).await?;
        shown.item.created_by.clone_from(&past.created_by);
        shown.item.version = newest.version.next();
        shown.item.created_at = past.created_at;
        if let Some(continued) = past.continues {
            let found = self.ports.items.find(&self.everything(), continued).await?;
            shown.links.continues = found.map(|found| found.item.id);
        }
        Ok(shown)
    }

    /// Rejects a time in the future, whose state is unknown. The time of a committed write is past,
    /// even if it is ahead of this machine's clock.
    async fn require_past(&self, time: Timestamp) -> Result<()> {
        if time <= self.ports.clock.now() {
            return Ok(());
        }
        let is_past = self.ports.history.latest_time().await?.is_some_and(|latest| time <= latest);
        if is_past { Ok(()) } else { Err(ApplicationError::InFuture) }
    }
}
