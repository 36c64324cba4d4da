//! `/`: where a program starts to follow links. A browser is sent to the documentation.

use std::sync::Arc;

use poem::http::StatusCode;
use poem::http::header::{ETAG, LOCATION};
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Map, Value, json};

use crate::base_url::BaseUrl;
use crate::changes;
use crate::entity_tag::EntityTag;
use crate::group::Group;
use crate::groups::for_each_group;
use crate::media::MediaType;
use crate::pages::RELATIONS;
use crate::path_endpoint::Negotiated;
use crate::rules;

/// Links every collection.
pub struct EntryPoint {
    base_url: Arc<BaseUrl>,
    text: String,
}

impl EntryPoint {
    /// The entry point of the service at `base_url`.
    #[must_use]
    pub fn new(base_url: Arc<BaseUrl>) -> Self {
        let text = Value::Object(members(&base_url)).to_string();
        Self { base_url, text }
    }
}

fn members(base_url: &BaseUrl) -> Map<String, Value> {
    let mut links = Map::new();
    links.insert("self".into(), json!({ "href": format!("{base_url}/") }));
    macro_rules! link {
        ($($group:path,)*) => {
            $(if <$group>::OWNER.is_none() {
                let title = <$group>::DESCRIPTION;
                links.insert(<$group>::NAME.into(), json!({ "href": format!("{base_url}{}", <$group>::PATH), "title": title }));
            })*
        };
    }
    for_each_group!(link);
    let title = "Every write of every group, in the order of the commits";
    links.insert(
        "changes".into(),
        json!({ "href": format!("{base_url}{}", changes::PATH), "title": title }),
    );
    let title = "The business rules that are in force";
    links.insert(
        "rules".into(),
        json!({ "href": format!("{base_url}{}", rules::PATH), "title": title }),
    );
    links.insert(
        "service-desc".into(),
        json!({ "href": format!("{base_url}/openapi.json"), "type": "application/json" }),
    );
    links.insert(
        "service-doc".into(),
        json!({ "href": format!("{base_url}/docs"), "type": "text/html" }),
    );
    let relations = RELATIONS
        .iter()
        .map(|(name, _)| json!({ "href": format!("{base_url}/rels/{name}"), "name": name }));
    links.insert("describedby".into(), relations.collect());
    let mut members = Map::new();
    members.insert("title".into(), "Research Proposal Service".into());
    members.insert("version".into(), "v1".into());
    members.insert("_links".into(), links.into());
    members
}

impl Endpoint for EntryPoint {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let media = Negotiated::of(&request);
        let response = Response::builder().content_type(media.name());
        if media == MediaType::HTML {
            return Ok(response
                .status(StatusCode::SEE_OTHER)
                .header(LOCATION, format!("{}/docs", self.base_url))
                .finish());
        }
        let tag = EntityTag::of_content(self.text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(response
                .status(StatusCode::NOT_MODIFIED)
                .header(ETAG, known.header())
                .finish());
        }
        Ok(response.header(ETAG, tag.header()).body(self.text.clone()))
    }
}
