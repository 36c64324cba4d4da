//! The facts about identity for clients: the metadata of the protected resource (RFC 9728), and
//! `/docs/sign-in.json` for the service's own pages.

use std::sync::Arc;

use application::{PublishedIdentity, PublishedIssuer};
use async_trait::async_trait;
use poem::{Request, Response};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::links::RECEIVER;
use crate::middleware::method_router::Handler;
use crate::problem::Problem;
use crate::query::refuse_parameters;

/// Serves a document about the issuers and scopes.
pub struct IdentityDocument {
    pub context: Arc<HttpContext>,
    pub write: fn(&BaseUrl, &PublishedIdentity) -> Value,
}

#[async_trait]
impl Handler for IdentityDocument {
    async fn handle(&self, request: &mut Request) -> Result<Response, Problem> {
        refuse_parameters(request)?;
        let HttpContext { changing, base_url, .. } = &*self.context;
        let published = changing.identity.as_ref().map(|identity| identity.published());
        let body = (self.write)(base_url, &published.unwrap_or_default());
        content::answer(request, body.to_string())
    }
}

/// The metadata of the service as a protected resource.
pub fn protected_resource(base_url: &BaseUrl, published: &PublishedIdentity) -> Value {
    json!({
        "resource": base_url.to_string(),
        "resource_name": "Research Proposal Service",
        "authorization_servers": published.issuers.iter().map(|issuer| &issuer.url).collect::<Vec<_>>(),
        "scopes_supported": scopes(published),
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{base_url}/guide"),
    })
}

/// The issuers that the service's own pages can sign in with.
pub fn sign_in(base_url: &BaseUrl, published: &PublishedIdentity) -> Value {
    json!({
        "resource": base_url.to_string(),
        "receiver": format!("{base_url}{RECEIVER}"),
        "scopes": scopes(published),
        "issuers": published.issuers.iter().filter_map(described).collect::<Vec<_>>(),
    })
}

fn scopes(published: &PublishedIdentity) -> Vec<&str> {
    published.scopes.iter().map(|(name, _)| &**name).collect()
}

/// An issuer, if it has discovery and a client for the pages.
fn described(issuer: &PublishedIssuer) -> Option<Value> {
    let PublishedIssuer { url, configuration: Some(configuration), client: Some(client) } = issuer
    else {
        return None;
    };
    Some(json!({ "url": url, "configuration": configuration, "client": client }))
}
