//! Access control. It gives the use cases their [`Reach`] and [`Warrant`] after it asked the
//! policies.

use std::sync::Arc;
use std::{iter, slice};

use domain::{Collection, ItemId, Operation, Predicate, Relation, RelationKind};

use crate::ports::{
    ConcerningPolicy, DeletableItems, ItemRepository, Permissions, Policies, PublishedPolicy,
    Reach, Scope, ShownItem, Warrant,
};
use crate::query::View;
use crate::{ApplicationError, Caller, Result, WriteOptions};

/// Returns the first of these collections with an item below `id` that is not deletable. If no item
/// is found, this takes one statement.
pub async fn undeletable_below(
    items: &dyn ItemRepository,
    id: ItemId,
    deletable: &[DeletableItems],
) -> Result<Option<Collection>> {
    let Some((last, others)) = deletable.split_last() else { return Ok(None) };
    if !items.has_undeletable(id, deletable).await? {
        return Ok(None);
    }
    for limit in others {
        if items.has_undeletable(id, slice::from_ref(limit)).await? {
            return Ok(Some(limit.collection));
        }
    }
    Ok(Some(last.collection))
}

#[derive(Clone)]
pub struct AccessControl {
    policies: Arc<dyn Policies>,
}

/// How much a caller sees of the collections of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visibility {
    /// The collections whose items are all hidden from the caller, by name.
    pub unseen: Vec<Collection>,
    /// The collections that the caller sees in part, by name.
    pub partial: Vec<Collection>,
    /// The collections with members that are hidden from the caller.
    pub masked: Vec<Collection>,
}

impl Visibility {
    /// Returns whether the caller sees all links to a collection.
    pub fn has_all(&self, collection: Collection) -> bool {
        !self.unseen.contains(&collection) && !self.partial.contains(&collection)
    }

    /// Returns whether the caller sees all links.
    pub const fn is_whole(&self) -> bool {
        self.unseen.is_empty() && self.partial.is_empty()
    }

    /// Returns whether a page changes only with the revision.
    pub const fn has_revision(&self) -> bool {
        self.partial.is_empty() && self.masked.is_empty()
    }

    /// Returns the collections that the caller does not see whole, by name.
    pub fn limited(&self) -> Vec<Collection> {
        let mut limited = [&self.unseen[..], &self.partial].concat();
        limited.sort_unstable_by_key(|collection| collection.name());
        limited
    }
}

impl AccessControl {
    pub fn new(policies: Arc<dyn Policies>) -> Self {
        Self { policies }
    }

    /// Returns a caller's permissions within the client's grant.
    pub fn permissions(&self, caller: &Caller) -> Permissions {
        let permissions = self.policies.permissions(caller);
        match caller.principal() {
            Some(principal) => permissions.limited_to(principal.granted),
            None => permissions,
        }
    }

