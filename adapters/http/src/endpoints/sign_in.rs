//! `/docs/sign-in.json`: what the service's own pages need to know to get a token.

use std::sync::Arc;

use application::{Identity, PublishedIssuer};
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::links::RECEIVER;
use crate::query::refuse_parameters;

/// Serves the issuers that the pages can sign in with.
pub struct SignIn {
    /// Knows the issuers; without it there are none.
    pub identity: Option<Arc<dyn Identity>>,
    /// The identifier of the resource that tokens are for.
    pub base_url: Arc<BaseUrl>,
}

impl Endpoint for SignIn {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        refuse_parameters(request.uri().query().unwrap_or_default())?;
        let published = self.identity.as_ref().map(|identity| identity.published());
        let issuers = published.iter().flat_map(|published| &published.issuers);
        let scopes = published.iter().flat_map(|published| &published.scopes);
        let body = json!({
            "resource": self.base_url.to_string(),
            "receiver": format!("{}{RECEIVER}", self.base_url),
            "scopes": scopes.map(|(name, _)| name).collect::<Vec<_>>(),
            "issuers": issuers.filter_map(described).collect::<Vec<_>>(),
        });
        Ok(content::answer(&request, body.to_string())?)
    }
}

/// An issuer, if it has discovery and a client for the pages.
fn described(issuer: &PublishedIssuer) -> Option<Value> {
    let PublishedIssuer { url, configuration: Some(configuration), client: Some(client) } = issuer
    else {
        return None;
    };
    Some(json!({ "url": url, "configuration": configuration, "client": client }))
}
