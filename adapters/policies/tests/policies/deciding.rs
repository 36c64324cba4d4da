//! Decisions: a literal table, and a naive evaluator that agrees with them on everything.

use std::sync::Arc;

use application::{Access, Caller, Ownership, PublishedPolicy};
use domain::{Collection, Members, Operation, Operations, Principal};
use jiff::civil::{Date, date};
use proptest::prelude::*;

use crate::files::load_text;

fn known(id: &str, roles: &[&str]) -> Caller {
    let roles = roles.iter().map(|role| (*role).into()).collect();
    let principal = Principal::with(id.into(), roles, &Members::default(), (None, None));
    Caller::Known(Arc::new(principal))
}

const TODAY: Date = date(2026, 6, 1);

const POLICIES: &str = "
policies:
- {id: public, group: proposedprograms, allow: [read], to: [anyone]}
- {id: members_read, group: [proposals, files], allow: [read], to: [signed_in]}
- {id: authors_create, group: proposals, allow: [create], to: [author]}
- {id: authors_own, group: proposals, allow: [update, delete], to: [author], when: meta.created_by == caller.id}
- {id: staff, group: [proposals, files], allow: [history, write], to: [staff, chief]}
- {id: none_delete_own, group: files, deny: [delete], to: [staff], when: caller.id == meta.created_by}
- {id: suspended, group: proposals, deny: [write], to: [suspended]}
- {id: guests, group: status, allow: [read], to: [guest], effective: {from: 2026-06-01, until: 2026-06-30}}
- {id: frozen, group: proposals, deny: [create], to: [author], effective: {from: 2026-07-01}}
";

/// Each caller by name, with the roles of known ones. A token may have roles that are called like words
/// of the policies.
const CALLERS: [(&str, Option<&[&str]>); 8] = [
    ("public", None),
    ("stranger", Some(&[])),
    ("author", Some(&["author"])),
    ("staff", Some(&["staff"])),
    ("chief", Some(&["chief"])),
    ("suspended", Some(&["suspended", "staff"])),
    ("guest", Some(&["guest"])),
    ("sly", Some(&["anyone", "signed_in", "Staff"])),
];

/// Callers, groups, and the operations on their own items and on others.
const DECISIONS: &[(&str, &str, &str, &str)] = &[
    ("public", "proposedprograms", "read", "read"),
    ("public", "proposals", "", ""),
    ("public", "files", "", ""),
    ("stranger", "proposedprograms", "read", "read"),
    ("stranger", "proposals", "read", "read"),
    ("stranger", "lib", "", ""),
    ("stranger", "status", "", ""),
    ("author", "proposals", "read create replace patch delete", "read create"),
    ("author", "files", "read", "read"),
    ("staff", "proposals", EVERY_OPERATION, EVERY_OPERATION),
    ("staff", "files", "read history create replace patch", EVERY_OPERATION),
    ("chief", "files", EVERY_OPERATION, EVERY_OPERATION),
    ("suspended", "proposals", "read history", "read history"),
    ("guest", "status", "read", "read"),
    ("sly", "proposals", "read", "read"),
    ("sly", "status", "", ""),
];

const EVERY_OPERATION: &str = "read history create replace patch delete";

#[test]
fn roles_decide_operations_by_group() {
    let policies = load_text(POLICIES);
    let names = |of: Operations| of.iter().map(Operation::name).collect::<Vec<_>>().join(" ");
    for (name, group, own, others) in DECISIONS {
        let (_, roles) = CALLERS.iter().find(|(known, _)| known == name).expect("a caller");
        let caller = roles.map_or(Caller::Anonymous, |roles| known("a:1", roles));
        let access = policies.access(&caller, Collection::known(group), || TODAY);
        let found = (names(access.own), names(access.others));
        assert_eq!(found, (own.to_string(), others.to_string()), "{name} {group}");
    }
}

#[test]
fn a_policy_counts_on_its_days() {
    let policies = load_text(POLICIES);
    let (guest, author) = (known("a:1", &["guest"]), known("a:2", &["author"]));
    let is_permitted = |caller: &Caller, group: &'static str, operation, day| {
        policies.access(caller, Collection::known(group), || day).has_all(operation)
    };
    for (day, reads, creates) in [
        (date(2026, 5, 31), false, true),
        (date(2026, 6, 1), true, true),
        (date(2026, 6, 30), true, true),
        (date(2026, 7, 1), false, false),
    ] {
        assert_eq!(is_permitted(&guest, "status", Operation::Read, day), reads, "{day}");
        assert_eq!(is_permitted(&author, "proposals", Operation::Create, day), creates, "{day}");
    }
}

#[test]
fn the_day_is_asked_for_where_it_matters_only() {
    let policies = load_text(POLICIES);
    let caller = known("a:1", &["staff"]);
    let files = policies.access(&caller, Collection::known("files"), || panic!("the day"));
    assert!(files.has_some(Operation::Delete) && !files.has_all(Operation::Delete));
}

#[test]
fn those_that_deny_decide_or_else_those_that_allow() {
    let policies = load_text(POLICIES);
    let (own, others) = (Ownership::Own, Ownership::Others);
    let (both, all) = (&["staff", "author"][..], &["staff", "author", "suspended"][..]);
    for (roles, group, operation, ownership, ids) in [
        (all, "files", Operation::Delete, own, &["none_delete_own"][..]),
        (all, "files", Operation::Delete, others, &["staff"]),
        (all, "proposals", Operation::Read, others, &["members_read"]),
        (all, "proposals", Operation::Patch, own, &["suspended"]),
        (all, "proposals", Operation::History, own, &["staff"]),
        (all, "lib", Operation::Read, own, &[]),
        // No caller may read them, and so no other operation is possible.
        (all, "lib", Operation::Delete, own, &[]),
        (both, "proposals", Operation::Patch, own, &["authors_own", "staff"]),
    ] {
        let of = (Collection::known(group), operation);
        let found = policies.deciding(TODAY, &known("a:1", roles), of, &[ownership]);
        let found: Vec<_> = found.iter().map(|id| &**id).collect();
        assert_eq!(found, ids, "{group} {operation:?}");
    }
}

