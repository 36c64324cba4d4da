//! Access control. It gives the use cases their [`Reach`] and [`Warrant`] after it asked the
//! policies.

use std::sync::Arc;
use std::{iter, slice};

use domain::{Collection, ItemId, Operation, Relation, RelationKind};

use crate::ports::{
    Access, ItemRepository, Ownership, Policies, Ports, PublishedPolicy, Reach, Scope, ShownItem,
    UndeletableItems, Warrant,
};
use crate::query::View;
use crate::{ApplicationError, Caller, Result, WriteOptions};

/// Returns the relation of a caller to an item, for an explanation to the operator.
pub async fn ownership_of(
    ports: &Ports,
    caller: &Caller,
    collection: Collection,
    id: ItemId,
) -> Result<Option<Ownership>> {
    let everything = Reach::of_the_service(Scope::of(collection));
    let creator = ports.items.creator(&everything, id).await?;
    Ok(creator.map(|creator| creator.ownership(caller)))
}

/// Returns the first of these kinds with an item below `id`. If no item is found, this takes one
/// statement.
pub async fn undeletable_below<'a>(
    items: &dyn ItemRepository,
    id: ItemId,
    undeletable: &'a [UndeletableItems],
) -> Result<Option<&'a UndeletableItems>> {
    let Some((last, others)) = undeletable.split_last() else { return Ok(None) };
    if !items.has_undeletable(id, undeletable).await? {
        return Ok(None);
    }
    for kind in others {
        if items.has_undeletable(id, slice::from_ref(kind)).await? {
            return Ok(Some(kind));
        }
    }
    Ok(Some(last))
}

#[derive(Clone)]
pub struct AccessControl {
    policies: Arc<dyn Policies>,
}

impl AccessControl {
    pub fn new(policies: Arc<dyn Policies>) -> Self {
        Self { policies }
    }

    /// Returns a caller's permissions within the client's grant.
    pub fn access(&self, caller: &Caller, collection: Collection) -> Access {
        let access = self.policies.access(caller, collection);
        caller.principal().map_or(access, |principal| access.limited_to(principal.granted))
    }

