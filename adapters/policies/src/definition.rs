use application::PublishedPolicy;
use domain::{Collection, Operation, Operations};
use language::effective::Effective;
use language::error::ErrorCollector;
use language::expression::{Variable, Variables};
use language::keys::{self, Keys};
use language::yaml::{Content, Node};

use crate::condition::ItemCondition;
use crate::file_format::{ALLOW, ANYONE, DENY, GROUP_NAME, HIDE, POLICY};
use crate::member_list::MemberList;
use crate::policy::Policy;
use crate::reading::{keys_of, operations};
use crate::summary::listed;

/// Limit: aliases let a short file expand.
const MOST_ROLES: usize = 100;
const LONGEST_ROLE: usize = 255;

pub(crate) fn read(
    node: &Node,
    errors: &mut ErrorCollector<'_>,
) -> Option<(Box<str>, Option<Policy>)> {
    let errors_before = errors.count();
    let keys = keys_of(node, &POLICY, &[], errors)?;
    let collections = keys.get("group").map(|group| collections(group, errors));
    let denies = keys.get(DENY).is_some();
    let key = if denies { DENY } else { ALLOW };
    let operations = keys.get(key).map(|node| {
        let operations = operations(node, key, errors);
        if operations.is_empty() && errors.count() == errors_before {
            let reason = format!("`{key}` is empty; list operations, such as `{key}: [read]`");
            errors.add(node.place, reason);
        }
        operations
    });
    let audience = keys.get("to").map(|to| audience(&keys, to, errors));
    let operations = operations.unwrap_or_default();
    let condition = condition(&keys, operations, errors);
    let [hide, show, write] =
        [HIDE, "show", "write"].map(|key| MemberList::read(&keys, key, errors));
    let members = [&hide, &show, &write].map(|list| list.as_ref().map(|it| it.written.clone()));
    for (key, about) in [("show", &[Operation::Read][..]), ("write", &WRITES)] {
        require_one_of(key, about, &keys, operations, errors);
    }
    if audience.iter().flatten().any(|word| **word == *ANYONE) && condition.uses(Variable::Caller) {
        refuse_caller(node, &keys, errors);
    }
    let effective = Effective::read(&keys, "policy", errors);
    let id: Box<str> = keys.string("id")?.into();
    let is_sound = errors.count() == errors_before;
    let policy = || {
        Some(Policy {
            file: errors.file().clone(),
            place: node.place,
            effective,
            condition,
            hide,
            show,
            write,
            shown: PublishedPolicy {
                id: id.clone(),
                collections: collections?,
                denies,
                operations,
                members,
                to: audience?,
                when: keys.string("when").map(Into::into),
                change: keys.string("change").map(Into::into),
                description: keys.string("description").map(Into::into),
                source: keys.string("source").map(Into::into),
            },
        })
    };
    let policy = if is_sound { policy() } else { None };
    Some((id, policy))
}

fn refuse_caller(node: &Node, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
    let reason = format!(
        "`caller` may not be used with `to: [{ANYONE}]`: an anonymous caller has no id and no attributes; write `to: [signed_in]`, or remove `caller`"
    );
    let place = keys.get("when").or_else(|| keys.get("change")).map_or(node.place, |it| it.place);
    errors.add(place, reason);
}

/// Adds an error if a policy has the list of members `key`, but allows no operation of `about`.
fn require_one_of(
    key: &str,
    about: &[Operation],
    keys: &Keys<'_>,
    operations: Operations,
    errors: &mut ErrorCollector<'_>,
) {
    let Some(list) = keys.get(key) else { return };
    if keys.get(ALLOW).is_none() || !about.iter().any(|it| operations.contains(*it)) {
        let names: Vec<_> = about.iter().map(|it| it.name()).collect();
        let reason = format!(
            "`{key}` needs `allow` with {}; add it, or remove `{key}`",
            listed(&names, "or")
        );
        errors.add(list.place, reason);
    }
}

/// The writes that make members.
const WRITES: [Operation; 3] = [Operation::Create, Operation::Replace, Operation::Patch];

fn collections(node: &Node, errors: &mut ErrorCollector<'_>) -> Vec<Collection> {
    let mut collections = Vec::new();
    let mut add = |node: &Node| {
        let Some(name) = errors.take(keys::string(node, "group")) else { return };
        errors.take(GROUP_NAME.check(&name.text, node.place));
        let Some(collection) = Collection::named(&name.text) else { return };
        if collections.contains(&collection) {
            let reason =
                format!("`group` names `{}` more than once; remove one", collection.name());
            errors.add(node.place, reason);
        } else {
            collections.push(collection);
        }
    };
    match &node.content {
        Content::List(names) if names.is_empty() => {
            errors.add(node.place, "`group` is empty; name a group, such as `group: proposals`");
        }
        Content::List(names) => names.iter().for_each(|name| add(name)),
        _ => add(node),
    }
    collections
}

fn audience(keys: &Keys<'_>, to: &Node, errors: &mut ErrorCollector<'_>) -> Vec<Box<str>> {
    let mut written: Vec<Box<str>> = Vec::new();
    let elements = keys.elements("to");
    match elements.len() {
        0 => errors.add(
            to.place,
            "`to` is empty; list roles, `signed_in` for every known caller, or `anyone`",
        ),
        count if count > MOST_ROLES => errors.add(
            to.place,
            format!("`to` names {count} roles; at most {MOST_ROLES} are allowed; split the policy"),
        ),
        _ => {}
    }
    for scalar in elements.iter().take(MOST_ROLES).filter_map(|element| element.scalar()) {
        let role = scalar.text.as_str();
        if written.iter().any(|other| **other == *role) {
            errors.add(scalar.place, format!("`to` names `{role}` more than once; remove one"));
        } else if role.chars().count() > LONGEST_ROLE {
            let reason = format!("a role may have at most {LONGEST_ROLE} characters");
            errors.add(scalar.place, reason);
        }
        written.push(role.into());
    }
    written
}

/// Reads the condition. A creation has no old item, and only writes have a new one.
fn condition(
    keys: &Keys<'_>,
    operations: Operations,
    errors: &mut ErrorCollector<'_>,
) -> ItemCondition {
    let others = operations.without(WRITES.into_iter().collect());
    if let Some(change) = keys.get("change").filter(|_| !others.is_empty()) {
        let names: Vec<_> = others.iter().map(Operation::name).collect();
        let reason = format!(
            "`change` is about the result of create, replace and patch, not of {}; put those in another policy",
            names.join(", ")
        );
        errors.add(change.place, reason);
    }
    let variables = if operations.contains(Operation::Create) {
        Variables::OF_AN_ITEM
    } else {
        Variables::OF_A_CHANGE
    };
    ItemCondition::read(keys, variables, errors)
}
