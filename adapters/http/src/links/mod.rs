//! Paths, URLs, and links between items.

mod relations;

use std::sync::LazyLock;

use domain::{ItemId, Relation, RelationKind};
pub use relations::{explained, relations};

use crate::base_url::BaseUrl;
use crate::groups::{GROUPS, Group, GroupSpec};

pub const CHANGES: &str = "/v1/changes";

pub const CHANGE_STREAM: &str = "/v1/changes/stream";

pub const HEALTH: &str = "/healthz";

pub const READINESS: &str = "/readyz";

pub const RULES: &str = "/rules";

pub const RULE: &str = "/rules/:rule_id";

pub const RULE_TRIAL: &str = "/rules/try";

/// Reserved for other pages under the same path.
pub const RESERVED_RULE_IDS: [&str; 1] = ["try"];

pub const POLICIES: &str = "/policies";

pub const POLICY: &str = "/policies/:policy_id";

pub const POLICY_PARAMETER: &str = "policy_id";

pub const ACCESS: &str = "/v1/access";

/// `OpenID` `AuthZEN` Authorization API 1.0.
pub const EVALUATION: &str = "/access/v1/evaluation";
pub const EVALUATIONS: &str = "/access/v1/evaluations";

/// RFC 9728.
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Data for the sign-in of the service's own pages.
pub const SIGN_IN: &str = "/docs/sign-in.json";

/// The session of a browser. Only pages use it.
pub const SESSION: &str = "/session";

pub const RECEIVER: &str = "/docs/oauth-receiver.html";

pub const EXPORTS: &str = "/exports";

pub const IMPORTS: &str = "/imports";

pub const RULE_SCHEMA: &str = "/schemas/rules.json";

pub const RULE_PARAMETER: &str = "rule_id";

/// `parent` is for nested groups only.
pub fn collection(base_url: &BaseUrl, group: Group, parent: Option<ItemId>) -> String {
    [base_url.as_str(), &group.collection_path(parent)].concat()
}

pub fn item(base_url: &BaseUrl, group: Group, parent: Option<ItemId>, id: ItemId) -> String {
    format!("{}/{id}", collection(base_url, group, parent))
}

pub fn rule(base_url: &BaseUrl, id: &str) -> String {
    format!("{base_url}{RULES}/{id}")
}

pub fn policy(base_url: &BaseUrl, id: &str) -> String {
    format!("{base_url}{POLICIES}/{id}")
}

/// A link to related items, which may also be embedded.
#[derive(Debug)]
pub struct ItemLink {
    pub relation: Relation,
    pub group: Group,
    /// The path before and after an identifier: that of the item for its children, else that of the
    /// related item. `None` if no group shows the children.
    pub around: Option<(&'static str, &'static str)>,
}

impl ItemLink {
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
