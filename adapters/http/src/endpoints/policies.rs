//! `/policies`: the policies that are in force, and each of them.

use std::sync::Arc;

use application::PublishedPolicy;
use async_trait::async_trait;
use domain::Operation;
use poem::{Request, Response};
use serde_json::{Value, json};

use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::links::{self, POLICIES, POLICY_PARAMETER};
use crate::middleware::method_router::Handler;
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;

/// Serves the list, and each policy.
pub struct PoliciesEndpoint {
    pub context: Arc<HttpContext>,
}

#[async_trait]
impl Handler for PoliciesEndpoint {
    async fn handle(&self, request: &mut Request) -> Result<Response, Problem> {
        refuse_parameters(request)?;
        let policies = self.context.changing.access.published();
        let body = match request.raw_path_param(POLICY_PARAMETER) {
            None => self.list(&policies),
            Some(id) => {
                let found = policies.iter().find(|policy| *policy.id == *id);
                let found = found.ok_or_else(|| {
                    let detail = "There is no policy of this name; see `/policies`.";
                    Problem::new(&kinds::POLICY_NOT_FOUND, detail)
                })?;
                self.represent(found)
            }
        };
        content::answer(request, body.to_string())
    }
}

impl PoliciesEndpoint {
    fn list(&self, policies: &[PublishedPolicy]) -> Value {
        let base_url = &self.context.base_url;
        let listed: Vec<_> = policies.iter().map(|policy| self.represent(policy)).collect();
        json!({
            "_links": {
                "self": { "href": format!("{base_url}{POLICIES}") },
                "up": { "href": format!("{base_url}/") },
            },
            "total_items": listed.len(),
            "_embedded": { "policies": listed },
        })
    }

    fn represent(&self, policy: &PublishedPolicy) -> Value {
        let groups: Vec<_> = policy.collections.iter().map(|group| group.name()).collect();
        let base_url = &self.context.base_url;
        let operations: Vec<_> = policy.operations.iter().map(Operation::name).collect();
        json!({
            "id": policy.id,
            "groups": groups,
            "effect": if policy.denies { "deny" } else { "allow" },
            "operations": operations,
            "to": policy.to,
            "own_items_only": policy.is_about_own,
            "description": policy.description,
            "source": policy.source,
            "_links": {
                "self": { "href": links::policy(base_url, &policy.id) },
                "collection": { "href": format!("{base_url}{POLICIES}") },
            },
        })
    }
}
