//! The use cases of every group.
//!
//! Reads and writes of what is there now are here; `judging` is what a write makes of a body,
//! `ruling` what the business rules say of it, `basis` what they are told, `replacing` judges a
//! whole collection, `written` is what is answered beside the item, `history` what was, `retries`
//! tells requests that are sent again, and `dry_run` answers for writes that are not done.

use std::marker::PhantomData;
use std::sync::Arc;

use domain::{
    Collection, ItemId, Members, Pointer, Resource, Verdict, Version, Violation, Violations,
    WriteOperation,
};
use jiff::SignedDuration;

use crate::listing;
use crate::ports::{
    ChangeKind, Clock, History, IdGenerator, ItemRepository, ListedPage, NewItem, RepositoryError,
    Revision, RuleBook, Scope, ShownItem,
};
use crate::query::{PageQuery, Position};
use crate::{
    ApplicationError, Caller, Embedded, Listing, PageRequest, Precondition, View, WriteOptions,
};

mod audit;
mod basis;
mod dry_run;
mod history;
mod judging;
mod replacing;
mod retries;
mod ruling;
mod written;

pub use audit::{Audited, audited_operation};
pub use history::{Restored, VersionPage};
use judging::{Draft, Edit, Identity, refused, replacement_of, stored_members};
use replacing::Judged;
use retries::Running;
use ruling::Decision;
pub use written::{Replaced, Written};

/// How often a write without a condition starts over when others write the same item, before it
/// gives up.
const MAX_ATTEMPTS: usize = 200;

fn check(precondition: &Precondition<Version>, shown: &ShownItem) -> Result<(), ApplicationError> {
    if precondition.excludes(&shown.item.version) {
        return Err(ApplicationError::PreconditionFailed {
            current: shown.item.version,
            relations: shown.relations.clone(),
        });
    }
    Ok(())
}

/// The elements of a collection's replacement as sent, each with its place in the body.
#[derive(Clone, Debug)]
pub struct ReplacementBody {
    /// Each element's place and its members; `None` where the element is no object.
    pub elements: Vec<(Pointer, Option<Members>)>,
}

/// What the use cases of a group work with.
#[derive(Clone)]
pub struct ResourcePorts {
    /// Keeps the items.
    pub items: Arc<dyn ItemRepository>,
    /// Keeps what they were.
    pub history: Arc<dyn History>,
    /// Makes their identifiers.
    pub ids: Arc<dyn IdGenerator>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Has the rules that are not written in Rust.
    pub rules: Arc<dyn RuleBook>,
}

/// What an operator may decide for them.
#[derive(Clone, Copy, Debug)]
pub struct ResourceLimits {
    /// Bytes of members an item may have: many small patches must not make an item that no single
    /// request could.
    pub largest: usize,
    /// How long a request is known by its key.
    pub key_lifetime: SignedDuration,
}

/// The use cases of one group of items of kind `R`.
pub struct ResourceService<R> {
    collection: Collection,
    repository: Arc<dyn ItemRepository>,
    history: Arc<dyn History>,
    ids: Arc<dyn IdGenerator>,
    clock: Arc<dyn Clock>,
    rules: Arc<dyn RuleBook>,
    limits: ResourceLimits,
    running: Running,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> ResourceService<R> {
    /// The use cases of `collection`.
    #[must_use]
    pub fn new(collection: Collection, ports: ResourcePorts, limits: ResourceLimits) -> Self {
        let ResourcePorts { items: repository, history, ids, clock, rules } = ports;
        Self {
            collection,
            repository,
            history,
            ids,
            clock,
            rules,
            limits,
            running: Running::default(),
            resource: PhantomData,
        }
    }

    /// A page of the collection, or of the part of it that belongs to `parent`.
    ///
    /// # Errors
    /// `OwnerMissing`; `PageOutOfRange` beyond the last page of a selection that is not empty;
    /// `TooMuchEmbedded`; `Store`.
    pub async fn list(
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
            listing::embedded(self.repository.as_ref(), &request.view.embed, &shown).await?;
        Ok(Listing::new(request, content, embedded))
    }

    /// The revision that [`list`](Self::list) would give, without a look at any item; `None` where
    /// a look is needed to know whether there is such a page.
    ///
    /// # Errors
    /// `OwnerMissing`; `Store`.
    pub async fn revision(
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

    /// One item, and what is shown beside it.
    ///
    /// # Errors
    /// `ItemMissing`; `TooMuchEmbedded`; `Store`.
    pub async fn get(
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
                found.ok_or(ApplicationError::ItemMissing)?
            }
        };
        let embedded = listing::embedded(self.repository.as_ref(), &view.embed, &[&shown]).await?;
        Ok((shown, embedded))
    }

