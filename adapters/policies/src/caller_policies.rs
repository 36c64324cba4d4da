//! The policies for one caller and day.

use std::collections::HashMap;
use std::sync::Arc;

use application::{Access, Caller, ConcerningPolicy, Permissions};
use domain::{Collection, Mask, Operation, Predicate, WriteContext, WriteOperation};
use jiff::civil::Date;

use crate::condition::Held;
use crate::item_role::ItemRole;
use crate::member_list::MemberList;
use crate::policy::Policy;

pub(crate) struct CallerPolicies<'a> {
    policies: Vec<&'a Policy>,
    context: WriteContext,
    caller: &'a Caller,
    roles: HashMap<&'a str, (Collection, Held)>,
}

/// A policy about the items of one collection.
struct Applied<'a> {
    policy: &'a Policy,
    /// The condition on the item.
    item: Held,
    /// The condition on a write, if it differs from that on the item before and after it.
    change: Option<Held>,
}

impl<'a> CallerPolicies<'a> {
    pub fn new(
        (roles, policies): (&'a [ItemRole], &'a [Arc<Policy>]),
        caller: &'a Caller,
        today: Date,
    ) -> Self {
        let context = WriteContext {
            caller: caller.principal().cloned(),
            today,
            ..WriteContext::any(WriteOperation::Create)
        };
        // Without an id there are no roles on items.
        let roles = roles.iter().filter(|_| caller.principal().is_some());
        let held =
            |role: &'a ItemRole| (&*role.name, (role.collection, role.condition.when(&context)));
        let roles = roles.map(held).collect();
        let in_force = policies.iter().map(|policy| &**policy);
        let in_force = in_force.filter(|policy| policy.effective.contains(today));
        Self { policies: in_force.collect(), context, caller, roles }
    }

    pub fn permissions(&self) -> Permissions {
        Permissions::new(Collection::all().map(|collection| self.access(collection)))
    }

    fn access(&self, collection: Collection) -> Access {
        let applied = self.applied(collection);
        let decide = |operation: Operation, of: &dyn Fn(&Applied<'_>) -> Predicate| {
            let about = |denies: bool| {
                let about = applied.iter().filter(move |it| it.policy.shown.denies == denies);
                about.filter(move |it| it.policy.shown.operations.contains(operation))
            };
            Predicate::any(about(false).map(of)).and(Predicate::any(about(true).map(of)).negated())
        };
        let read = decide(Operation::Read, &|it| it.on_item(Operation::Read));
        let items = Operation::ALL.map(|operation| {
            let permitted = decide(operation, &|it| it.on_item(operation));
            if operation.needs_read() { permitted.and(read.clone()) } else { permitted }
        });
        let changes = Operation::ALL.map(|operation| match operation {
            Operation::Replace | Operation::Patch => {
                decide(operation, &|it| it.on_write()).and(read.of_old())
            }
            operation => items[operation as usize].clone(),
        });
        let writable = Operation::ALL.map(|operation| match operation {
            Operation::Create | Operation::Replace | Operation::Patch => {
                mask(collection, &applied, operation)
            }
            Operation::Read | Operation::History | Operation::Delete => None,
        });
        let visible = mask(collection, &applied, Operation::Read);
        Access { items: items.map(Into::into), changes: changes.map(Into::into), visible, writable }
    }

