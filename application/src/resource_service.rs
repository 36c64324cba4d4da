//! The use cases of every group.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use domain::{Collection, ItemId, Members, Pointer, Resource, Version, Violation, Violations, merge_patch};

use crate::listing;
use crate::ports::{
    Change, ChangeKind, Clock, CollectionContent, IdGenerator, ItemRepository, ListedPage, NewItem, Replacement, RepositoryError, Revision,
    Scope, ShownItem,
};
use crate::query::{PageQuery, Position};
use crate::{ApplicationError, Caller, Embedded, Listing, PageRequest, Precondition, View};

/// How often a write without a condition starts over when others write the same item, before it gives up.
const MAX_ATTEMPTS: usize = 200;

/// Members that carry the representation's own links and metadata: ignored in a body, so that what was fetched can be
/// edited and sent back.
const IGNORED: [&str; 3] = ["_links", "_embedded", "_meta"];

fn check(precondition: &Precondition<Version>, shown: &ShownItem) -> Result<(), ApplicationError> {
    if precondition.excludes(&shown.item.version) {
        return Err(ApplicationError::PreconditionFailed { current: shown.item.version, relations: shown.relations.clone() });
    }
    Ok(())
}

/// The elements of a collection's replacement as sent, each with its place in the body.
#[derive(Clone, Debug)]
pub struct ReplacementBody {
    /// Each element's place and its members; `None` where the element is no object.
    pub elements: Vec<(Pointer, Option<Members>)>,
}

/// The use cases of one group of items of kind `R`.
pub struct ResourceService<R> {
    collection: Collection,
    repository: Arc<dyn ItemRepository>,
    ids: Arc<dyn IdGenerator>,
    clock: Arc<dyn Clock>,
    largest: usize,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> ResourceService<R> {
    /// The use cases of `collection`, whose items may have `largest` bytes of members: many small patches must not make
    /// an item that no single request could.
    #[must_use]
    pub fn new(
        collection: Collection,
        repository: Arc<dyn ItemRepository>,
        ids: Arc<dyn IdGenerator>,
        clock: Arc<dyn Clock>,
        largest: usize,
    ) -> Self {
        Self { collection, repository, ids, clock, largest, resource: PhantomData }
    }

    /// A page of the collection, or of the part of it that belongs to `parent`.
    ///
    /// # Errors
    /// `OwnerMissing`; `PageOutOfRange` beyond the last page of a selection that is not empty; `TooMuchEmbedded`; `Store`.
    pub async fn list(&self, _caller: &Caller, parent: Option<ItemId>, request: &PageRequest) -> Result<Listing, ApplicationError> {
        let query = request.query(self.collection);
        let content = self.repository.page(self.scope(parent), &query).await?;
        if self.lies_beyond(parent, request, &query, &content).await? {
            let page_count = listing::page_count(content.total, request.page_size);
            return Err(ApplicationError::PageOutOfRange { page: request.page, page_count });
        }
        let shown: Vec<_> = content.items.iter().map(|listed| &listed.shown).collect();
        let embedded = listing::embedded(self.repository.as_ref(), &request.view.embed, &shown).await?;
        Ok(Listing::new(request, content, embedded))
    }

    /// The revision that [`list`](Self::list) would give, without a look at any item; `None` where a look is needed to know
    /// whether there is such a page.
    ///
    /// # Errors
    /// `OwnerMissing`; `Store`.
    pub async fn revision(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<Revision>, ApplicationError> {
        let totals = self.repository.totals(self.scope(parent), &request.view.related(self.collection)).await?;
        let is_there = request.page == 1
            || request.position.is_some()
            || (request.selection.is_everything() && request.page <= totals.items.div_ceil(request.page_size));
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

    /// Makes a new item, which belongs to `parent` if there is one.
    ///
    /// # Errors
    /// `OwnerMissing`; `Invalid`; `Store`.
    pub async fn create(&self, caller: &Caller, parent: Option<ItemId>, body: Members) -> Result<ShownItem, ApplicationError> {
        if let Some(parent) = parent {
            self.require_owner(parent).await?;
        }
        let resource = judge(None, &body, Identity::New, |own| own)?;
        self.insert(caller, parent, resource, None).await
    }

    /// Makes a new item that continues the one named `id`: a second phase, a resubmission, an amendment. The condition is on
    /// the one that is continued.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid`; `Store`.
    pub async fn continue_from(
        &self,
        caller: &Caller,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<ShownItem, ApplicationError> {
        check(precondition, &self.find(None, id).await?)?;
        let resource = judge(None, &body, Identity::Named(id), |own| own)?;
        self.insert(caller, None, resource, Some(id)).await
    }

    /// Replaces all members of an item.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid`; `Contended`; `Store`.
    pub async fn replace(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        body: Members,
    ) -> Result<ShownItem, ApplicationError> {
        self.change(caller, parent, id, precondition, &Edit::Replace(body)).await
    }

    /// Applies a merge patch (RFC 7396) to an item. A patch that changes nothing writes nothing.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Invalid`; `Contended`; `Store`.
    pub async fn patch(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        patch: Members,
    ) -> Result<ShownItem, ApplicationError> {
        self.change(caller, parent, id, precondition, &Edit::Patch(patch)).await
    }

    /// Removes an item and what belongs to it.
    ///
    /// # Errors
    /// `ItemMissing`; `PreconditionFailed`; `Contended`; `Store`.
    pub async fn delete(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
    ) -> Result<(), ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let shown = self.find(parent, id).await?;
            check(precondition, &shown)?;
            match self.repository.delete(self.scope(parent), id, shown.item.version, self.change_by(caller)).await {
                Err(RepositoryError::VersionConflict) => {}
                done => return Ok(done?),
            }
        }
        Err(ApplicationError::Contended)
    }

    /// Makes the collection hold exactly the given elements: those with a known `id` keep it, the others get one.
    ///
    /// # Errors
    /// `CollectionChanged`; `Invalid` with the faults of all elements; `Contended`; `Store`.
    pub async fn replace_all(
        &self,
        caller: &Caller,
        precondition: &Precondition<Revision>,
        body: &ReplacementBody,
    ) -> Result<(), ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let expected = self.expected_revision(precondition).await?;
            let (replacements, additions) = self.judge_all(body).await?;
            let content = CollectionContent { replacements, additions, expected };
            match self.repository.replace_all(self.collection, content, self.change_by(caller)).await {
                Err(RepositoryError::VersionConflict) => {}
                done => return Ok(done?),
            }
        }
        Err(ApplicationError::Contended)
    }

