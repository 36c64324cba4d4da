//! Precomputed answers of policies, by collection.

use std::collections::HashMap;
use std::sync::Arc;

use application::{Access, Caller};
use domain::Collection;
use jiff::civil::Date;

use crate::policy::Policy;

/// Rights in the items of one collection.
///
/// Rights are bit sets, so a union of policies is a union of bits. All policies of a role share one
/// entry. An answer costs one lookup for each role of the caller.
#[derive(Debug, Default)]
pub(crate) struct AccessTable {
    anyone: Rights,
    signed_in: Rights,
    by_role: HashMap<Box<str>, Rights>,
    /// Policies that apply on some days only.
    dated: Vec<Arc<Policy>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rights {
    allowed: Access,
    denied: Access,
}

impl Rights {
    fn of(policy: &Policy) -> Self {
        let access = policy.access();
        if policy.shown.denies {
            Self { denied: access, ..Self::default() }
        } else {
            Self { allowed: access, ..Self::default() }
        }
    }

    fn add(&mut self, other: Self) {
        let union = |left: Access, right: Access| Access {
            own: left.own.union(right.own),
            others: left.others.union(right.others),
        };
        self.allowed = union(self.allowed, other.allowed);
        self.denied = union(self.denied, other.denied);
    }

    /// Computes the effective operations: a denial wins, and changes require read access.
    fn access(self) -> Access {
        let Self { allowed, denied } = self;
        Access {
            own: allowed.own.without(denied.own).performable(),
            others: allowed.others.without(denied.others).performable(),
        }
    }
}

impl AccessTable {
    pub fn of(collection: Collection, policies: &[Arc<Policy>]) -> Self {
        let mut table = Self::default();
        for policy in
            policies.iter().filter(|policy| policy.shown.collections.contains(&collection))
        {
            if !policy.effective.is_always() {
                table.dated.push(Arc::clone(policy));
                continue;
            }
            let rights = Rights::of(policy);
            if policy.is_for_anyone() {
                table.anyone.add(rights);
            }
            if policy.is_for_signed_in() {
                table.signed_in.add(rights);
            }
            for role in policy.roles() {
                table.by_role.entry(role.into()).or_default().add(rights);
            }
        }
        table
    }

    /// Returns the permitted operations. Calls `today` only if a policy depends on the day.
    pub fn access(&self, caller: &Caller, today: impl FnOnce() -> Date) -> Access {
        let mut rights = self.anyone;
        if let Some(principal) = caller.principal() {
            rights.add(self.signed_in);
            for found in principal.roles.iter().filter_map(|role| self.by_role.get(role)) {
                rights.add(*found);
            }
        }
        if !self.dated.is_empty() {
            let today = today();
            for policy in self.dated.iter().filter(|policy| policy.concerns(caller, today)) {
                rights.add(Rights::of(policy));
            }
        }
        rights.access()
    }
}
