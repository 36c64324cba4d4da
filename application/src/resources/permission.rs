//! The permission to write an item, which depends on the item and on others.
//!
//! The lookups of a policy join the read set of the decision, so the store makes the write only
//! while their results are unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::predicate::Judged;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Mask, Operation, Pointer, Predicate,
    Severity, Violation, Violations, VisibleMembers, WriteOperation,
};

use jiff::Timestamp;

use super::ResourceService;
use super::read_set::DecisionContext;
use super::validate::{Draft, stored_members};
use super::visibility::missing;
use crate::access_control::{refused, undeletable_below};
use crate::judgement::Judgement;
use crate::ports::{ConcerningPolicy, DeletableItems, Scope, ShownItem};
use crate::{ApplicationError, Caller, ItemAddress, Result, WriteOptions};

const HIDDEN: &str = "You do not see all of this member, so you cannot write it. Leave it out.";
const PROTECTED: &str = "You are not allowed to change this member. Send it unchanged in a PUT, or \
                         leave it out of a PATCH.";

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

    /// Refuses a write that the caller may not make of the item, or of its members. The items that
    /// the caller must see for it join the read set. Returns the members that the caller sees;
    /// `None` for all.
    pub(super) async fn permit(
        &self,
        options: &WriteOptions,
        operation: WriteOperation,
        address: ItemAddress,
        origin: Origin<'_>,
        draft: &Draft,
        decision: &mut DecisionContext,
    ) -> Result<Option<VisibleMembers>> {
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
        let masks = [
            permissions.visible(self.collection),
            permissions.writable(self.collection, operation.into()),
        ];
        if **permitted == Predicate::TRUE && masks == [None, None] {
            return Ok(None);
        }
        let (old, new) = changed_item(origin, (address, now), caller, draft);
        let judged = match old {
            Some(old) if operation == WriteOperation::Delete => Judged::of(old),
            old => Judged { current: &new, old },
        };
        self.require_met(caller, operation.into(), permitted, judged, decision).await?;
        if operation == WriteOperation::Delete {
            return Ok(None);
        }
        self.permit_members(caller, masks, draft, judged, decision).await
    }

    /// Refuses a write of members that the caller may not write or does not see.
    async fn permit_members(
        &self,
        caller: &Caller,
        [visible, writable]: [Option<&Arc<Mask>>; 2],
        draft: &Draft,
        judged: Judged<'_>,
        decision: &mut DecisionContext,
    ) -> Result<Option<VisibleMembers>> {
        let visible = match (&draft.visible, visible) {
            (Some(visible), _) => Some(visible.clone()),
            (None, Some(mask)) => Some(decision.decide_mask(mask, judged).await?),
            (None, None) => None,
        };
        let mut hidden = draft.refused.clone();
        let before = judged.old.map(stored_members).transpose()?;
        if let (Some(visible), None) = (&visible, &before) {
            hidden.extend(visible.changed(None, &draft.after));
        }
        let mut protected = Vec::new();
        if let Some(mask) = writable {
            let writable = decision.decide_mask(mask, judged).await?;
            protected = writable.changed(before.as_ref(), &draft.after);
        }
        if hidden.is_empty() && protected.is_empty() {
            return Ok(visible);
        }
        let refused: BTreeMap<_, _> = protected
            .into_iter()
            .map(|member| (member, PROTECTED))
            .chain(hidden.into_iter().map(|member| (member, HIDDEN)))
            .collect();
        Err(refused_members(caller, refused))
    }

    /// Returns the members of an item that the caller sees; `None` for all. The decision depends on
    /// the lookups.
    pub(super) async fn visible_members(
        &self,
        caller: &Caller,
        item: &Item,
        decision: &mut DecisionContext,
    ) -> Result<Option<VisibleMembers>> {
        let permissions = self.access.permissions(caller);
        let Some(mask) = permissions.visible(self.collection) else { return Ok(None) };
        decision.decide_mask(mask, Judged::of(item)).await.map(Some)
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
        if decision.is_met(permitted, judged).await? {
            return Ok(());
        }
        let mut policies = Vec::new();
        let concerning = self.access.concerning(caller, self.collection, operation);
        for policy in concerning.into_iter().filter(|policy| policy.denies) {
            let ConcerningPolicy { id, items, writes, .. } = policy;
            let applies = if judged.old.is_some() { writes } else { items };
            // An item that cannot be judged is denied.
            if !decision.is_met(&applies.negated(), judged).await? {
                policies.push(id);
            }
        }
        Err(refused(caller, self.collection, operation, policies))
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
        if let Found::Items(items) = decision.look_up_stored(lookup, Severity::Error).await?
            && let Some(item) = items.first()
            && decision.judge(condition, Judged::of(item), false).await?
        {
            return Ok(());
        }
        Err(missing(caller, &reach, not_found))
    }
}

impl DecisionContext {
    pub async fn decide_mask(
        &mut self,
        mask: &Arc<Mask>,
        judged: Judged<'_>,
    ) -> Result<VisibleMembers> {
        let mut holds = Vec::with_capacity(mask.conditions().len());
        for condition in mask.conditions() {
            holds.push(self.is_met(condition, judged).await?);
        }
        Ok(VisibleMembers::new(Arc::clone(mask), holds))
    }

    /// Returns whether a predicate certainly holds. If the write has several items, it must hold
    /// with the stored items and with those that the write makes.
    async fn is_met(&mut self, predicate: &Predicate, judged: Judged<'_>) -> Result<bool> {
        let is_met = self.judge(predicate, judged, false).await?;
        let sees_written = self.has_written() && predicate.reads().contains(&self.collection);
        Ok(is_met && (!sees_written || self.judge(predicate, judged, true).await?))
    }

    async fn judge(
        &mut self,
        predicate: &Predicate,
        judged: Judged<'_>,
        with_written: bool,
    ) -> Result<bool> {
        let mut judgement = Judgement::of(predicate, judged);
        loop {
            let missing = match judgement.step() {
                Ok(holds) => return Ok(holds == Some(true)),
                Err(missing) => missing,
            };
            for lookup in missing {
                let asked = lookup.clone();
                let found = if with_written {
                    self.look_up(asked, Severity::Error).await?
                } else {
                    self.look_up_stored(asked, Severity::Error).await?
                };
                judgement.learn(lookup, found);
            }
        }
    }
}

/// The item before a write, and the one that it makes.
fn changed_item<'a>(
    origin: Origin<'a>,
    (address, now): (ItemAddress, Timestamp),
    caller: &Caller,
    draft: &Draft,
) -> (Option<&'a Item>, Item) {
    let members = draft.after.clone().into_encoded();
    match origin {
        Origin::New { continues } => (None, address.new_item(members, continues, caller, now)),
        Origin::Removed(past) => (None, Item { members, ..past.clone() }),
        Origin::Stored(shown) => (Some(&shown.item), Item { members, ..shown.item.clone() }),
    }
}

/// The refusal of members, each with its reason.
pub(super) fn refused_members(
    caller: &Caller,
    members: impl IntoIterator<Item = (Pointer, &'static str)>,
) -> ApplicationError {
    if caller.principal().is_none() {
        return ApplicationError::CredentialsRequired;
    }
    let mut violations = Violations::default();
    let refused = |(member, detail)| Violation::new(member, "not_permitted", detail);
    violations.extend(members.into_iter().map(refused));
    ApplicationError::MembersNotPermitted(violations)
}