    fn scope(&self, parent: Option<ItemId>) -> Scope {
        Scope { collection: self.collection, parent }
    }

    async fn find(&self, parent: Option<ItemId>, id: ItemId) -> Result<ShownItem, ApplicationError> {
        self.repository.find(self.scope(parent), id).await?.ok_or(ApplicationError::ItemMissing)
    }

    /// Whether a page lies beyond the last one; only where nothing was counted does it take a look at the first.
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

    fn change_by(&self, caller: &Caller) -> Change {
        Change { time: self.clock.now(), caller: caller.name().map(Into::into) }
    }

    /// An unknown owner is reported before the body is judged; the store checks again when it writes.
    async fn require_owner(&self, parent: ItemId) -> Result<(), ApplicationError> {
        let owner = self.collection.owner().ok_or(ApplicationError::OwnerMissing)?;
        let found = self.repository.find(Scope { collection: owner, parent: None }, parent).await?;
        found.map(|_| ()).ok_or(ApplicationError::OwnerMissing)
    }

    async fn insert(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        resource: R,
        continues: Option<ItemId>,
    ) -> Result<ShownItem, ApplicationError> {
        let addition = self.addition(resource, continues);
        Ok(self.repository.insert(self.scope(parent), addition, self.change_by(caller)).await?)
    }

    fn addition(&self, resource: R, continues: Option<ItemId>) -> NewItem {
        let program = resource.program();
        NewItem { id: self.ids.next_id(), members: resource.into_members().into_encoded(), continues, program }
    }

