//! The part of the document about callers, if callers are identified.

use application::{PublishedIdentity, PublishedPolicy};
use domain::Operations;
use serde_json::{Map, Value, json};

use super::finish::described;
use crate::groups::{GROUPS, Group, GroupOperation};

const TOKEN: &str = "token";

/// Adds security schemes, requirements of operations, and policies (`x-policies`).
pub fn add_security(
    document: &mut Value,
    identity: &PublishedIdentity,
    policies: &[PublishedPolicy],
) {
    let schemes = schemes(identity);
    let is_open_id = schemes.keys().filter(|name| *name != TOKEN);
    let open_id: Vec<_> = is_open_id.cloned().collect();
    document["components"]["securitySchemes"] = schemes.into();
    for group in GROUPS {
        for operation in group.operations() {
            let described = described(&mut document["paths"], group, operation);
            described["security"] = security(group, operation, identity, &open_id, policies);
            let met = policies.iter().filter(|policy| is_met(policy, group, operation));
            let met: Vec<_> = met.map(|policy| &policy.id).collect();
            if !met.is_empty() {
                described["x-policies"] = json!(met);
            }
        }
    }
}

fn schemes(identity: &PublishedIdentity) -> Map<String, Value> {
    let pasted = json!({
        "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
        "description": "An access token of one of the issuers, or a key of the service.",
    });
    let mut schemes = Map::from_iter([(TOKEN.to_owned(), pasted)]);
    for (index, issuer) in identity.issuers.iter().enumerate() {
        if let Some(configuration) = &issuer.configuration {
            let name = if index == 0 { "oidc".to_owned() } else { format!("oidc_{}", index + 1) };
            let scheme = json!({ "type": "openIdConnect", "openIdConnectUrl": configuration });
            schemes.insert(name, scheme);
        }
    }
    schemes
}

/// Lists alternatives: any scheme, or none for public operations.
fn security(
    group: Group,
    operation: GroupOperation,
    identity: &PublishedIdentity,
    open_id: &[String],
    policies: &[PublishedPolicy],
) -> Value {
    let scopes = scopes_for(&identity.scopes, operation.asks().iter().copied().collect());
    let mut alternatives: Vec<_> =
        open_id.iter().map(|name| json!({ name.as_str(): scopes })).collect();
    alternatives.push(json!({ TOKEN: [] }));
    let allowed_to_anyone = |asked: &domain::Operation| {
        policies.iter().any(|policy| {
            !policy.denies
                && policy.collections.contains(&group.collection)
                && policy.operations.contains(*asked)
                && policy.to.iter().any(|role| **role == *"anyone")
        })
    };
    if operation.asks().iter().all(allowed_to_anyone) {
        alternatives.push(json!({}));
    }
    alternatives.into()
}

/// A small set of scopes that together grant all operations, because a requirement means all its
/// scopes. Empty if scopes are not checked or do not suffice.
fn scopes_for(scopes: &[(Box<str>, Operations)], asked: Operations) -> Vec<&str> {
    let (mut chosen, mut missing) = (Vec::new(), asked);
    while !missing.is_empty() {
        let granted = |granted: Operations| granted.intersection(missing).iter().count();
        // Prefer the first of equals.
        let best = scopes.iter().rev().max_by_key(|(_, operations)| granted(*operations));
        match best {
            Some((name, operations)) if granted(*operations) > 0 => {
                chosen.push(&**name);
                missing = missing.without(*operations);
            }
            _ => return Vec::new(),
        }
    }
    chosen
}

fn is_met(policy: &PublishedPolicy, group: Group, operation: GroupOperation) -> bool {
    policy.collections.contains(&group.collection)
        && operation.asks().iter().any(|asked| policy.operations.contains(*asked))
}

#[cfg(test)]
mod tests {
    use domain::Operation::{self, Create, Delete, Read, Replace};
    use domain::Operations;

    use super::scopes_for;

    #[test]
    fn few_scopes_together_grant_what_is_asked() {
        let of = |operations: &[Operation]| operations.iter().copied().collect::<Operations>();
        let scopes = [
            ("read".into(), of(&[Read])),
            ("write".into(), of(&[Create, Replace])),
            ("all".into(), of(&[Read, Create, Replace])),
        ];
        for (asked, expected) in [
            (&[Read][..], &["read"][..]),
            (&[Read, Replace], &["all"]),
            (&[Delete], &[]),
            (&[Read, Delete], &[]),
            (&[], &[]),
        ] {
            assert_eq!(scopes_for(&scopes, of(asked)), expected, "{asked:?}");
        }
        assert_eq!(scopes_for(&scopes[..2], of(&[Read, Replace])), ["read", "write"]);
        assert!(scopes_for(&[], of(&[Read])).is_empty());
    }
}
