//! The permission to write an item, which depends on the item and on others.
//!
//! The lookups of a policy join the read set of the decision, so the store makes the write only
//! while their results are unchanged.

use std::sync::Arc;

use domain::predicate::Judged;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Operation, Predicate, Severity, Version,
    WriteOperation,
};

use super::ResourceService;
use super::read_set::DecisionContext;
use super::validate::Draft;
use super::visibility::missing;
use crate::access_control::{refused, undeletable_below};
use crate::judgement::Judgement;
use crate::ports::{ConcerningPolicy, DeletableItems, Scope, ShownItem};
use crate::{ApplicationError, Caller, ItemAddress, Result, WriteOptions};

/// The item that a write changes, restores or continues.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'a> {
    New { continues: Option<ItemId> },
    Stored(&'a ShownItem),
    Removed(&'a Item),
}

impl ResourceService {
    /// Refuses a caller who may perform an operation on some items, but not on this one or on those
    /// that are deleted with it.
    pub(super) async fn require_on(
        &self,
        caller: &Caller,
        operation: Operation,
        shown: &ShownItem,
    ) -> Result<()> {
        let permissions = self.access.permissions(caller);
        let permitted = permissions.on(self.collection, operation);
        if **permitted != Predicate::TRUE {
            let (stored, decision) = (Judged::of(&shown.item), &mut self.decision());
            self.require_met(caller, operation, permitted, stored, decision).await?;
        }
        if operation != Operation::Delete {
            return Ok(());
        }
        // No read is needed if the caller may delete all items.
        let deletable = DeletableItems::below(self.collection, &permissions);
        match undeletable_below(&*self.ports.items, shown.item.id, &deletable).await? {
            Some(collection) => Err(self.access.refusal_below(caller, collection)),
            None => Ok(()),
        }
    }

    /// Refuses a write that the caller may not make of the item. The items that the caller must see
    /// for it join the read set.
    pub(super) async fn permit(
        &self,
        options: &WriteOptions,
        operation: WriteOperation,
        address: ItemAddress,
        origin: Origin<'_>,
        draft: &Draft,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        let (caller, now) = (&options.caller, decision.now);
        if let Some(parents) = self.collection.parent()
            && let (Origin::New { .. } | Origin::Removed(_), Some(parent)) =
                (origin, address.parent)
        {
            let not_found = ApplicationError::ParentNotFound;
            self.require_seen(caller, (parents, parent), not_found, decision).await?;
        }
        if let Origin::New { continues: Some(continued) } = origin {
            let not_found = ApplicationError::ItemNotFound;
            self.require_seen(caller, (self.collection, continued), not_found, decision).await?;
        }
        let permissions = self.access.permissions(caller);
        let permitted = permissions.change(self.collection, operation.into());
        if **permitted == Predicate::TRUE {
            return Ok(());
        }
        let members = draft.after.clone().into_encoded();
        let (old, new) = match origin {
            Origin::New { continues } => {
                let created_by = caller.id().map(Arc::from);
                let (ItemAddress { id, parent }, version) = (address, Version::FIRST);
                let (created_at, updated_at) = (now, now);
                let new = Item {
                    id,
                    version,
                    created_at,
                    updated_at,
                    members,
                    parent,
                    continues,
                    created_by,
                };
                (None, new)
            }
            Origin::Removed(past) => (None, Item { members, ..past.clone() }),
            Origin::Stored(shown) => (Some(&shown.item), Item { members, ..shown.item.clone() }),
        };
        let judged = match old {
            Some(old) if operation == WriteOperation::Delete => Judged::of(old),
            old => Judged { current: &new, old },
        };
        self.require_met(caller, operation.into(), permitted, judged, decision).await
    }

    /// Refuses a write unless a predicate holds. With the item before the write, the predicate is
    /// about the change.
    async fn require_met(
        &self,
        caller: &Caller,
        operation: Operation,
        permitted: &Predicate,
        judged: Judged<'_>,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        if self.is_met(permitted, judged, decision).await? {
            return Ok(());
        }
        let mut policies = Vec::new();
        let concerning = self.access.concerning(caller, self.collection, operation);
        for policy in concerning.into_iter().filter(|policy| policy.denies) {
            let ConcerningPolicy { id, items, writes, .. } = policy;
            let applies = if judged.old.is_some() { writes } else { items };
            // An item that cannot be judged is denied.
            if !self.is_met(&applies.negated(), judged, decision).await? {
                policies.push(id);
            }
        }
        Err(refused(caller, self.collection, operation, policies))
    }

    /// Returns whether a predicate certainly holds. If the write has several items, it must hold
    /// with the stored items and with those that the write makes.
    async fn is_met(
        &self,
        predicate: &Predicate,
        judged: Judged<'_>,
        decision: &mut DecisionContext,
    ) -> Result<bool> {
        let is_met = self.judge_states(predicate, judged, decision, false).await?;
        let sees_written = decision.has_written() && predicate.reads().contains(&self.collection);
        Ok(is_met
            && (!sees_written || self.judge_states(predicate, judged, decision, true).await?))
    }

    async fn judge_states(
        &self,
        predicate: &Predicate,
        judged: Judged<'_>,
        decision: &mut DecisionContext,
        with_written: bool,
    ) -> Result<bool> {
        let repository = self.ports.items.as_ref();
        let mut judgement = Judgement::of(predicate, judged);
        loop {
            let missing = match judgement.step() {
                Ok(holds) => return Ok(holds == Some(true)),
                Err(missing) => missing,
            };
            for lookup in missing {
                let asked = lookup.clone();
                let found = if with_written {
                    decision.look_up(repository, asked, Severity::Error).await?
                } else {
                    decision.look_up_stored(repository, asked, Severity::Error).await?
                };
                judgement.learn(lookup, found);
            }
        }
    }

    /// Refuses a write below or from an item that the caller does not see, and makes the decision
    /// depend on it.
    pub(super) async fn require_seen(
        &self,
        caller: &Caller,
        (collection, id): (Collection, ItemId),
        not_found: ApplicationError,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        let reach = self.access.reach(caller, Scope::of(collection), &[Operation::Read])?;
        let Some(condition) = reach.condition() else { return Ok(()) };
        let lookup = Lookup { collection, key: LookupKey::Id(id), without: ItemId::NIL };
        let repository = self.ports.items.as_ref();
        if let Found::Items(items) =
            decision.look_up_stored(repository, lookup, Severity::Error).await?
            && let Some(item) = items.first()
            && self.judge_states(condition, Judged::of(item), decision, false).await?
        {
            return Ok(());
        }
        Err(missing(caller, &reach, not_found))
    }
}