    /// The read-modify-write that replace and patch share.
    async fn change(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        edit: &Edit,
    ) -> Result<ShownItem, ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let shown = self.find(parent, id).await?;
            check(precondition, &shown)?;
            let resource: R = edit.judge(&shown)?;
            let program = resource.program();
            let members = resource.into_members().into_encoded();
            if edit.kind() == ChangeKind::Patched && members == shown.item.members {
                return Ok(shown);
            }
            self.refuse_growth(members.len())?;
            let replacement = Replacement { id, expected: shown.item.version, members, program };
            match self.repository.update(self.scope(parent), replacement, edit.kind(), self.change_by(caller)).await {
                Err(RepositoryError::VersionConflict) => {}
                done => return Ok(done?),
            }
        }
        Err(ApplicationError::Contended)
    }

    fn refuse_growth(&self, size: usize) -> Result<(), ApplicationError> {
        if size <= self.largest {
            return Ok(());
        }
        let detail = format!("the item would have {size} bytes; at most {} can be kept: remove members, or split the item", self.largest);
        Err(refused(Violation::new(Pointer::root(), "item_too_large", detail)))
    }

    /// The revision a replacement is decided on, if the client cares.
    async fn expected_revision(&self, precondition: &Precondition<Revision>) -> Result<Option<Revision>, ApplicationError> {
        if !precondition.is_conditional() {
            return Ok(None);
        }
        let current = self.repository.totals(self.scope(None), self.collection.linked()).await?.revision;
        if precondition.excludes(&current) { Err(ApplicationError::CollectionChanged { current }) } else { Ok(Some(current)) }
    }

    async fn judge_all(&self, body: &ReplacementBody) -> Result<(Vec<Replacement>, Vec<NewItem>), ApplicationError> {
        let named: Vec<_> = body.elements.iter().filter_map(|(_, element)| named_id(element.as_ref()?)).collect();
        let known = self.repository.find_many(self.scope(None), &named).await?;
        let mut known: HashMap<_, _> = known.into_iter().map(|shown| (shown.item.id, Some(shown))).collect();
        let (mut replacements, mut additions, mut violations) = (Vec::new(), Vec::new(), Violations::default());
        for (pointer, element) in &body.elements {
            match judge_element::<R>(element.as_ref(), &mut known) {
                Ok((Some(shown), resource)) => replacements.push(replacement_of(&shown, resource)),
                Ok((None, resource)) => additions.push(self.addition(resource, None)),
                Err(ApplicationError::Invalid(faults)) => violations.extend_below(pointer, faults),
                Err(error) => return Err(error),
            }
        }
        if violations.is_empty() { Ok((replacements, additions)) } else { Err(ApplicationError::Invalid(violations)) }
    }
}

/// What a write does to the members that are stored.
enum Edit {
    Replace(Members),
    Patch(Members),
}

impl Edit {
    const fn kind(&self) -> ChangeKind {
        match self {
            Self::Replace(_) => ChangeKind::Replaced,
            Self::Patch(_) => ChangeKind::Patched,
        }
    }

    /// What the item becomes.
    fn judge<R: Resource>(&self, shown: &ShownItem) -> Result<R, ApplicationError> {
        let identity = Identity::Named(shown.item.id);
        match self {
            Self::Replace(body) => judge(stored_resource(shown)?.as_ref(), body, identity, |own| own),
            Self::Patch(patch) => {
                let stored = stored_members(shown)?;
                let judged = judge(stored_resource(shown)?.as_ref(), patch, identity, |own| merge_patch(&stored, &own));
                with_faults(unknown_removals::<R>(patch), judged)
            }
        }
    }
}

/// What a patch would remove that no item can have: in the merged members a misspelt removal is not seen.
fn unknown_removals<R: Resource>(patch: &Members) -> Violations {
    R::unknown(&patch.clone().retain(|name, value| value.is_null() && name != "id" && !IGNORED.contains(&name)))
}