    /// Returns the deciding policies for an operation on any items: those that deny it, or else
    /// those that allow it.
    pub fn deciding(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> Vec<Box<str>> {
        self.policies.deciding(caller, collection, operation, &Ownership::ALL)
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
        let extent = |collection: &Collection| {
            let access = self.access(caller, *collection);
            u8::from(access.has_some(operation)) + u8::from(access.has_all(operation))
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

    pub fn may_read(&self, caller: &Caller, collection: Collection) -> bool {
        self.access(caller, collection).has_all(Operation::Read)
    }

    pub fn may_do_anything(&self, caller: &Caller) -> bool {
        Collection::all().any(|collection| self.access(caller, collection) != Access::NONE)
    }

    /// Requires that each operation is permitted on some items of the collection. A deletion also
    /// requires `delete` in the collections of the items below.
    pub fn require(
        &self,
        caller: &Caller,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<Access> {
        let access = self.access(caller, collection);
        if let Some(operation) = operations.iter().find(|operation| !access.has_some(**operation)) {
            return Err(self.refusal(caller, collection, *operation, &Ownership::ALL));
        }
        if operations.contains(&Operation::Delete) {
            for child in collection.children() {
                if !self.access(caller, child).has_some(Operation::Delete) {
                    return Err(self.refusal_below(caller, child, &Ownership::ALL));
                }
            }
        }
        Ok(access)
    }

    pub(crate) fn undeletable(
        &self,
        caller: &Caller,
        collection: Collection,
    ) -> Vec<UndeletableItems> {
        UndeletableItems::below(collection, caller, |child| self.access(caller, child))
    }

    /// [`require`](Self::require), which also refuses a caller who may not read the parent
    /// collection.
    pub fn require_below(
        &self,
        caller: &Caller,
        parents: Option<Collection>,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<Access> {
        let access = self.require(caller, collection, operations)?;
        // The presence of child items would reveal that the parent exists.
        if let Some(parents) = parents {
            self.require(caller, parents, &[Operation::Read])?;
        }
        Ok(access)
    }

    /// Refuses a caller who may not read any collection. If the caller's token keeps a collection
    /// from being read, the error is about that collection.
    pub fn require_some_read(&self, caller: &Caller) -> Result<()> {
        if Collection::all().any(|collection| self.may_read(caller, collection)) {
            return Ok(());
        }
        let by_policies = |collection: &Collection| {
            self.policies.access(caller, *collection).has_some(Operation::Read)
        };
        Err(match Collection::all().find(by_policies).or_else(|| Collection::all().next()) {
            Some(refused) => self.refusal(caller, refused, Operation::Read, &Ownership::ALL),
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
        let access = self.require(caller, collection, operations)?;
        let is_whole = operations.iter().all(|operation| access.has_all(*operation))
            && (!operations.contains(&Operation::Delete)
                || self.undeletable(caller, collection).is_empty());
        if is_whole { Ok(()) } else { Err(ApplicationError::WholeCollectionNeeded) }
    }

    pub(crate) fn reach(
        &self,
        caller: &Caller,
        scope: Scope,
        operations: &[Operation],
    ) -> Result<Reach> {
        let access = self.require_below(caller, scope.parents(), scope.collection, operations)?;
        // A reach covers all items, so a caller who may read only some of them gets none.
        match operations.iter().find(|operation| !access.has_all(**operation)) {
            None => Ok(Reach::of_the_service(scope)),
            Some(operation) => {
                Err(self.refusal(caller, scope.collection, *operation, &Ownership::ALL))
            }
        }
    }

    pub(crate) fn warrant(
        &self,
        options: &WriteOptions,
        collection: Collection,
        operations: &[Operation],
    ) -> Result<Warrant> {
        let caller = &options.caller;
        self.require(caller, collection, operations)?;
        let warrant = Warrant::of_the_service(caller, options.request_id.as_deref());
        Ok(if operations.contains(&Operation::Delete) {
            warrant.without(self.undeletable(caller, collection))
        } else {
            warrant
        })
    }

    pub(crate) fn refusal(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
        ownerships: &[Ownership],
    ) -> ApplicationError {
        let Some(principal) = caller.principal() else {
            return ApplicationError::CredentialsRequired;
        };
        let is_granted = principal.granted.contains(operation);
        if !is_granted && self.policies.access(caller, collection).has_some(operation) {
            return ApplicationError::InsufficientScope { operation };
        }
        // No policy allows it, so the deciding policies deny it.
        let policies = self.policies.deciding(caller, collection, operation, ownerships);
        ApplicationError::NotPermitted { operation, collection, policies }
    }

    pub(crate) fn refusal_below(
        &self,
        caller: &Caller,
        collection: Collection,
        ownerships: &[Ownership],
    ) -> ApplicationError {
        match self.refusal(caller, collection, Operation::Delete, ownerships) {
            ApplicationError::NotPermitted { collection, policies, .. } => {
                ApplicationError::NotPermittedBelow { collection, policies }
            }
            refusal => refusal,
        }
    }

    pub(crate) fn sees(&self, caller: &Caller, relation: Relation) -> bool {
        self.may_read(caller, relation.to)
    }

    pub(crate) fn sees_parents(&self, caller: &Caller, collection: Collection) -> bool {
        let mut parents = collection.relations().filter(|it| it.kind == RelationKind::Parent);
        parents.all(|relation| self.sees(caller, relation))
    }

    pub(crate) fn unseen(
        &self,
        caller: &Caller,
        collection: Collection,
        view: &View,
    ) -> Vec<Collection> {
        let links = |of: Collection| of.relations().filter(|it| it.kind != RelationKind::Children);
        let embedded = view.embed.iter().flat_map(|it| iter::once(*it).chain(links(it.to)));
        let relations = links(collection).chain(embedded);
        let unseen = relations.filter(|relation| !self.sees(caller, *relation));
        let mut unseen: Vec<_> = unseen.map(|relation| relation.to).collect();
        unseen.sort_unstable_by_key(|collection| collection.name());
        unseen.dedup();
        unseen
    }
}

pub(crate) fn cut_links(
    collection: Collection,
    item: &mut ShownItem,
    sees: impl Fn(Relation) -> bool,
) {
    for relation in collection.relations() {
        if item.related(relation.kind).is_some() && !sees(relation) {
            item.unlink(relation.kind);
        }
    }
}
