//! `/policies`: the policies in force.

use std::sync::Arc;

use application::PublishedPolicy;
use domain::Operation;
use poem::{Request, Response};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::links::{self, POLICIES, POLICY_PARAMETER};
use crate::problem::{Problem, Result, kinds};
use crate::query::refuse_parameters;

pub async fn policies(context: Arc<HttpContext>, request: Request) -> Result<Response> {
    refuse_parameters(&request)?;
    let (policies, base_url) = (context.changing.access.published(), &context.base_url);
    let body = match request.raw_path_param(POLICY_PARAMETER) {
        None => list(base_url, &policies),
        Some(id) => {
            let found = policies.iter().find(|policy| *policy.id == *id);
            let found = found.ok_or_else(|| {
                let detail = "Unknown policy. See `/policies`.";
                Problem::new(&kinds::POLICY_NOT_FOUND, detail)
            })?;
            represent(base_url, found)
        }
    };
    content::answer(&request, body.to_string())
}

fn list(base_url: &BaseUrl, policies: &[PublishedPolicy]) -> Value {
    let listed: Vec<_> = policies.iter().map(|policy| represent(base_url, policy)).collect();
    json!({
        "_links": {
            "self": { "href": format!("{base_url}{POLICIES}") },
            "up": { "href": format!("{base_url}/") },
        },
        "total_items": listed.len(),
        "_embedded": { "policies": listed },
    })
}

fn represent(base_url: &BaseUrl, policy: &PublishedPolicy) -> Value {
    let groups: Vec<_> = policy.collections.iter().map(|group| group.name()).collect();
    let operations: Vec<_> = policy.operations.iter().map(Operation::name).collect();
    let [hide, show, write] = &policy.members;
    let effect = match (policy.denies, hide) {
        (true, _) => "deny",
        (false, Some(_)) => "hide",
        (false, None) => "allow",
    };
    json!({
        "id": policy.id,
        "groups": groups,
        "effect": effect,
        "operations": operations,
        "hide": hide,
        "show": show,
        "write": write,
        "to": policy.to,
        "when": policy.when,
        "change": policy.change,
        "description": policy.description,
        "source": policy.source,
        "_links": {
            "self": { "href": links::policy(base_url, &policy.id) },
            "collection": { "href": format!("{base_url}{POLICIES}") },
        },
    })
}