/// Faults, then those of what was judged.
fn with_faults<R>(mut faults: Violations, judged: Result<R, ApplicationError>) -> Result<R, ApplicationError> {
    match judged {
        Err(ApplicationError::Invalid(more)) => {
            faults.extend_below(&Pointer::root(), more);
            Err(ApplicationError::Invalid(faults))
        }
        Ok(_) if !faults.is_empty() => Err(ApplicationError::Invalid(faults)),
        judged => judged,
    }
}

/// Which `id` a body may name.
#[derive(Clone, Copy)]
enum Identity {
    /// None: the service makes ids.
    New,
    /// That of the item the request's path names, or none.
    Named(ItemId),
}

impl Identity {
    fn fault(self, body: &Members) -> Option<Violation> {
        let id = body.get("id")?;
        match self {
            Self::New => Some(Violation::of_member("id", "id_not_allowed", "the service makes ids; remove the `id`")),
            Self::Named(expected) if id.as_text().as_deref() == Some(expected.to_string().as_str()) => None,
            Self::Named(expected) => {
                let detail = format!("the `id` must be that of the path, `{expected}`; correct or remove it");
                Some(Violation::of_member("id", "id_mismatch", detail))
            }
        }
    }
}

/// Judges a body: its `id`, then what `compose` makes of the members that are the client's to set.
fn judge<R: Resource>(
    before: Option<&R>,
    body: &Members,
    identity: Identity,
    compose: impl FnOnce(Members) -> Members,
) -> Result<R, ApplicationError> {
    let own = body.clone().retain(|name, _| name != "id" && !IGNORED.contains(&name));
    let judged = R::judge(before, compose(own));
    let fault = identity.fault(body).map(Violations::from).unwrap_or_default();
    with_faults(fault, judged.map_err(ApplicationError::Invalid))
}

/// Judges one element of a collection's replacement. Each known item is taken out of `known`, so that a second element
/// with its id is told apart from one with an id that never was.
fn judge_element<R: Resource>(
    element: Option<&Members>,
    known: &mut HashMap<ItemId, Option<ShownItem>>,
) -> Result<(Option<ShownItem>, R), ApplicationError> {
    let Some(members) = element else {
        return Err(refused(Violation::new(Pointer::root(), "not_an_object", "an element of a collection is an object; send one")));
    };
    if members.get("id").is_none() {
        return Ok((None, judge(None, members, Identity::New, |own| own)?));
    }
    match named_id(members).and_then(|id| known.get_mut(&id)).map(Option::take) {
        Some(Some(shown)) => {
            let resource = Edit::Replace(members.clone()).judge(&shown)?;
            Ok((Some(shown), resource))
        }
        Some(None) => Err(refused(Violation::of_member("id", "duplicate_id", "an earlier element has the same `id`; send each item once"))),
        None => {
            let detail = "the collection holds no item with this `id`; remove the `id` to add a new item";
            Err(refused(Violation::of_member("id", "unknown_id", detail)))
        }
    }
}

fn refused(violation: Violation) -> ApplicationError {
    ApplicationError::Invalid(violation.into())
}

fn replacement_of<R: Resource>(shown: &ShownItem, resource: R) -> Replacement {
    let program = resource.program();
    Replacement { id: shown.item.id, expected: shown.item.version, members: resource.into_members().into_encoded(), program }
}

fn named_id(members: &Members) -> Option<ItemId> {
    ItemId::parse(&members.get("id")?.as_text()?)
}

/// The members the store holds, which were judged when they were written.
fn stored_members(shown: &ShownItem) -> Result<Members, ApplicationError> {
    let members = Members::read(shown.item.members.as_bytes()).ok().flatten();
    members.ok_or_else(|| {
        tracing::error!(id = %shown.item.id, "the stored members are no JSON object");
        ApplicationError::Store(RepositoryError::Corrupt)
    })
}

/// The stored item as rules see it; none are asked, none is made.
fn stored_resource<R: Resource>(shown: &ShownItem) -> Result<Option<R>, ApplicationError> {
    if R::rules().is_empty() {
        return Ok(None);
    }
    // Fields may have become stricter since the item was written: a draft is what can still be read of it.
    Ok(Some(R::draft(stored_members(shown)?).0))
}

#[cfg(test)]
mod tests;
