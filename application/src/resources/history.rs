//! The history of items: their versions, the differences between two versions, the state at a given
//! time, and the restoration of a version.

use std::sync::Arc;

use domain::{Item, ItemId, Members, Resource, Version, WriteOperation};
use jiff::Timestamp;

use super::listing::{self, Embedded, Listing};
use super::rules::Decision;
use super::validate::{Draft, Edit, Identity};
use super::write::MAX_ATTEMPTS;
use super::{ResourceService, Written};
use crate::ports::{
    ChangeKind, Links, LoggedChange, NewItem, PastPageQuery, PastVersion, RepositoryError, Scope,
    ShownItem,
};
use crate::query::{MemberNames, PageRequest, PageStart};
use crate::{ApplicationError, Caller, Precondition, WriteOptions};

/// Some versions of an item, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionPage {
    /// Those of this page.
    pub versions: Vec<LoggedChange>,
    /// The last version there is, which is how many there are.
    pub latest: Version,
    /// True when the item exists.
    pub exists: bool,
}

/// An item after one of its versions was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The item as it is now.
    pub written: Written,
    /// True when the item had been removed.
    pub is_created: bool,
}

impl<R: Resource> ResourceService<R> {
    /// A page of the versions of an item, which may have been removed.
    ///
    /// # Errors
    /// `ItemNotFound` when there never was such an item; `PageOutOfRange`; `Store`.
    pub(super) async fn versions(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        page: u64,
        page_size: u64,
    ) -> Result<VersionPage, ApplicationError> {
        let newest = self
            .history
            .versions(self.scope(parent), id, Version::from_number(i64::MAX), 1)
            .await?;
        let newest = newest.first().ok_or(ApplicationError::ItemNotFound)?;
        let latest = newest.version;
        let skipped = (page - 1).saturating_mul(page_size);
        let first = i64::try_from(skipped)
            .ok()
            .map(|skipped| latest.number().saturating_sub(skipped))
            .filter(|first| *first > 0);
        let Some(first) = first else {
            let page_count = Some(latest.number().unsigned_abs().div_ceil(page_size));
            return Err(ApplicationError::PageOutOfRange { page, page_count });
        };
        let versions = self
            .history
            .versions(self.scope(parent), id, Version::from_number(first), page_size)
            .await?;
        Ok(VersionPage { versions, latest, exists: newest.kind != ChangeKind::Deleted })
    }

    /// An item as a version of it was.
    ///
    /// # Errors
    /// `ItemNotFound` when there never was such an item; `VersionNotFound`; `VersionGone` for a
    /// removal; `Store`.
    pub(super) async fn version(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        version: Version,
    ) -> Result<(PastVersion, Item), ApplicationError> {
        let Some(found) = self.history.version(self.scope(parent), id, version).await? else {
            let last = self
                .history
                .versions(self.scope(parent), id, Version::from_number(i64::MAX), 1)
                .await?;
            let last = last.first().ok_or(ApplicationError::ItemNotFound)?;
            return Err(ApplicationError::VersionNotFound { latest: last.version });
        };
        match found.item.clone() {
            Some(item) => Ok((found, item)),
            None => Err(ApplicationError::VersionGone { version, time: found.change.time }),
        }
    }

    /// The members of two versions of an item, that they may be compared. Without `from` the first
    /// is of the one before `to`; before there was an item there was nothing, which is an object
    /// without members.
    ///
    /// # Errors
    /// Those of [`version`](Self::version).
    pub(super) async fn versions_to_compare(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        from: Option<Version>,
        to: Version,
    ) -> Result<[Arc<str>; 2], ApplicationError> {
        let (made, to) = self.version(caller, parent, id, to).await?;
        let from = from.or_else(|| made.predecessor());
        let from = match from {
            Some(from) => Some(self.version(caller, parent, id, from).await?.1),
            None => None,
        };
        Ok([from.map_or_else(|| Arc::from("{}"), |from| from.members), to.members])
    }

    /// An item as it was at a time.
    ///
    /// # Errors
    /// `InFuture`; `ItemNotFound` when there was none then; `Store`.
    pub(super) async fn get_at(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        time: Timestamp,
        fields: Option<&MemberNames>,
    ) -> Result<(PastVersion, Item), ApplicationError> {
        self.require_past(time).await?;
        let found = self.history.version_at(self.scope(parent), id, time).await?;
        let found = found.ok_or(ApplicationError::ItemNotFound)?;
        let mut item = found.item.clone().ok_or(ApplicationError::ItemNotFound)?;
        cut(&mut item, fields);
        Ok((found, item))
    }