#[test]
fn policies_are_published_as_they_are_written() {
    let published = load_text(POLICIES).published();
    assert_eq!(published.len(), 9);
    let expected = PublishedPolicy {
        id: "none_delete_own".into(),
        collections: vec![Collection::known("files")],
        denies: true,
        operations: [Operation::Delete].into_iter().collect(),
        to: vec!["staff".into()],
        is_about_own: true,
        description: None,
        source: None,
    };
    assert_eq!(published[5], expected);
}

const GROUPS: [&str; 3] = ["proposals", "files", "status"];
const AUDIENCE: [&str; 5] = ["anyone", "signed_in", "r0", "r1", "r2"];

/// A policy as the naive evaluator sees it.
#[derive(Clone, Debug)]
struct Plain {
    groups: Vec<&'static str>,
    denies: bool,
    operations: Vec<Operation>,
    to: Vec<&'static str>,
    is_own: bool,
    from: Option<u8>,
    until: Option<u8>,
}

impl Plain {
    fn yaml(&self, index: usize) -> String {
        let verb = if self.denies { "deny" } else { "allow" };
        let operations: Vec<_> = self.operations.iter().map(|operation| operation.name()).collect();
        let day = |day: Option<u8>, name| day.map(|day| format!("{name}: 2026-06-{day:02}, "));
        let days =
            [day(self.from, "from"), day(self.until, "until")].map(Option::unwrap_or_default);
        let when = if self.is_own { ", when: caller.id == meta.created_by" } else { "" };
        format!(
            "- {{id: p{index}, group: [{}], {verb}: [{}], to: [{}], effective: {{{}}}{when}}}\n",
            self.groups.join(", "),
            operations.join(", "),
            self.to.join(", "),
            days.concat(),
        )
    }

    /// Returns whether the policy applies to a caller with these roles. `None` is an anonymous caller.
    fn concerns(&self, roles: Option<&[&str]>, group: &str, operation: Operation) -> bool {
        let is_meant = self.to.iter().any(|to| match *to {
            "anyone" => true,
            "signed_in" => roles.is_some(),
            role => roles.is_some_and(|roles| roles.contains(&role)),
        });
        is_meant && self.groups.contains(&group) && self.operations.contains(&operation)
    }
}

fn plain() -> impl Strategy<Value = Plain> {
    let some =
        |words: &'static [&'static str]| proptest::sample::subsequence(words, 1..=words.len());
    let operations = proptest::sample::subsequence(&Operation::ALL[..], 1..=3);
    let days = (proptest::option::of(1_u8..15), proptest::option::of(15_u8..30));
    (some(&GROUPS), any::<bool>(), operations, some(&AUDIENCE), any::<bool>(), days).prop_map(
        |(groups, denies, operations, to, is_own, (from, until))| {
            let of_one_item = [Operation::Replace, Operation::Patch, Operation::Delete];
            let can_be_own = operations.iter().all(|operation| of_one_item.contains(operation));
            let is_own = is_own && can_be_own && !to.contains(&"anyone");
            Plain { groups, denies, operations, to, is_own, from, until }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn access_is_that_of_a_naive_evaluator(
        policies in proptest::collection::vec(plain(), 0..8),
        roles in proptest::option::of(proptest::sample::subsequence(&AUDIENCE[..], 0..4)),
        day in 1_u8..30,
    ) {
        let yaml: String = policies.iter().enumerate().map(|(index, policy)| policy.yaml(index)).collect();
        let set = load_text(&if yaml.is_empty() { "policies: []".to_owned() } else { format!("policies:\n{yaml}") });
        // A token may have any roles.
        let caller = roles.as_deref().map_or(Caller::Anonymous, |roles| known("a:1", roles));
        let today = date(2026, 6, i8::try_from(day).expect("a day"));
        for group in GROUPS {
            let collection = Collection::known(group);
            let access = set.access(&caller, collection, || today);
            let naive = |is_own: bool| {
                let counts = |policy: &Plain| {
                    let is_in_force = policy.from.is_none_or(|from| from <= day) && policy.until.is_none_or(|until| day <= until);
                    is_in_force && (is_own || !policy.is_own)
                };
                let concerns = |policy: &Plain, operation| counts(policy) && policy.concerns(roles.as_deref(), group, operation);
                let matching = |denies: bool, operation| policies.iter().any(|policy| policy.denies == denies && concerns(policy, operation));
                let is_allowed = |operation| matching(false, operation) && !matching(true, operation);
                // What is there can be changed only by those who can read it.
                let is_possible = |operation| operation == Operation::Create || is_allowed(Operation::Read);
                Operation::ALL.into_iter().filter(|operation| is_allowed(*operation) && is_possible(*operation)).collect::<Operations>()
            };
            // An anonymous caller has no own items, so no policy distinguishes them.
            prop_assert_eq!(access, Access { own: naive(true), others: naive(false) });
            for operation in Operation::ALL {
                for ownership in Ownership::ALL {
                    let deciding = set.deciding(today, &caller, (collection, operation), &[ownership]);
                    let is_permitted = access.on(ownership).contains(operation);
                    let allows = deciding.iter().all(|id| {
                        let index: usize = id[1..].parse().expect("a number");
                        policies[index].denies != is_permitted
                    });
                    prop_assert!(allows && (!is_permitted || !deciding.is_empty()));
                }
            }
        }
    }
}
