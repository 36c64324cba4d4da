//! `/.well-known/oauth-protected-resource`: where clients get tokens (RFC 9728).

use std::sync::Arc;

use application::Identity;
use poem::{Endpoint, Request, Response, Result};
use serde_json::json;

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::query::refuse_parameters;

/// Serves the metadata of the service as a protected resource.
pub struct ProtectedResource {
    /// Knows the issuers; without it there are none.
    pub identity: Option<Arc<dyn Identity>>,
    /// The identifier of the resource.
    pub base_url: Arc<BaseUrl>,
}

impl Endpoint for ProtectedResource {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        refuse_parameters(request.uri().query().unwrap_or_default())?;
        let published = self.identity.as_ref().map(|identity| identity.published());
        let issuers = published.iter().flat_map(|published| &published.issuers);
        let scopes = published.iter().flat_map(|published| &published.scopes);
        let body = json!({
            "resource": self.base_url.to_string(),
            "resource_name": "Research Proposal Service",
            "authorization_servers": issuers.map(|issuer| &issuer.url).collect::<Vec<_>>(),
            "scopes_supported": scopes.map(|(name, _)| name).collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
            "resource_documentation": format!("{}/guide", self.base_url),
        });
        Ok(content::answer(&request, body.to_string())?)
    }
}
