//! `/`: the page from which a program follows links. A browser is sent to the documentation.

use std::sync::Arc;

use poem::http::StatusCode;
use poem::http::header::LOCATION;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::groups::GROUPS;
use crate::headers::media_type::MediaType;
use crate::links;
use crate::middleware::method_router::Negotiated;

/// Links every collection.
pub struct EntryPoint {
    base_url: Arc<BaseUrl>,
    body: String,
}

impl EntryPoint {
    /// The entry point of the service at `base_url`.
    pub fn new(base_url: Arc<BaseUrl>) -> Self {
        let body = representation(&base_url).to_string();
        Self { base_url, body }
    }
}

fn representation(base_url: &BaseUrl) -> Value {
    let at = |path: &str| format!("{base_url}{path}");
    let mut linked = json!({ "self": { "href": at("/") } });
    for group in GROUPS.iter().filter(|group| !group.is_nested()) {
        linked[group.name] = json!({ "href": at(group.path), "title": group.description });
    }
    let title = "Every write of every group, in the order of the commits";
    linked["changes"] = json!({ "href": at(links::CHANGES), "title": title });
    let title = "The business rules that are in force";
    linked["rules"] = json!({ "href": at(links::RULES), "title": title });
    linked["service-desc"] = json!({ "href": at("/openapi.json"), "type": "application/json" });
    linked["service-doc"] = json!({ "href": at("/docs"), "type": "text/html" });
    let relation = |name| json!({ "href": at(&format!("/rels/{name}")), "name": name });
    linked["describedby"] = links::relations().into_keys().map(relation).collect();
    json!({ "title": "Research Proposal Service", "version": "v1", "_links": linked })
}

impl Endpoint for EntryPoint {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let media = Negotiated::of(&request);
        if media == MediaType::HTML {
            return Ok(Response::builder()
                .status(StatusCode::SEE_OTHER)
                .content_type(media.name())
                .header(LOCATION, format!("{}/docs", self.base_url))
                .finish());
        }
        Ok(content::answer(&request, self.body.clone())?)
    }
}
