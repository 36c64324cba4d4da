//! `/`: where a program starts to follow links. A browser is sent to the documentation.

use std::sync::Arc;

use poem::http::StatusCode;
use poem::http::header::LOCATION;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Map, Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::groups::GROUPS;
use crate::headers::entity_tag::EntityTag;
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
    #[must_use]
    pub fn new(base_url: Arc<BaseUrl>) -> Self {
        let body = Value::Object(members(&base_url)).to_string();
        Self { base_url, body }
    }
}

fn members(base_url: &BaseUrl) -> Map<String, Value> {
    let mut linked = Map::new();
    linked.insert("self".into(), json!({ "href": format!("{base_url}/") }));
    for group in GROUPS.iter().filter(|group| !group.is_nested()) {
        let href = links::collection(base_url, group, None);
        linked.insert(group.name.into(), json!({ "href": href, "title": group.description }));
    }
    let title = "Every write of every group, in the order of the commits";
    linked.insert(
        "changes".into(),
        json!({ "href": format!("{base_url}{}", links::CHANGES), "title": title }),
    );
    let title = "The business rules that are in force";
    linked.insert(
        "rules".into(),
        json!({ "href": format!("{base_url}{}", links::RULES), "title": title }),
    );
    linked.insert(
        "service-desc".into(),
        json!({ "href": format!("{base_url}/openapi.json"), "type": "application/json" }),
    );
    linked.insert(
        "service-doc".into(),
        json!({ "href": format!("{base_url}/docs"), "type": "text/html" }),
    );
    let relations = links::relations()
        .into_keys()
        .map(|name| json!({ "href": format!("{base_url}/rels/{name}"), "name": name }));
    linked.insert("describedby".into(), relations.collect());
    let mut members = Map::new();
    members.insert("title".into(), "Research Proposal Service".into());
    members.insert("version".into(), "v1".into());
    members.insert("_links".into(), linked.into());
    members
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
        let tag = EntityTag::of_content(self.body.as_bytes());
        content::answer(&request, media.header(), &tag, self.body.clone())
    }
}