    /// One item whole, what is shown beside it, and what the rules would say if it were replaced by
    /// itself now.
    ///
    /// # Errors
    /// `ItemMissing`; `TooMuchEmbedded`; `Store`.
    pub async fn examine(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        view: &View,
    ) -> Result<(ShownItem, Embedded, Verdict), ApplicationError> {
        let whole = View { fields: None, embed: view.embed.clone() };
        let (shown, embedded) = self.get(caller, parent, id, &whole).await?;
        let mut basis = self.basis();
        let occasion = basis.occasion(
            &WriteOptions::by(caller.clone()),
            WriteOperation::Replace,
            id,
            shown.item.parent,
        );
        let draft = Edit::Replace(stored_members(&shown)?).draft(&shown)?;
        let (_, verdict) = self.judge(&occasion, Some(&shown), draft, &mut basis).await?;
        Ok((shown, embedded, verdict))
    }

    /// Makes a new item, which belongs to `parent` if there is one.
    ///
    /// # Errors
    /// `OwnerMissing`; `Invalid`; `KeyInUse`; `KeyReused`; `Store`.
    pub async fn create(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: Members,
    ) -> Result<Written, ApplicationError> {
        let _running = self.running.begin(options)?;
        if let Some(answered) = self.answered(options).await? {
            return Ok(answered.into());
        }
        if let Some(parent) = parent {
            self.require_owner(parent).await?;
        }
        self.insert(options, parent, &body, None).await
    }

    /// Makes a new item that continues the one named `id`: a second phase, a resubmission, an
    /// amendment. The condition is on the one that is continued.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid`; `KeyInUse`; `KeyReused`; `Store`.
    pub async fn continue_from(
        &self,
        options: &WriteOptions,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<Written, ApplicationError> {
        let _running = self.running.begin(options)?;
        if let Some(answered) = self.answered(options).await? {
            return Ok(answered.into());
        }
        check(precondition, &self.find(None, id).await?)?;
        self.insert(options, None, &body, Some(id)).await
    }

    /// Replaces all members of an item.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid`; `Contended`; `Store`.
    pub async fn replace(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<Written, ApplicationError> {
        self.change(options, parent, id, precondition, &Edit::Replace(body)).await
    }

    /// Applies a merge patch (RFC 7396) to an item. A patch that changes nothing writes nothing.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid`; `Contended`; `Store`.
    pub async fn patch(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        patch: Members,
    ) -> Result<Written, ApplicationError> {
        self.change(options, parent, id, precondition, &Edit::Patch(patch)).await
    }

    /// Removes an item and what belongs to it.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid` when a rule keeps it; `Contended`; `Store`.
    pub async fn delete(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
    ) -> Result<(), ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let shown = self.find(parent, id).await?;
            check(precondition, &shown)?;
            let grounds = self.decide_removal(options, &shown).await?;
            if options.is_dry_run {
                return Ok(());
            }
            let change = self.change_on(options, grounds, &Violations::default());
            match self.repository.delete(self.scope(parent), id, shown.item.version, change).await {
                Err(RepositoryError::VersionConflict) => {}
                done => return Ok(done?),
            }
        }
        Err(ApplicationError::Contended)
    }

