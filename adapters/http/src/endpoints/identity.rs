//! Metadata of the protected resource (RFC 9728), and `/docs/sign-in.json` for the service's pages.

use std::sync::Arc;

use application::{PublishedIdentity, PublishedIssuer};
use poem::{Request, Response};
use serde_json::{Value, json};

use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::links::RECEIVER;
use crate::problem::Result;
use crate::query::refuse_parameters;

pub async fn protected_resource(context: Arc<HttpContext>, request: Request) -> Result<Response> {
    refuse_parameters(&request)?;
    let (published, base_url) = (published(&context), &context.base_url);
    let body = json!({
        "resource": base_url.to_string(),
        "resource_name": "Research Proposal Service",
        "authorization_servers": published.issuers.iter().map(|issuer| &issuer.url).collect::<Vec<_>>(),
        "scopes_supported": scopes(&published),
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{base_url}/guide"),
    });
    content::answer(&request, body.to_string())
}

pub async fn sign_in(context: Arc<HttpContext>, request: Request) -> Result<Response> {
    refuse_parameters(&request)?;
    let (published, base_url) = (published(&context), &context.base_url);
    let body = json!({
        "resource": base_url.to_string(),
        "receiver": format!("{base_url}{RECEIVER}"),
        "scopes": scopes(&published),
        "issuers": published.issuers.iter().filter_map(described).collect::<Vec<_>>(),
    });
    content::answer(&request, body.to_string())
}

fn published(context: &HttpContext) -> Arc<PublishedIdentity> {
    let identity = context.changing.identity.as_ref();
    identity.map(|identity| identity.published()).unwrap_or_default()
}

fn scopes(published: &PublishedIdentity) -> Vec<&str> {
    published.scopes.iter().map(|(name, _)| &**name).collect()
}

fn described(issuer: &PublishedIssuer) -> Option<Value> {
    let PublishedIssuer { url, configuration: Some(configuration), client: Some(client) } = issuer
    else {
        return None;
    };
    Some(json!({ "url": url, "configuration": configuration, "client": client }))
}
