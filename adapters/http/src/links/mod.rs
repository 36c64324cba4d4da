//! Where everything is: paths, URLs, and the links from an item to those it is related to.

mod relations;

use std::sync::LazyLock;

use domain::{ItemId, Relation, RelationKind};
pub use relations::{explained, relations};

use crate::base_url::BaseUrl;
use crate::groups::{GROUPS, Group, GroupSpec};

/// The change log.
pub const CHANGES: &str = "/v1/changes";

/// The change log as a stream.
pub const CHANGE_STREAM: &str = "/v1/changes/stream";

/// Tells that the process lives.
pub const HEALTH: &str = "/healthz";

/// Tells if the service can do its work.
pub const READINESS: &str = "/readyz";

/// The business rules.
pub const RULES: &str = "/rules";

/// One of them.
pub const RULE: &str = "/rules/:rule_id";

/// Tries a rule on an item.
pub const RULE_TRIAL: &str = "/rules/try";

/// The ids that no rule can have, because its page would be at the path of something else.
pub const RESERVED_RULE_IDS: [&str; 1] = ["try"];

/// The policies.
pub const POLICIES: &str = "/policies";

/// One of them.
pub const POLICY: &str = "/policies/:policy_id";

/// The name of the path parameter that names a policy.
pub const POLICY_PARAMETER: &str = "policy_id";

/// The permissions of the caller.
pub const ACCESS: &str = "/v1/access";

/// Decides whether the caller may do one thing (`OpenID` `AuthZEN` Authorization API 1.0).
pub const EVALUATION: &str = "/access/v1/evaluation";

/// Where clients get tokens (RFC 9728).
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The facts that the service's own pages need to get a token.
pub const SIGN_IN: &str = "/docs/sign-in.json";

/// The page to which issuers send the browser back.
pub const RECEIVER: &str = "/docs/oauth-receiver.html";

/// The root of all exports.
pub const EXPORTS: &str = "/exports";

/// The root of all imports.
pub const IMPORTS: &str = "/imports";

/// The JSON Schema of rule files.
pub const RULE_SCHEMA: &str = "/schemas/rules.json";

/// The name of the path parameter that names a rule.
pub const RULE_PARAMETER: &str = "rule_id";

/// The URL of a group's collection; of a nested one, that of `parent`.
pub fn collection(base_url: &BaseUrl, group: Group, parent: Option<ItemId>) -> String {
    [base_url.as_str(), &group.collection_path(parent)].concat()
}

/// The URL of an item.
pub fn item(base_url: &BaseUrl, group: Group, parent: Option<ItemId>, id: ItemId) -> String {
    format!("{}/{id}", collection(base_url, group, parent))
}

/// The URL of a business rule's page.
pub fn rule(base_url: &BaseUrl, id: &str) -> String {
    format!("{base_url}{RULES}/{id}")
}

/// The URL of a policy's page.
pub fn policy(base_url: &BaseUrl, id: &str) -> String {
    format!("{base_url}{POLICIES}/{id}")
}

/// A link from the items of a group to items they are related to, which may also be embedded.
#[derive(Debug)]
pub struct ItemLink {
    /// The relation.
    pub relation: Relation,
    /// The group that shows the related items.
    pub group: Group,
    /// The path of the related items, before and after an identifier: that of the item itself if they
    /// belong to it, else that of the related one. `None` where no group shows the children of one
    /// item.
    pub around: Option<(&'static str, &'static str)>,
}

impl ItemLink {
    /// The links of a group's items, in the order in which they are shown.
    pub fn of(group: Group) -> &'static [Self] {
        static LINKS: LazyLock<Vec<Vec<ItemLink>>> = LazyLock::new(|| {
            let links = |group: &GroupSpec| group.collection.relations().map(ItemLink::new);
            GROUPS.iter().map(|group| links(group).collect()).collect()
        });
        &LINKS[group.index()]
    }

    fn new(relation: Relation) -> Self {
        let group = GroupSpec::of(relation.to);
        let around = match relation.kind {
            RelationKind::Children => GROUPS
                .iter()
                .find(|nested| nested.collection == relation.to && nested.is_nested())
                .and_then(GroupSpec::around_parent)
                .map(|(before, after)| (before.trim_end_matches('/'), after)),
            RelationKind::Parent | RelationKind::Reference(_) => Some((group.path, "")),
        };
        Self { relation, group, around }
    }
}
