//! Analysis of policies for their authors: how databases select by them, and rights that callers
//! can give to themselves.

use domain::{Collection, Operation};
use language::expression::LookupBy;

use crate::condition::ItemCondition;
use crate::item_role::ItemRole;
use crate::policy::Policy;
use crate::policy_set::PolicySet;

/// How a database finds the items of a condition, by cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SqlClass {
    /// By the creator or by indexed members.
    Index,
    /// By indexed lookups for each item.
    SemiJoin,
    /// By the members of each item, or by a lookup without an index.
    Scan,
}

impl SqlClass {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::SemiJoin => "semi-join",
            Self::Scan => "scan",
        }
    }
}

/// A member on which a right depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dependency<'a> {
    collection: Collection,
    member: &'a str,
    /// True if it is a member of the item of the right, and not of another item.
    is_own: bool,
}

fn is_indexed(collection: Collection, member: &str) -> bool {
    collection.spec().indexed.iter().any(|indexed| indexed.name == member)
}

impl ItemCondition {
    fn class(&self, of: &[Collection]) -> SqlClass {
        let mut class = SqlClass::Index;
        for lookup in self.lookups() {
            let is_indexed = match &lookup.by {
                LookupBy::Id | LookupBy::Parent => true,
                LookupBy::Member(name) => is_indexed(lookup.collection, name),
            };
            class = class.max(if is_indexed { SqlClass::SemiJoin } else { SqlClass::Scan });
        }
        let mut own = self.reads().into_iter().filter(|(of, _)| of.is_none());
        let is_scan = class == SqlClass::Index
            && own.any(|(_, member)| !of.iter().all(|of| is_indexed(*of, member)));
        if is_scan { SqlClass::Scan } else { class }
    }

    fn dependencies(&self, of: &[Collection], is_own: bool) -> Vec<Dependency<'_>> {
        let reads = self.reads().into_iter();
        reads
            .flat_map(|(lookup, member)| match lookup {
                Some(lookup) => {
                    vec![Dependency { collection: lookup.collection, member, is_own: false }]
                }
                None => of
                    .iter()
                    .map(|collection| Dependency { collection: *collection, member, is_own })
                    .collect(),
            })
            .collect()
    }
}

impl PolicySet {
    fn item_roles<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = &'a ItemRole> {
        self.roles.iter().filter(|role| policy.roles().any(|name| *name == *role.name))
    }

    pub(crate) fn class(&self, policy: &Policy) -> SqlClass {
        let collections = &policy.shown.collections;
        let of_role = |role: &ItemRole| {
            let class = role.condition.class(&[role.collection]);
            let is_passed_on = collections.iter().any(|of| *of != role.collection);
            if is_passed_on { class.max(SqlClass::SemiJoin) } else { class }
        };
        let roles = self.item_roles(policy).map(of_role).max();
        policy.condition.class(collections).max(roles.unwrap_or(SqlClass::Index))
    }

    pub(crate) fn is_used(&self, role: &ItemRole) -> bool {
        self.policies.iter().any(|policy| policy.roles().any(|name| *name == *role.name))
    }

    /// Returns the members on which the right of a policy depends.
    fn dependencies<'a>(&'a self, policy: &'a Policy) -> Vec<Dependency<'a>> {
        let collections = &policy.shown.collections;
        let mut all = policy.condition.dependencies(collections, true);
        for role in self.item_roles(policy) {
            let is_own = collections.contains(&role.collection);
            all.extend(role.condition.dependencies(&[role.collection], is_own));
            for collection in collections.iter().filter(|of| **of != role.collection) {
                let spec = collection.spec();
                let path = spec.references.iter().chain(&spec.about).map(|it| it.member);
                let own = |member| Dependency { collection: *collection, member, is_own: true };
                all.extend(path.map(own));
            }
        }
        all
    }

    /// Returns a reason for each member that a policy lets callers write and on which a right of
    /// the same callers depends.
    pub(crate) fn self_granted_rights(&self, writing: &Policy) -> Vec<String> {
        let writes = writing.shown.operations;
        let can_create = writes.contains(Operation::Create);
        let can_change = writes.contains(Operation::Replace) || writes.contains(Operation::Patch);
        if writing.shown.denies || !can_create && !can_change {
            return Vec::new();
        }
        // Without `change` the item must still meet the condition and the role after the write.
        let kept = if writing.condition.has_change() {
            writing.condition.change_reads()
        } else {
            let own = self.dependencies(writing).into_iter().filter(|it| it.is_own);
            own.map(|dependency| dependency.member).collect()
        };
        let mut reasons = Vec::new();
        let is_of_same_callers = |policy: &&Policy| {
            let includes = |word: &str| policy.shown.to.iter().any(|other| **other == *word);
            let is_broad = writing.is_for_anyone() || writing.is_for_signed_in();
            !policy.shown.denies && (is_broad || writing.shown.to.iter().any(|word| includes(word)))
        };
        for policy in self.policies.iter().map(|policy| &**policy).filter(is_of_same_callers) {
            for Dependency { collection, member, is_own } in self.dependencies(policy) {
                let is_written = can_change || !is_own;
                let is_listed = writing.write.as_ref().is_none_or(|it| it.covers(&[member.into()]));
                if !is_written
                    || !is_listed
                    || kept.contains(&member)
                    || !writing.shown.collections.contains(&collection)
                {
                    continue;
                }
                let change = format!("`change: self.{member} == old.{member}`");
                let fix = match (can_create, can_change) {
                    (true, true) => {
                        format!(
                            "let other roles create it, and allow changes in a policy with {change}"
                        )
                    }
                    (true, false) => "let other roles create it".to_owned(),
                    (false, _) => format!("add {change}, or let other roles write it"),
                };
                let reason = format!(
                    "callers can give themselves the right by `{}`, which depends on `{member}` of `{}`; {fix}",
                    policy.shown.id,
                    collection.name(),
                );
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }
}
