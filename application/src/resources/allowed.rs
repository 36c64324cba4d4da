//! The operations that a caller may perform on items and their members.

use std::collections::HashMap;

use domain::predicate::{Judged, Operand, Related, RelatedKey, RelatedValue, Subject};
use domain::{
    Collection, Content, ItemId, Operation, Operations, Pointer, Predicate, VisibleMembers,
};

use super::ResourceService;
use super::visibility::missing;
use crate::ports::{DeletableItems, Permissions};
use crate::{AccessControl, ApplicationError, Caller, ItemAddress, Result};

/// A decision about an operation on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemDecision {
    Permitted,
    NotPermitted,
    /// The item does not exist, or the caller does not see it.
    Missing,
    /// An anonymous caller may see it after signing in.
    SignInNeeded,
}

impl ResourceService {
    /// Decides about an operation on each of these items, in their order. Fails with the refusal of
    /// a caller who may perform it on none.
    pub async fn decide_on(
        &self,
        caller: &Caller,
        operation: Operation,
        items: &[ItemId],
    ) -> Result<Vec<ItemDecision>> {
        self.access.require(caller, self.collection, &[Operation::Read, operation])?;
        let reach = self.reach(caller, None).await?;
        let visible = self.ports.items.in_reach(&reach, items).await?;
        let allowed = self.allowed(caller, &visible).await?;
        let missing = match missing(caller, &reach, ApplicationError::ItemNotFound) {
            ApplicationError::CredentialsRequired => ItemDecision::SignInNeeded,
            _ => ItemDecision::Missing,
        };
        let decide = |id: &ItemId| match allowed.get(id) {
            None => missing,
            Some(allowed) if allowed.contains(operation) => ItemDecision::Permitted,
            Some(_) => ItemDecision::NotPermitted,
        };
        Ok(items.iter().map(decide).collect())
    }

    /// Returns the operations that a caller may perform on each of these items, which the caller
    /// sees. Takes one query for each operation that depends on the item.
    pub async fn allowed(
        &self,
        caller: &Caller,
        items: &[ItemId],
    ) -> Result<HashMap<ItemId, Operations>> {
        let permissions = self.access.permissions(caller);
        let read: Operations = [Operation::Read].into_iter().collect();
        let mut allowed: HashMap<_, _> = items.iter().map(|id| (*id, read)).collect();
        let operations = Operation::ALL.into_iter().filter(|operation| operation.needs_read());
        for operation in operations {
            let condition = permitted(&permissions, self.collection, operation);
            let permitted = match condition.constant() {
                Some(false) => continue,
                Some(true) => items.to_vec(),
                None => {
                    let reach = AccessControl::reach_where(self.scope(None), condition);
                    self.ports.items.in_reach(&reach, items).await?
                }
            };
            for id in permitted {
                if let Some(operations) = allowed.get_mut(&id) {
                    *operations = operations.union([operation].into_iter().collect());
                }
            }
        }
        Ok(allowed)
    }
}

/// The members of an item that a caller may see and change, for a form.
pub struct EditableMembers(Vec<VisibleMembers>);

impl EditableMembers {
    pub fn has(&self, name: &str) -> bool {
        self.has_at(&Pointer::to_member(name))
    }

    /// Returns whether the caller may see and write the content.
    pub fn has_content(&self) -> bool {
        self.has_at(&Content::pointer())
    }

    fn has_at(&self, pointer: &Pointer) -> bool {
        self.0.iter().all(|mask| mask.shows(pointer))
    }

    /// Returns whether the caller may add members that policies do not name.
    pub fn has_others(&self) -> bool {
        self.has("")
    }
}

impl ResourceService {
    /// Returns the members of an item that a caller may see and write by an operation. Without an
    /// item, those of a new one. Fails if the caller may not perform the operation.
    pub async fn editable(
        &self,
        caller: &Caller,
        operation: Operation,
        item: Option<ItemAddress>,
    ) -> Result<EditableMembers> {
        let permissions = self.access.require(caller, self.collection, &[operation])?;
        if let Some(ItemAddress { id, .. }) = item {
            let allowed = self.allowed(caller, &[id]).await?;
            if !allowed.get(&id).is_some_and(|it| it.contains(operation)) {
                return Err(self.access.refusal(caller, self.collection, operation));
            }
        }
        let writable = permissions.writable(self.collection, operation);
        let masks = [permissions.visible(self.collection), writable];
        let masks: Vec<_> = masks.into_iter().flatten().collect();
        let Some(item) = item.filter(|_| !masks.is_empty()) else {
            return Ok(EditableMembers(masks.into_iter().map(VisibleMembers::at_most).collect()));
        };
        let stored = self.find_whole(caller, item).await?.item;
        let judged = Judged { current: &stored, old: Some(&stored) };
        let (mut editable, mut decision) = (Vec::new(), self.decision());
        for mask in masks {
            editable.push(decision.decide_mask(mask, judged).await?);
        }
        Ok(EditableMembers(editable))
    }
}

/// The condition on an item. A deletion also deletes the items below.
fn permitted(permissions: &Permissions, of: Collection, operation: Operation) -> Predicate {
    let own = (**permissions.on(of, operation)).clone();
    if operation != Operation::Delete {
        return own;
    }
    let limits = DeletableItems::below(of, permissions).into_iter();
    let below = limits.map(|DeletableItems { collection, deletable }| {
        let kept = Related {
            collection,
            key: RelatedKey::Parent,
            value: RelatedValue::Operand(Operand::current(Subject::Id)),
            latest: None,
            holds: (*deletable).clone().negated(),
        };
        // Without any right to delete below, no item can be deleted.
        if *deletable == Predicate::FALSE {
            Predicate::FALSE
        } else {
            Predicate::related(kept).negated()
        }
    });
    Predicate::all([own].into_iter().chain(below))
}
