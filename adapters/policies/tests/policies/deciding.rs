//! Decisions: a literal table, and a naive evaluator that agrees with them on everything.

use std::sync::Arc;

use application::{Caller, Permissions, PublishedPolicy};
use domain::predicate::{Judged, Lookups};
use domain::{
    Collection, Found, Item, ItemId, Lookup, Members, Operation, Operations, Principal, Version,
};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use proptest::prelude::*;

use crate::files::load_text;

fn known(id: &str, roles: &[&str]) -> Caller {
    let roles = roles.iter().map(|role| (*role).into()).collect();
    let principal = Principal::with(id.into(), roles, &Members::default(), (None, None));
    Caller::Known(Arc::new(principal))
}

struct NoLookups;

impl Lookups for NoLookups {
    fn found(&mut self, _: Lookup) -> Option<&Found> {
        None
    }
}

/// Returns the operations on an item that the caller `a:1` or somebody else created.
fn permitted(permissions: &Permissions, group: Collection, is_own: bool) -> Operations {
    let item = Item {
        id: ItemId::NIL,
        version: Version::FIRST,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        members: "{}".into(),
        parent: None,
        continues: None,
        created_by: Some(if is_own { "a:1" } else { "a:2" }.into()),
    };
    let judged = Judged { current: &item, old: Some(&item) };
    let is_permitted = |operation: &Operation| {
        permissions.change(group, *operation).judge(judged, &mut NoLookups) == Some(true)
    };
    Operation::ALL.into_iter().filter(is_permitted).collect()
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
        let permissions = policies.permissions(&caller, || TODAY);
        let on = |is_own| names(permitted(&permissions, Collection::known(group), is_own));
        let found = (on(true), on(false));
        assert_eq!(found, (own.to_string(), others.to_string()), "{name} {group}");
    }
}

#[test]
fn a_policy_counts_on_its_days() {
    let policies = load_text(POLICIES);
    let (guest, author) = (known("a:1", &["guest"]), known("a:2", &["author"]));
    let is_permitted = |caller: &Caller, group: &'static str, operation, day| {
        policies.permissions(caller, || day).has_all(Collection::known(group), operation)
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
    let policies = load_text(
        "policies: [{id: own, group: files, allow: [read], to: [signed_in], when: meta.created_by == caller.id}]",
    );
    let permissions = policies.permissions(&known("a:1", &[]), || panic!("the day"));
    let files = Collection::known("files");
    let some = permissions.has_some(files, Operation::Read);
    assert!(some && !permissions.has_all(files, Operation::Read));
    assert!(!policies.permissions(&Caller::Anonymous, || TODAY).has_some(files, Operation::Read));
    let dated =
        "policies: [{id: p, group: files, allow: [read], to: [anyone], when: self.until >= today}]";
    let days = [date(2026, 6, 1), date(2026, 6, 2)];
    let dated = load_text(dated);
    let [one, other] = days.map(|day| dated.permissions(&Caller::Anonymous, || day));
    assert_ne!(one, other, "midnight makes another predicate");
}

#[test]
fn those_that_deny_decide_or_else_those_that_allow() {
    let (both, all) = ("staff, author", "staff, author, suspended");
    for (roles, group, operation, creator, ids) in [
        (all, "files", "delete", "a:1", &["none_delete_own"][..]),
        (all, "files", "delete", "a:2", &["staff"]),
        (all, "proposals", "read", "a:2", &["members_read"]),
        (all, "proposals", "patch", "a:1", &["suspended"]),
        (all, "proposals", "history", "a:1", &["staff"]),
        (all, "lib", "read", "a:1", &[]),
        // No caller may read them, and so no other operation is possible.
        (all, "lib", "delete", "a:1", &[]),
        (both, "proposals", "patch", "a:1", &["authors_own", "staff"]),
    ] {
        let caller = format!("{{id: 'a:1', roles: [{roles}]}}");
        let case = format!(
            "cases: [{{name: n, caller: {caller}, operation: {operation}, group: {group}, \
             meta: {{created_by: '{creator}'}}, expect: deny, today: {TODAY}}}]"
        );
        let reports = load_text(&format!("{POLICIES}{case}")).run_cases();
        assert_eq!(reports[0].decided_by, ids, "{group} {operation}");
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
        members: [const { None }; 3],
        to: vec!["staff".into()],
        when: Some("caller.id == meta.created_by".into()),
        change: None,
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
            let is_own = is_own && !to.contains(&"anyone");
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
            let permissions = set.permissions(&caller, || today);
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
            for is_own in [true, false] {
                let is_own = is_own && roles.is_some();
                prop_assert_eq!(permitted(&permissions, collection, is_own), naive(is_own));
            }
        }
    }
}
