//! Warnings about policies that are sound but do not do what their author meant, as far as can be
//! told.

use std::collections::{BTreeSet, HashSet};

use domain::nearest;
use jiff::civil::Date;
use language::error::FileError;

use crate::file_format::{ANYONE, SIGNED_IN};
use crate::policy::Policy;
use crate::policy_set::PolicySet;

/// Roles that look like words with a meaning.
const LIKE_ANYONE: [&str; 6] = ["*", "all", "anonymous", "any", "everybody", "everyone"];
const LIKE_SIGNED_IN: [&str; 4] = ["authenticated", "known", "signed-in", "user"];

impl PolicySet {
    /// Returns everything about the policies that is likely a mistake, in the order of the files and
    /// of the places in them.
    pub(crate) fn likely_mistakes(&self, today: Date) -> Vec<FileError> {
        let exercised: HashSet<_> =
            self.run_cases().into_iter().flat_map(|report| report.decided_by).collect();
        let allowed = self.allowed_roles();
        let mut all = Vec::new();
        for (index, policy) in self.policies.iter().enumerate() {
            let mut reasons = misleading_roles(policy);
            reasons.extend(self.duplicate(index));
            if let Some(until) = policy.effective.until.filter(|until| *until < today) {
                reasons.push(format!("the policy never counts again: it did until {until}"));
            }
            if !exercised.contains(&*policy.id) {
                // A denial that decides a case is meant: a role such as `suspended` stands beside
                // others.
                if policy.denies {
                    reasons.extend(only_denied(policy, &allowed));
                }
                let id = &policy.id;
                reasons.push(format!(
                    "`{id}` decides no case and no cell of a matrix; add one to `cases` or `matrix`"
                ));
            }
            all.extend(reasons.into_iter().map(|reason| FileError {
                file: policy.file.clone(),
                place: Some(policy.place),
                reason: format!("warning: {reason}"),
            }));
        }
        all
    }

    fn allowed_roles(&self) -> BTreeSet<&str> {
        let allowing = self.policies.iter().filter(|policy| !policy.denies);
        allowing.flat_map(|policy| policy.audience.roles()).collect()
    }

    /// An earlier policy that does the same.
    fn duplicate(&self, index: usize) -> Option<String> {
        let (before, rest) = self.policies.split_at(index);
        let policy = rest.first()?;
        let other = before.iter().find(|other| is_equivalent(other, policy))?;
        Some(format!("`{}` does the same as `{}`; remove one", policy.id, other.id))
    }
}

/// The roles that are denied something and allowed nothing.
fn only_denied(policy: &Policy, allowed: &BTreeSet<&str>) -> Vec<String> {
    let only_denied = policy.audience.roles().filter(|role| !allowed.contains(role));
    let reason = |role: &str| {
        let guess = nearest(role, allowed.iter().copied())
            .map_or_else(String::new, |guess| format!("; did you mean `{guess}`?"));
        format!("the role `{role}` is denied operations, and no policy allows it any{guess}")
    };
    only_denied.map(reason).collect()
}

fn is_equivalent(left: &Policy, right: &Policy) -> bool {
    let groups = |policy: &Policy| {
        policy.collections.iter().map(|collection| collection.index()).collect::<BTreeSet<_>>()
    };
    let audience =
        |policy: &Policy| policy.audience.written.iter().cloned().collect::<BTreeSet<_>>();
    left.denies == right.denies
        && left.operations == right.operations
        && left.is_about_own == right.is_about_own
        && left.effective == right.effective
        && groups(left) == groups(right)
        && audience(left) == audience(right)
}

fn misleading_roles(policy: &Policy) -> Vec<String> {
    let audience = &policy.audience;
    let mut reasons = Vec::new();
    for role in audience.roles() {
        for (like, word) in [(&LIKE_ANYONE[..], ANYONE), (&LIKE_SIGNED_IN, SIGNED_IN)] {
            if like.contains(&role) {
                reasons.push(format!(
                    "`{role}` is the name of a role, which tokens have or have not; did you mean `{word}`?"
                ));
            }
        }
    }
    let widest = if audience.is_anyone() { ANYONE } else { SIGNED_IN };
    let covers_others = audience.is_anyone() || audience.is_signed_in();
    if covers_others && audience.written.len() > 1 {
        reasons
            .push(format!("beside `{widest}` the other names in `to` change nothing; remove them"));
    }
    reasons
}