    /// Returns the deciding policies for an operation on any items: those that deny it, or else
    /// those that allow it. If it depends on the item, all of them.
    pub fn deciding(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> Vec<Box<str>> {
        let permissions = self.permissions(caller);
        let decisive = decisive_operation(&permissions, collection, operation);
        let is_some = permissions.has_some(collection, decisive);
        let is_all = permissions.has_all(collection, decisive);
        let decides = |policy: &ConcerningPolicy| {
            policy.items != Predicate::FALSE && if policy.denies { !is_all } else { is_some }
        };
        let concerning = self.concerning(caller, collection, decisive).into_iter();
        concerning.filter(decides).map(|policy| policy.id).collect()
    }

    pub fn concerning(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> Vec<ConcerningPolicy> {
        self.policies.concerning(caller, collection, operation)
    }

    /// Returns the collection whose policies decide on an operation. A deletion also deletes the
    /// items below, so this is the collection in which the caller may delete least.
    pub fn decisive(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> Collection {
        if operation != Operation::Delete {
            return collection;
        }
        let permissions = self.permissions(caller);
        let extent = |collection: &Collection| {
            u8::from(permissions.has_some(*collection, operation))
                + u8::from(permissions.has_all(*collection, operation))
        };
        let concerned = iter::once(collection).chain(collection.children());
        concerned.min_by_key(extent).unwrap_or(collection)
    }

    pub fn published(&self) -> Vec<PublishedPolicy> {
        self.policies.published()
    }

    /// A number that identifies the policies.
    pub fn edition(&self) -> u64 {
        self.policies.edition()
    }

    /// Returns whether the caller may read some items of a collection.
    pub fn may_read(&self, caller: &Caller, collection: Collection) -> bool {
        self.permissions(caller).has_some(collection, Operation::Read)
    }

    pub fn may_do_anything(&self, caller: &Caller) -> bool {
        let permissions = self.permissions(caller);
        let may = |collection| {
            Operation::ALL.iter().any(|operation| permissions.has_some(collection, *operation))
        };
        Collection::all().any(may)
    }

    /// Requires that each operation is permitted on some items of the collection. A deletion also
    /// requires `delete` in the collections of the items below.
    pub fn require(
        &self,
        caller: &Caller,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<Permissions> {
        let permissions = self.permissions(caller);
        let is_refused = |operation: &&Operation| !permissions.has_some(collection, **operation);
        if let Some(operation) = operations.iter().find(is_refused) {
            return Err(self.refusal(caller, collection, *operation));
        }
        if operations.contains(&Operation::Delete) {
            for child in collection.children() {
                if !permissions.has_some(child, Operation::Delete) {
                    return Err(self.refusal_below(caller, child));
                }
            }
        }
        Ok(permissions)
    }

    /// [`require`](Self::require), which also refuses a caller who may not read the parent
    /// collection.
    pub fn require_below(
        &self,
        caller: &Caller,
        parents: Option<Collection>,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<Permissions> {
        let permissions = self.require(caller, collection, operations)?;
        // The presence of child items would reveal that the parent exists.
        if let Some(parents) = parents {
            self.require(caller, parents, &[Operation::Read])?;
        }
        Ok(permissions)
    }

    /// Refuses a caller who may not read any collection. If the caller's token keeps a collection
    /// from being read, the error is about that collection.
    pub fn require_some_read(&self, caller: &Caller) -> Result<()> {
        if Collection::all().any(|collection| self.may_read(caller, collection)) {
            return Ok(());
        }
        let permissions = self.policies.permissions(caller);
        let by_policies =
            |collection: &Collection| permissions.has_some(*collection, Operation::Read);
        Err(match Collection::all().find(by_policies).or_else(|| Collection::all().next()) {
            Some(refused) => self.refusal(caller, refused, Operation::Read),
            None => ApplicationError::CredentialsRequired,
        })
    }

    /// Refuses a caller who may not perform the operations on all items: `WholeCollectionNeeded` if
    /// the caller may write some items.
    pub(crate) fn require_whole(
        &self,
        caller: &Caller,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<()> {
        let permissions = self.require(caller, collection, operations)?;
        let is_whole = |operation: &Operation| {
            permissions.has_all(collection, *operation)
                && **permissions.change(collection, *operation) == Predicate::TRUE
                && permissions.writable(collection, *operation).is_none()
        };
        let is_deletable = !operations.contains(&Operation::Delete)
            || DeletableItems::below(collection, &permissions).is_empty();
        let is_seen = permissions.visible(collection).is_none();
        let is_whole = operations.iter().all(is_whole) && is_deletable && is_seen;
        if is_whole { Ok(()) } else { Err(ApplicationError::WholeCollectionNeeded) }
    }

    /// Limits a caller to the items on which all operations are permitted.
    pub(crate) fn reach(
        &self,
        caller: &Caller,
        scope: Scope,
        operations: &[Operation],
    ) -> Result<Reach> {
        let (parents, collection) = (scope.parents(), scope.collection);
        let permissions = self.require_below(caller, parents, collection, operations)?;
        let mut limits = operations.iter().map(|operation| permissions.on(collection, *operation));
        let mask = permissions.visible(collection).cloned();
        let reach = Reach::of_the_service(scope).masked(mask);
        Ok(match (limits.next(), limits.len()) {
            (None, _) => reach,
            (Some(only), 0) => reach.only(Arc::clone(only)),
            (Some(first), _) => {
                let all = iter::once(first).chain(limits).map(|only| (**only).clone());
                reach.only(Arc::new(Predicate::all(all)))
            }
        })
    }

    /// Limits everything in a scope to the items that meet a condition.
    pub(crate) fn reach_where(scope: Scope, condition: Predicate) -> Reach {
        Reach::of_the_service(scope).only(Arc::new(condition))
    }

    pub(crate) fn warrant(
        &self,
        options: &WriteOptions,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<Warrant> {
        let permissions = self.require(&options.caller, collection, operations)?;
        let warrant = Warrant::of_the_service(&options.caller, options.request_id.as_deref());
        Ok(if operations.contains(&Operation::Delete) {
            warrant.limited_to(DeletableItems::below(collection, &permissions))
        } else {
            warrant
        })
    }

    /// The refusal of an operation on all items.
    pub(crate) fn refusal(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> ApplicationError {
        let permissions = self.policies.permissions(caller);
        if caller.principal().is_some_and(|principal| !principal.granted.contains(operation))
            && permissions.has_some(collection, operation)
        {
            return ApplicationError::InsufficientScope { operation };
        }
        let decisive = decisive_operation(&permissions, collection, operation);
        let denies = |policy: &ConcerningPolicy| policy.denies && policy.items != Predicate::FALSE;
        let concerning = self.concerning(caller, collection, decisive).into_iter();
        let policies = concerning.filter(denies).map(|policy| policy.id).collect();
        refused(caller, collection, operation, policies)
    }

    pub(crate) fn refusal_below(
        &self,
        caller: &Caller,
        collection: Collection,
    ) -> ApplicationError {
        match self.refusal(caller, collection, Operation::Delete) {
            ApplicationError::NotPermitted { collection, policies, .. } => {
                ApplicationError::NotPermittedBelow { collection, policies }
            }
            refusal => refusal,
        }
    }

    pub(crate) fn sees_parents(&self, caller: &Caller, collection: Collection) -> bool {
        collection.parent().is_none_or(|parents| self.may_read(caller, parents))
    }

    /// Returns how much a caller sees of the collections that a page shows or links.
    pub(crate) fn visibility(
        &self,
        caller: &Caller,
        collection: Collection,
        view: &View,
    ) -> Visibility {
        let permissions = self.permissions(caller);
        if permissions.sees_everything() {
            return Visibility::default();
        }
        let links = |of: Collection| of.relations().filter(|it| it.kind != RelationKind::Children);
        let embedded = view.embed.iter().flat_map(|it| iter::once(*it).chain(links(it.to)));
        let related = links(collection).chain(embedded).map(|relation: Relation| relation.to);
        let mut visibility = Visibility::default();
        for collection in related.chain([collection]) {
            if permissions.visible(collection).is_some() {
                visibility.masked.push(collection);
            }
            let of = if permissions.has_all(collection, Operation::Read) {
                continue;
            } else if permissions.has_some(collection, Operation::Read) {
                &mut visibility.partial
            } else {
                &mut visibility.unseen
            };
            if !of.contains(&collection) {
                of.push(collection);
            }
        }
        visibility.unseen.sort_unstable_by_key(|collection| collection.name());
        visibility.partial.sort_unstable_by_key(|collection| collection.name());
        visibility
    }
}

/// The refusal of an operation by these policies.
pub(crate) fn refused(
    caller: &Caller,
    collection: Collection,
    operation: Operation,
    policies: Vec<Box<str>>,
) -> ApplicationError {
    match caller.principal() {
        None => ApplicationError::CredentialsRequired,
        Some(_) => ApplicationError::NotPermitted { operation, collection, policies },
    }
}

/// If the caller may not read any item, the policies about reading decide.
fn decisive_operation(
    permissions: &Permissions,
    collection: Collection,
    operation: Operation,
) -> Operation {
    let can_read = permissions.has_some(collection, Operation::Read);
    if operation.needs_read() && !can_read { Operation::Read } else { operation }
}

/// Removes the links to items that the caller does not see.
pub(crate) fn cut_links(
    collection: Collection,
    item: &mut ShownItem,
    sees: impl Fn(Collection, ItemId) -> bool,
) {
    for relation in collection.relations() {
        if item.related(relation.kind).is_some_and(|id| !sees(relation.to, id)) {
            item.unlink(relation.kind);
        }
    }
    let links = &mut item.links;
    links.continues = links.continues.filter(|id| sees(collection, *id));
    links.continued_by.retain(|id| sees(collection, *id));
}
