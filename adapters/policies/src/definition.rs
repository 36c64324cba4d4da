use application::PublishedPolicy;
use domain::{Collection, Operation, Operations};
use language::effective::Effective;
use language::error::ErrorCollector;
use language::expression::equal_names;
use language::keys::{self, Keys};
use language::yaml::{Content, Node, Scalar};

use crate::file_format::{ANYONE, GROUP_NAME, LATER_OF_POLICY, POLICY};
use crate::policy::Policy;
use crate::reading::{keys_of, operations};

/// Limit: aliases let a short file expand.
const MOST_ROLES: usize = 100;
const LONGEST_ROLE: usize = 255;

/// The only supported condition.
const OWN: [&str; 2] = ["caller.id", "meta.created_by"];
const OF_ONE_ITEM: [Operation; 3] = [Operation::Replace, Operation::Patch, Operation::Delete];

pub(crate) fn read(
    node: &Node,
    errors: &mut ErrorCollector<'_>,
) -> Option<(Box<str>, Option<Policy>)> {
    let errors_before = errors.count();
    let keys = keys_of(node, &POLICY, LATER_OF_POLICY, errors)?;
    let collections = keys.get("group").map(|group| collections(group, errors));
    let denies = keys.get("deny").is_some();
    let key = if denies { "deny" } else { "allow" };
    let operations = keys.get(key).map(|node| {
        let operations = operations(node, key, errors);
        if operations.is_empty() && errors.count() == errors_before {
            let reason = format!("`{key}` is empty; list operations, such as `{key}: [read]`");
            errors.add(node.place, reason);
        }
        operations
    });
    let audience = keys.get("to").map(|to| audience(&keys, to, errors));
    let is_about_own = keys.scalar("when").is_some_and(|when| {
        let is_anyone = audience.iter().flatten().any(|word| **word == *ANYONE);
        check_condition(when, operations.unwrap_or_default(), is_anyone, errors);
        true
    });
    let effective = Effective::read(&keys, "policy", errors);
    let id: Box<str> = keys.string("id")?.into();
    let is_sound = errors.count() == errors_before;
    let policy = || {
        Some(Policy {
            file: errors.file().clone(),
            place: node.place,
            effective,
            shown: PublishedPolicy {
                id: id.clone(),
                collections: collections?,
                denies,
                operations: operations?,
                to: audience?,
                is_about_own,
                description: keys.string("description").map(Into::into),
                source: keys.string("source").map(Into::into),
            },
        })
    };
    let policy = if is_sound { policy() } else { None };
    Some((id, policy))
}

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

/// Checks that a condition is the ownership test, and that it is decidable.
fn check_condition(
    when: &Scalar,
    operations: Operations,
    is_anyone: bool,
    errors: &mut ErrorCollector<'_>,
) {
    let sides = match equal_names(&when.text) {
        Ok(sides) => sides,
        Err(error) => return errors.add(when.place_of(error.offset), error.reason),
    };
    let is_own = sides.is_some_and(|mut sides| {
        sides.sort();
        sides == OWN
    });
    if !is_own {
        return errors.add(when.place, "`when` must be `meta.created_by == caller.id` in this version, for the items that the caller created; write that, or remove it");
    }
    if is_anyone {
        let reason = format!(
            "`caller.id` does not exist for `{ANYONE}`: an anonymous caller has no id; write `to: [signed_in]`, or remove `when`"
        );
        errors.add(when.place, reason);
    }
    let too_many = operations.without(OF_ONE_ITEM.into_iter().collect());
    if !too_many.is_empty() {
        let names: Vec<_> = too_many.iter().map(Operation::name).collect();
        let reason = format!(
            "`when` is allowed with replace, patch and delete, not with {}; put those in another policy without `when`",
            names.join(", ")
        );
        errors.add(when.place, reason);
    }
}