    /// A page of what the collection, or the part of it that belongs to `parent`, held at a time.
    ///
    /// # Errors
    /// `InFuture`; `ParentNotFound` when there was no owner then; `PageOutOfRange`; `Store`.
    pub(super) async fn list_at(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        time: Timestamp,
        request: &PageRequest,
    ) -> Result<Listing, ApplicationError> {
        self.require_past(time).await?;
        if let Some(parent) = parent {
            let collection = self.collection.parent().ok_or(ApplicationError::ParentNotFound)?;
            let owner =
                self.history.version_at(Scope { collection, parent: None }, parent, time).await?;
            owner.and_then(|owner| owner.item).ok_or(ApplicationError::ParentNotFound)?;
        }
        let query = PastPageQuery {
            position: request.query(self.collection).position,
            limit: request.page_size,
            is_counted: request.is_counted,
        };
        let mut content = self.history.page_at(self.scope(parent), time, &query).await?;
        let lies_beyond = if let Some(is_known) = listing::lies_beyond(request, &content) {
            is_known
        } else {
            let first =
                PastPageQuery { position: PageStart::Offset(0), limit: 1, is_counted: false };
            !self.history.page_at(self.scope(parent), time, &first).await?.items.is_empty()
        };
        if lies_beyond {
            let page_count = listing::page_count(content.total, request.page_size);
            return Err(ApplicationError::PageOutOfRange { page: request.page, page_count });
        }
        for listed in &mut content.items {
            cut(&mut listed.shown.item, request.view.fields.as_ref());
        }
        Ok(Listing::new(request, content.into(), Embedded::default()))
    }

    /// Makes an item what it was in a version. One that was removed is there again under its id.
    ///
    /// # Errors
    /// Those of [`version`](Self::version); `ParentNotFound` when what it belonged to is gone;
    /// `PreconditionFailed`; `ItemDeleted` for a condition on the version of an item that was
    /// removed; `Invalid` when rules refuse today what they once let pass; `KeyInUse`; `KeyReused`;
    /// `TooManyConflicts`; `Store`.
    pub(super) async fn restore(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        version: Version,
        precondition: &Precondition<Version>,
    ) -> Result<Restored, ApplicationError> {
        let _in_flight = self.in_flight.begin(options)?;
        if let Some(answered) = self.answered(options).await? {
            return Ok(Restored {
                is_created: answered.kind == ChangeKind::Created,
                written: answered.into(),
            });
        }
        let (_, past) = self.version(&options.caller, parent, id, version).await?;
        let body = Members::read(past.members.as_bytes()).ok().flatten();
        let body = body.ok_or(ApplicationError::Store(RepositoryError::Corrupt))?;
        for _ in 0..MAX_ATTEMPTS {
            if self.repository.find(self.scope(parent), id).await?.is_some() {
                match self
                    .change(options, parent, id, precondition, &Edit::Replace(body.clone()))
                    .await
                {
                    // It was removed just now.
                    Err(ApplicationError::ItemNotFound) => continue,
                    changed => return Ok(Restored { written: changed?, is_created: false }),
                }
            }
            match self.bring_back(options, &past, precondition, &body).await {
                // Another was faster.
                Err(ApplicationError::TooManyConflicts) => {}
                restored => return Ok(Restored { written: restored?, is_created: true }),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    /// Stores an item again that was removed.
    async fn bring_back(
        &self,
        options: &WriteOptions,
        past: &Item,
        precondition: &Precondition<Version>,
        body: &Members,
    ) -> Result<Written, ApplicationError> {
        if precondition.is.is_some() {
            return Err(ApplicationError::ItemDeleted);
        }
        if let Some(parent) = past.parent {
            self.require_owner(parent).await?;
        }
        let decision = self.decision();
        let context = decision.context(options, WriteOperation::Create, past.id, past.parent);
        let draft = Draft::<R>::of(body, Identity::Named(past.id));
        let Decision { after, warnings, read_set } =
            self.decide(decision, &context, None, draft).await?;
        let item = self.new_item(past.id, after, past.continues);
        if options.is_dry_run {
            return Ok(Written { shown: self.would_be_restored(past, item).await?, warnings });
        }
        match self
            .repository
            .restore(self.scope(past.parent), item, self.change_on(options, read_set, &warnings))
            .await
        {
            Err(RepositoryError::AnsweredBefore) => {
                Ok(self.answered_meanwhile(options).await?.into())
            }
            done => Ok(Written { shown: done?, warnings }),
        }
    }

    async fn would_be_restored(
        &self,
        past: &Item,
        item: NewItem,
    ) -> Result<ShownItem, ApplicationError> {
        let last = self
            .history
            .last_version(self.scope(past.parent), past.id)
            .await?
            .ok_or(ApplicationError::ItemNotFound)?;
        let mut shown = self.would_be_inserted(past.parent, item).await?;
        shown.item.version = last.latest.next();
        shown.item.created_at = past.created_at;
        let continued = match past.continues {
            Some(continued) => {
                self.repository.find(self.scope(None), continued).await?.map(|shown| shown.item.id)
            }
            None => None,
        };
        shown.links = Links { continues: continued, ..shown.links };
        Ok(shown)
    }

    /// Rejects a time in the future, whose state is unknown. A time that was assigned to a write is
    /// past, even if it is ahead of this machine's clock.
    async fn require_past(&self, time: Timestamp) -> Result<(), ApplicationError> {
        if time <= self.clock.now() {
            return Ok(());
        }
        let last = self.history.last_change().await?;
        if last.is_some_and(|last| time <= last.time) {
            Ok(())
        } else {
            Err(ApplicationError::InFuture)
        }
    }
}

/// Leaves an item the named members alone.
fn cut(item: &mut Item, fields: Option<&MemberNames>) {
    let Some(fields) = fields else { return };
    if let Ok(Some(members)) = Members::read(item.members.as_bytes()) {
        item.members = members
            .retain(|name, _| fields.iter().any(|field| field.as_ref() == name))
            .into_encoded();
    }
}