    /// Returns the policies about an operation, in file order.
    pub fn concerning(
        &self,
        collection: Collection,
        operation: Operation,
    ) -> Vec<ConcerningPolicy> {
        let about = |applied: &Applied<'_>| applied.policy.shown.operations.contains(operation);
        let concerning = |applied: Applied<'_>| {
            let items = applied.on_item(operation);
            let writes = applied.on(operation);
            let (id, denies) = (applied.policy.shown.id.clone(), applied.policy.shown.denies);
            ConcerningPolicy { id, denies, items, writes }
        };
        self.applied(collection).into_iter().filter(about).map(concerning).collect()
    }

    /// Returns the policies that hide members, with their conditions on the item.
    pub fn hiding(&self, collection: Collection) -> Vec<(Box<str>, Predicate)> {
        let applied = self.applied(collection).into_iter();
        let hiding = applied.filter(|it| it.policy.hide.is_some());
        hiding.map(|it| (it.policy.shown.id.clone(), it.item.possibly)).collect()
    }

    fn applied(&self, collection: Collection) -> Vec<Applied<'a>> {
        let applied = |policy: &'a Policy| {
            let has_role = self.has_role(policy, collection);
            if has_role.possibly == Predicate::FALSE {
                return None;
            }
            let item = has_role.and(policy.condition.when(&self.context));
            Some(Applied { policy, item, change: policy.condition.change(&self.context) })
        };
        let about = |policy: &&Policy| policy.shown.collections.contains(&collection);
        self.policies.iter().copied().filter(about).filter_map(applied).collect()
    }

    /// Returns the condition on the items of a collection that the caller has a role of the policy.
    fn has_role(&self, policy: &Policy, collection: Collection) -> Held {
        if policy.includes(self.caller, |role| self.roles.contains_key(role)) {
            return Held::ALWAYS;
        }
        let roles = policy.roles().filter_map(|role| self.roles.get(role));
        roles.fold(Held::NEVER, |any, (of, held)| any.or(held.passed_on(*of, collection)))
    }
}

/// Returns the members on which policies allow an operation, of items on which they do; `None` for
/// all.
fn mask(
    collection: Collection,
    applied: &[Applied<'_>],
    operation: Operation,
) -> Option<Arc<Mask>> {
    let is_read = operation == Operation::Read;
    let allows = |it: &&Applied<'_>| {
        !it.policy.shown.denies && it.policy.shown.operations.contains(operation)
    };
    let allowing: Vec<_> = applied.iter().filter(allows).collect();
    let hides = |it: &&Applied<'_>| is_read && it.policy.hide.is_some();
    let hiding: Vec<_> = applied.iter().filter(hides).collect();
    let lists = allowing.iter().filter_map(|it| it.policy.listed(operation));
    let lists = lists.chain(hiding.iter().filter_map(|it| it.policy.hide.as_ref()));
    let mut paths: Vec<_> = lists.flat_map(|list| list.paths.iter().cloned()).collect();
    paths.sort_unstable();
    paths.dedup();
    let allowed = Predicate::any(allowing.iter().map(|it| it.on(operation)));
    let on = |covers: &dyn Fn(&MemberList) -> bool| {
        let on = allowing.iter().filter(|it| it.policy.listed(operation).is_none_or(covers));
        // The operation is allowed on the item, so that this is not decided again.
        let on = Some(Predicate::any(on.map(|it| it.on(operation)))).filter(|on| *on != allowed);
        let hidden = hiding.iter().filter(|it| it.policy.hide.as_ref().is_some_and(covers));
        let hidden = Predicate::any(hidden.map(|it| it.item.possibly.clone()));
        on.unwrap_or(Predicate::TRUE).and(hidden.negated())
    };
    let members = paths.into_iter().map(|path| {
        let condition = on(&|list| list.covers(&path));
        (path, condition)
    });
    Mask::new(collection, members, on(&|_| false), on(&|list| list.has_callers)).map(Arc::new)
}

impl Applied<'_> {
    fn decisive(&self, held: Held) -> Predicate {
        if self.policy.shown.denies { held.possibly } else { held.certainly }
    }

    /// The condition on the old and the new item of a replacement, otherwise on the item.
    fn on(&self, operation: Operation) -> Predicate {
        match operation {
            Operation::Replace | Operation::Patch => self.on_write(),
            operation => self.on_item(operation),
        }
    }

    /// The condition on the stored item, or on the new item of a creation.
    fn on_item(&self, operation: Operation) -> Predicate {
        let item = self.item.clone();
        self.decisive(match (&self.change, operation) {
            (Some(change), Operation::Create) => item.and(change.clone()),
            // Whether it denies the write depends on the new item.
            (Some(_), Operation::Replace | Operation::Patch) if self.policy.shown.denies => {
                Held::NEVER
            }
            _ => item,
        })
    }

    /// The condition on the old and the new item of a replacement.
    fn on_write(&self) -> Predicate {
        let (old, new) = (self.item.of_old(), self.item.clone());
        self.decisive(match &self.change {
            Some(change) => old.and(change.clone()),
            None if self.policy.shown.denies => old.or(new),
            None => old.and(new),
        })
    }
}
