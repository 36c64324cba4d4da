//! The use cases of every collection.
//!
//! [`ResourceUseCases`] is the inbound port, and [`ResourceService`] its one implementation. `write`
//! is the read-modify-write, `validate` reads a body, `rules` applies the business rules, `read_set`
//! is what a decision was based on, `replace_all` validates a whole collection, `result` is the
//! outcome of a write, `history` the past, `idempotency` recognises repeated requests, and `dry_run`
//! predicts a write.

mod audit;
mod dry_run;
mod history;
mod idempotency;
mod listing;
mod read_set;
mod replace_all;
mod result;
mod rules;
mod use_cases;
mod validate;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Collection, Document, Fields, Item, ItemId, Members, Proposal, Resource, Verdict, Version,
    Violations, WriteOperation,
};
use jiff::{SignedDuration, Timestamp};

use crate::ports::{
    Clock, CollectionWrite, History, IdGenerator, ItemRepository, ListedPage, PastVersion, Ports,
    RepositoryError, Revision, RuleBook, Scope, ShownItem,
};
use crate::query::{MemberNames, PageQuery, PageRequest, PageStart, SortPosition, View};
use crate::{ApplicationError, Caller, Precondition, WriteOptions};

pub use audit::{Audited, audited_operation};
pub use history::{Restored, VersionPage};
use idempotency::InFlightKeys;
pub use listing::{AdjacentPage, Embedded, EmbeddedItems, Listing, MOST_EMBEDDED};
use replace_all::Judged;
pub use result::{Replaced, Written};
pub use use_cases::{ReplacementBody, ResourceUseCases};
use validate::{Edit, stored_members};
use write::{MAX_ATTEMPTS, check};

/// The limits that an operator may set for the use cases.
#[derive(Clone, Copy, Debug)]
pub struct ResourceLimits {
    /// Bytes of members an item may have: many small patches must not make an item that no single
    /// request could.
    pub largest: usize,
    /// How long a request is known by its key.
    pub key_lifetime: SignedDuration,
}

/// The use cases of a collection, for the kind of item that its table row says it holds.
#[must_use]
pub fn resource_use_cases(
    collection: Collection,
    ports: &Ports,
    limits: ResourceLimits,
) -> Arc<dyn ResourceUseCases> {
    match collection.spec().fields {
        Fields::Typed(_) => Arc::new(ResourceService::<Proposal>::new(collection, ports, limits)),
        Fields::Open(_) => Arc::new(ResourceService::<Document>::new(collection, ports, limits)),
    }
}