    /// Makes the collection hold exactly the given elements: those with a known `id` keep it, the
    /// others get one. Shows the `first` page of what it holds then.
    ///
    /// # Errors
    /// `CollectionChanged`; `Invalid` with the faults of all elements; `Contended`; `Store`.
    pub async fn replace_all(
        &self,
        options: &WriteOptions,
        precondition: &Precondition<Revision>,
        body: &ReplacementBody,
        first: &PageRequest,
    ) -> Result<Replaced, ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let expected = self.expected_revision(precondition).await?;
            let Judged { content, warnings, grounds } =
                self.judge_all(options, body, expected).await?;
            if options.is_dry_run {
                return Ok(Replaced { listing: self.would_hold(content, first).await?, warnings });
            }
            match self
                .repository
                .replace_all(self.collection, content, self.change_on(options, grounds, &warnings))
                .await
            {
                Err(RepositoryError::VersionConflict) => {}
                Ok(()) => {
                    return Ok(Replaced {
                        listing: self.list(&options.caller, None, first).await?,
                        warnings,
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(ApplicationError::Contended)
    }

    fn scope(&self, parent: Option<ItemId>) -> Scope {
        Scope { collection: self.collection, parent }
    }

    async fn find(
        &self,
        parent: Option<ItemId>,
        id: ItemId,
    ) -> Result<ShownItem, ApplicationError> {
        self.repository.find(self.scope(parent), id).await?.ok_or(ApplicationError::ItemMissing)
    }

    /// Whether a page lies beyond the last one; only where nothing was counted does it take a look
    /// at the first.
    async fn lies_beyond(
        &self,
        parent: Option<ItemId>,
        request: &PageRequest,
        query: &PageQuery,
        content: &ListedPage,
    ) -> Result<bool, ApplicationError> {
        if let Some(is_known) = request.lies_beyond(content) {
            return Ok(is_known);
        }
        let first = PageQuery { position: Position::Offset(0), limit: 1, ..query.clone() };
        Ok(!self.repository.page(self.scope(parent), &first).await?.items.is_empty())
    }

    /// An unknown owner is reported before the body is judged; the store checks again when it
    /// writes.
    async fn require_owner(&self, parent: ItemId) -> Result<(), ApplicationError> {
        let owner = self.collection.owner().ok_or(ApplicationError::OwnerMissing)?;
        let found = self.repository.find(Scope { collection: owner, parent: None }, parent).await?;
        found.map(|_| ()).ok_or(ApplicationError::OwnerMissing)
    }

    /// Decides on a new item and stores it; starts over when what the decision rests on has
    /// changed.
    async fn insert(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: &Members,
        continues: Option<ItemId>,
    ) -> Result<Written, ApplicationError> {
        let id = self.ids.next_id();
        for _ in 0..MAX_ATTEMPTS {
            let draft = Draft::of(body, continues.map_or(Identity::New, Identity::Named));
            let basis = self.basis();
            let occasion = basis.occasion(options, WriteOperation::Create, id, parent);
            let Decision { after, warnings, grounds } =
                self.decide(basis, &occasion, None, draft).await?;
            let addition = new_item(id, after, continues);
            if options.is_dry_run {
                return Ok(Written {
                    shown: self.would_be_inserted(parent, addition).await?,
                    warnings,
                });
            }
            match self
                .repository
                .insert(self.scope(parent), addition, self.change_on(options, grounds, &warnings))
                .await
            {
                Err(RepositoryError::VersionConflict) => {}
                Err(RepositoryError::AnsweredBefore) => {
                    return Ok(self.answered_meanwhile(options).await?.into());
                }
                done => return Ok(Written { shown: done?, warnings }),
            }
        }
        Err(ApplicationError::Contended)
    }

    /// The read-modify-write that replace and patch share.
    async fn change(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        edit: &Edit,
    ) -> Result<Written, ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let shown = self.find(parent, id).await?;
            check(precondition, &shown)?;
            let basis = self.basis();
            let occasion = basis.occasion(options, edit.operation(), id, shown.item.parent);
            let Decision { after, warnings, grounds } =
                self.decide(basis, &occasion, Some(&shown), edit.draft(&shown)?).await?;
            let replacement = replacement_of(&shown, after);
            if edit.kind() == ChangeKind::Patched && replacement.members == shown.item.members {
                return Ok(Written { shown, warnings });
            }
            self.refuse_growth(replacement.members.len())?;
            if options.is_dry_run {
                return Ok(Written {
                    shown: self.would_be_updated(shown, replacement).await?,
                    warnings,
                });
            }
            let change = self.change_on(options, grounds, &warnings);
            match self.repository.update(self.scope(parent), replacement, edit.kind(), change).await
            {
                Err(RepositoryError::VersionConflict) => {}
                Err(RepositoryError::AnsweredBefore) => {
                    return Ok(self.answered_meanwhile(options).await?.into());
                }
                done => return Ok(Written { shown: done?, warnings }),
            }
        }
        Err(ApplicationError::Contended)
    }

    fn refuse_growth(&self, size: usize) -> Result<(), ApplicationError> {
        let largest = self.limits.largest;
        if size <= largest {
            return Ok(());
        }
        let detail = format!(
            "the item would have {size} bytes; at most {largest} can be kept: remove members, or split the item"
        );
        Err(refused(Violation::new(Pointer::root(), "item_too_large", detail)))
    }

    /// The revision a replacement is decided on, if the client cares.
    async fn expected_revision(
        &self,
        precondition: &Precondition<Revision>,
    ) -> Result<Option<Revision>, ApplicationError> {
        if !precondition.is_conditional() {
            return Ok(None);
        }
        let current =
            self.repository.totals(self.scope(None), self.collection.linked()).await?.revision;
        if precondition.excludes(&current) {
            Err(ApplicationError::CollectionChanged { current })
        } else {
            Ok(Some(current))
        }
    }
}

fn new_item<R: Resource>(id: ItemId, resource: R, continues: Option<ItemId>) -> NewItem {
    let program = resource.program();
    NewItem { id, members: resource.into_members().into_encoded(), continues, program }
}

#[cfg(test)]
mod tests;
