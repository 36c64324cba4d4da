//! Heuristic warnings about valid policies that likely miss the author's intent.

use std::collections::{BTreeSet, HashSet};
use std::slice;

use application::PublishedPolicy;
use domain::Collection;
use jiff::civil::Date;
use language::keys;

use crate::analysis::SqlClass;
use crate::cases::Case;
use crate::condition::ItemCondition;
use crate::file_format::{ANYONE, SIGNED_IN};
use crate::policy::Policy;
use crate::policy_set::PolicySet;

const LIKE_ANYONE: [&str; 6] = ["*", "all", "anonymous", "any", "everybody", "everyone"];
const LIKE_SIGNED_IN: [&str; 4] = ["authenticated", "known", "signed-in", "user"];

impl PolicySet {
    pub fn warnings(&self, today: Date) -> Vec<String> {
        let exercised: HashSet<_> =
            self.run_cases().into_iter().flat_map(|report| report.decided_by).collect();
        let allowed = self.allowed_roles();
        let sampled: HashSet<_> = self.cases.iter().flat_map(Case::members).collect();
        let mut all = Vec::new();
        for (index, policy) in self.policies.iter().enumerate() {
            let mut reasons = misleading_roles(policy);
            reasons.extend(unknown_members(&policy.condition, &policy.shown.collections));
            reasons.extend(unknown_listed(policy, &sampled));
            reasons.extend(self.duplicate(index));
            reasons.extend(self.self_granted_rights(policy));
            if self.class(policy) == SqlClass::Scan {
                reasons.push("databases read the members of every item for it, which is slow in a large group; select by an indexed member, by the creator, or by a lookup".to_owned());
            }
            if let Some(until) = policy.effective.until.filter(|until| *until < today) {
                reasons.push(format!("the policy has expired: it was in force until {until}"));
            }
            if !exercised.contains(&*policy.shown.id) {
                // A deciding denial is intended: a role such as `suspended` occurs together with
                // others.
                if !policy.allows() {
                    reasons.extend(only_denied(policy, &allowed));
                }
                let id = &policy.shown.id;
                reasons.push(format!(
                    "`{id}` decides no case and no cell of a matrix; add one to `cases` or `matrix`"
                ));
            }
            let lines = reasons.into_iter();
            all.extend(
                lines.map(|reason| format!("{}:{}: warning: {reason}", policy.file, policy.place)),
            );
        }
        for role in &self.roles {
            let mut reasons = unknown_members(&role.condition, &[role.collection]);
            if !self.is_used(role) {
                reasons.push(format!("no policy is `to` the role `{}`", role.name));
            }
            let warning = |reason| format!("{}:{}: warning: {reason}", role.file, role.place);
            all.extend(reasons.into_iter().map(warning));
        }
        all
    }

    fn allowed_roles(&self) -> BTreeSet<&str> {
        let allowing = self.policies.iter().filter(|policy| policy.allows());
        allowing.flat_map(|policy| policy.roles()).collect()
    }

    fn duplicate(&self, index: usize) -> Option<String> {
        let (before, rest) = self.policies.split_at(index);
        let policy = rest.first()?;
        let other = before.iter().find(|other| is_equivalent(other, policy))?;
        Some(format!("`{}` does the same as `{}`; remove one", policy.shown.id, other.shown.id))
    }
}

/// Names members that no item of a group with a fixed set of members has.
fn unknown_members(condition: &ItemCondition, of: &[Collection]) -> Vec<String> {
    let own = condition.change_reads().into_iter().map(|name| (None, name));
    let mut reasons = Vec::new();
    for (lookup, name) in condition.reads().into_iter().chain(own) {
        let of = lookup.map_or(of, |lookup| slice::from_ref(&lookup.collection));
        let is_special = name == "id" || lookup.is_some() && ["parent", "meta"].contains(&name);
        let guess = match name {
            "created_by" | "created_at" => format!("; did you mean `meta.{name}`?"),
            _ => String::new(),
        };
        let absent = of.iter().filter_map(|of| keys::absent_member(*of, name));
        for reason in absent.filter(|_| !is_special).map(|reason| reason + &guess) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

/// Names top-level members in lists that no item has, or that neither the items usually nor those of
/// the cases have.
fn unknown_listed(policy: &Policy, sampled: &HashSet<(Collection, String)>) -> Vec<String> {
    let groups = &policy.shown.collections;
    let usual: Vec<_> =
        groups.iter().flat_map(|of| of.known_members()).map(|(name, _)| name).collect();
    let mut reasons = Vec::new();
    for name in policy.member_lists().flat_map(|it| &it.paths).filter_map(|path| path.first()) {
        let absent = groups.iter().filter_map(|of| keys::absent_member(*of, name));
        let before = reasons.len();
        reasons.extend(absent);
        let is_sampled = || groups.iter().any(|of| sampled.contains(&(*of, name.to_string())));
        if reasons.len() == before && !usual.contains(&&**name) && !is_sampled() {
            let guess = keys::did_you_mean(name, usual.iter().copied());
            reasons.push(format!(
                "`{name}` is not a usual member, and no item of a case has it{guess}; correct it, or add it to a case"
            ));
        }
    }
    reasons
}

fn only_denied(policy: &Policy, allowed: &BTreeSet<&str>) -> Vec<String> {
    let only_denied = policy.roles().filter(|role| !allowed.contains(role));
    let reason = |role: &str| {
        let guess = keys::did_you_mean(role, allowed.iter().copied());
        format!("no policy allows the role `{role}` an operation{guess}")
    };
    only_denied.map(reason).collect()
}

/// Compares policies without ids, descriptions and sources. Groups and roles are unique, so equal
/// sorted lists mean equal sets.
fn is_equivalent(left: &Policy, right: &Policy) -> bool {
    let essence = |policy: &Policy| {
        let mut shown = policy.shown.clone();
        shown.collections.sort_by_key(|collection| collection.index());
        shown.to.sort();
        PublishedPolicy { id: Box::default(), description: None, source: None, ..shown }
    };
    left.effective == right.effective && essence(left) == essence(right)
}

fn misleading_roles(policy: &Policy) -> Vec<String> {
    let mut reasons = Vec::new();
    for role in policy.roles() {
        for (like, word) in [(&LIKE_ANYONE[..], ANYONE), (&LIKE_SIGNED_IN, SIGNED_IN)] {
            if like.contains(&role) {
                reasons.push(format!(
                    "`{role}` is read as the name of a role; did you mean `{word}`?"
                ));
            }
        }
    }
    let widest = if policy.is_for_anyone() { ANYONE } else { SIGNED_IN };
    let covers_others = policy.is_for_anyone() || policy.is_for_signed_in();
    if covers_others && policy.shown.to.len() > 1 {
        reasons.push(format!("`{widest}` makes the other names in `to` redundant; remove them"));
    }
    reasons
}