/// The use cases of a collection of items of kind `R`.
pub struct ResourceService<R> {
    collection: Collection,
    repository: Arc<dyn ItemRepository>,
    history: Arc<dyn History>,
    ids: Arc<dyn IdGenerator>,
    clock: Arc<dyn Clock>,
    rules: Arc<dyn RuleBook>,
    limits: ResourceLimits,
    in_flight: InFlightKeys,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> ResourceService<R> {
    /// The use cases of `collection`.
    #[must_use]
    pub fn new(collection: Collection, ports: &Ports, limits: ResourceLimits) -> Self {
        Self {
            collection,
            repository: Arc::clone(&ports.items),
            history: Arc::clone(&ports.history),
            ids: Arc::clone(&ports.ids),
            clock: Arc::clone(&ports.clock),
            rules: Arc::clone(&ports.rules),
            limits,
            in_flight: InFlightKeys::default(),
            resource: PhantomData,
        }
    }

    fn scope(&self, parent: Option<ItemId>) -> Scope {
        Scope { collection: self.collection, parent }
    }

    async fn find(
        &self,
        parent: Option<ItemId>,
        id: ItemId,
    ) -> Result<ShownItem, ApplicationError> {
        self.repository.find(self.scope(parent), id).await?.ok_or(ApplicationError::ItemNotFound)
    }

    /// Returns true when a page lies beyond the last one. It reads the first page only when nothing
    /// was counted.
    async fn lies_beyond(
        &self,
        parent: Option<ItemId>,
        request: &PageRequest,
        query: &PageQuery,
        content: &ListedPage,
    ) -> Result<bool, ApplicationError> {
        if let Some(is_known) = listing::lies_beyond(request, content) {
            return Ok(is_known);
        }
        let first = PageQuery { position: PageStart::Offset(0), limit: 1, ..query.clone() };
        Ok(!self.repository.page(self.scope(parent), &first).await?.items.is_empty())
    }

    /// An unknown owner is reported before the body is judged; the store checks again when it
    /// writes.
    async fn require_owner(&self, parent: ItemId) -> Result<(), ApplicationError> {
        let owner = self.collection.parent().ok_or(ApplicationError::ParentNotFound)?;
        let found = self.repository.find(Scope { collection: owner, parent: None }, parent).await?;
        found.map(|_| ()).ok_or(ApplicationError::ParentNotFound)
    }

    /// The collections that items of this one refer to.
    fn referenced(&self) -> Vec<Collection> {
        self.collection.referenced().collect()
    }
}

#[async_trait]
impl<R: Resource> ResourceUseCases for ResourceService<R> {
    async fn list(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Listing, ApplicationError> {
        let query = request.query(self.collection);
        let content = self.repository.page(self.scope(parent), &query).await?;
        if self.lies_beyond(parent, request, &query, &content).await? {
            let page_count = listing::page_count(content.total, request.page_size);
            return Err(ApplicationError::PageOutOfRange { page: request.page, page_count });
        }
        let shown: Vec<_> = content.items.iter().map(|listed| &listed.shown).collect();
        let embedded =
            Embedded::find(self.repository.as_ref(), &request.view.embed, &shown).await?;
        Ok(Listing::new(request, content, embedded))
    }

    async fn revision(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<Revision>, ApplicationError> {
        let totals = self
            .repository
            .totals(self.scope(parent), &request.view.related(self.collection))
            .await?;
        let is_there = request.page == 1
            || request.position.is_some()
            || (request.selection.is_everything()
                && request.page <= totals.items.div_ceil(request.page_size));
        Ok(is_there.then_some(totals.revision))
    }

    async fn get(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        view: &View,
    ) -> Result<(ShownItem, Embedded), ApplicationError> {
        let shown = match &view.fields {
            None => self.find(parent, id).await?,
            Some(fields) => {
                let found = self.repository.find_fields(self.scope(parent), id, fields).await?;
                found.ok_or(ApplicationError::ItemNotFound)?
            }
        };
        let embedded = Embedded::find(self.repository.as_ref(), &view.embed, &[&shown]).await?;
        Ok((shown, embedded))
    }

    async fn examine(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        view: &View,
    ) -> Result<(ShownItem, Embedded, Verdict), ApplicationError> {
        let whole = View { fields: None, embed: view.embed.clone() };
        let (shown, embedded) = self.get(caller, parent, id, &whole).await?;
        let mut decision = self.decision();
        let context = decision.context(
            &WriteOptions::by(caller.clone()),
            WriteOperation::Replace,
            id,
            shown.item.parent,
        );
        let draft = Edit::Replace(stored_members(&shown)?).draft(&shown)?;
        let (_, verdict) = self.judge(&context, Some(&shown), draft, &mut decision).await?;
        Ok((shown, embedded, verdict))
    }

    async fn create(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: Members,
    ) -> Result<Written, ApplicationError> {
        let _in_flight = self.in_flight.begin(options)?;
        if let Some(answered) = self.answered(options).await? {
            return Ok(answered.into());
        }
        if let Some(parent) = parent {
            self.require_owner(parent).await?;
        }
        self.insert(options, parent, &body, None).await
    }

    async fn continue_from(
        &self,
        options: &WriteOptions,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<Written, ApplicationError> {
        let _in_flight = self.in_flight.begin(options)?;
        if let Some(answered) = self.answered(options).await? {
            return Ok(answered.into());
        }
        check(precondition, &self.find(None, id).await?)?;
        self.insert(options, None, &body, Some(id)).await
    }

    async fn replace(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<Written, ApplicationError> {
        self.change(options, parent, id, precondition, &Edit::Replace(body)).await
    }

    async fn patch(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        patch: Members,
    ) -> Result<Written, ApplicationError> {
        self.change(options, parent, id, precondition, &Edit::Patch(patch)).await
    }

    async fn delete(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
    ) -> Result<(), ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let shown = self.find(parent, id).await?;
            check(precondition, &shown)?;
            let read_set = self.decide_removal(options, &shown).await?;
            if options.is_dry_run {
                return Ok(());
            }
            let change = self.change_on(options, read_set, &Violations::default());
            match self.repository.delete(self.scope(parent), id, shown.item.version, change).await {
                Err(RepositoryError::VersionConflict) => {}
                done => return Ok(done?),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    async fn replace_all(
        &self,
        options: &WriteOptions,
        precondition: &Precondition<Revision>,
        body: &ReplacementBody,
        first: &PageRequest,
    ) -> Result<Replaced, ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let expected = self.expected_revision(precondition).await?;
            let Judged { content, items, warnings, read_set } =
                self.judge_all(options, body, expected).await?;
            if options.is_dry_run {
                let write = CollectionWrite { time: self.clock.now(), revision: Revision(0) };
                let listing = self.first_page_of(items, write, first).await?;
                return Ok(Replaced { listing, warnings });
            }
            match self
                .repository
                .replace_all(self.collection, content, self.change_on(options, read_set, &warnings))
                .await
            {
                Err(RepositoryError::VersionConflict) => {}
                written => {
                    let listing = self.first_page_of(items, written?, first).await?;
                    return Ok(Replaced { listing, warnings });
                }
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    async fn versions(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        page: u64,
        page_size: u64,
    ) -> Result<VersionPage, ApplicationError> {
        ResourceService::versions(self, caller, parent, id, page, page_size).await
    }

    async fn version(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        version: Version,
    ) -> Result<(PastVersion, Item), ApplicationError> {
        ResourceService::version(self, caller, parent, id, version).await
    }

    async fn versions_to_compare(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        from: Option<Version>,
        to: Version,
    ) -> Result<[Arc<str>; 2], ApplicationError> {
        ResourceService::versions_to_compare(self, caller, parent, id, from, to).await
    }

    async fn get_at(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        time: Timestamp,
        fields: Option<&MemberNames>,
    ) -> Result<(PastVersion, Item), ApplicationError> {
        ResourceService::get_at(self, caller, parent, id, time, fields).await
    }

    async fn list_at(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        time: Timestamp,
        request: &PageRequest,
    ) -> Result<Listing, ApplicationError> {
        ResourceService::list_at(self, caller, parent, time, request).await
    }

    async fn restore(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        version: Version,
        precondition: &Precondition<Version>,
    ) -> Result<Restored, ApplicationError> {
        ResourceService::restore(self, options, parent, id, version, precondition).await
    }

    async fn audit(
        &self,
        options: &WriteOptions,
        after: Option<SortPosition>,
    ) -> Result<Audited, ApplicationError> {
        ResourceService::audit(self, options, after).await
    }
}

#[cfg(test)]
mod tests;
