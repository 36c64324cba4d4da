//! `/`: the entry point for programs, and the explorer's first page for browsers.

use std::sync::Arc;

use poem::{Request, Response};
use serde_json::json;

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::explorer::Explorer;
use crate::groups::GROUPS;
use crate::headers::media_type::MediaType;
use crate::links;
use crate::middleware::method_router::Negotiated;
use crate::problem::Result;

pub async fn entry_point(
    (body, explorer): (Arc<str>, Arc<Explorer>),
    request: Request,
) -> Result<Response> {
    if Negotiated::of(&request) == MediaType::HTML {
        return explorer.overview(request).await;
    }
    content::answer(&request, body.to_string())
}

pub fn representation(base_url: &BaseUrl) -> String {
    let at = |path: &str| format!("{base_url}{path}");
    let mut linked = json!({ "self": { "href": at("/") } });
    for group in GROUPS.iter().filter(|group| !group.is_nested()) {
        linked[group.name] = json!({ "href": at(group.path), "title": group.description });
    }
    let title = "All writes of all groups, in commit order";
    linked["changes"] = json!({ "href": at(links::CHANGES), "title": title });
    let title = "The current business rules";
    linked["rules"] = json!({ "href": at(links::RULES), "title": title });
    linked["service-desc"] = json!({ "href": at("/openapi.json"), "type": "application/json" });
    linked["service-doc"] = json!({ "href": at("/docs"), "type": "text/html" });
    let relation = |name| json!({ "href": at(&format!("/rels/{name}")), "name": name });
    linked["describedby"] = links::relations().into_keys().map(relation).collect();
    json!({ "title": "Research Proposal Service", "version": "v1", "_links": linked }).to_string()
}
