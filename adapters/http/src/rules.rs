//! `/rules`: the business rules that are in force, and a page for each.

use std::sync::Arc;

use application::{Caller, PublishedRule, RuleCatalog};
use domain::Severity;
use poem::http::StatusCode;
use poem::http::header::ETAG;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::changes::path_of;
use crate::entity_tag::EntityTag;
use crate::media::MediaType;
use crate::pages;
use crate::path_endpoint::Negotiated;
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;

/// Where the rules are listed.
pub const PATH: &str = "/rules";

/// The parameter of a rule's own path.
pub const PARAMETER: &str = "rule_id";

/// Where a rule is explained.
#[must_use]
pub fn url(base_url: &BaseUrl, id: &str) -> String {
    format!("{base_url}{PATH}/{id}")
}

/// Represents a rule as HAL.
fn represent(rule: &PublishedRule, base_url: &BaseUrl) -> Value {
    let (from, until) = rule.effective;
    json!({
        "id": rule.id,
        "group": rule.collection.name(),
        "on": rule.operations.iter().map(|operation| operation.name()).collect::<Vec<_>>(),
        "severity": rule.severity.name(),
        "message": rule.message,
        "message_expression": rule.message_expression,
        "field": rule.pointer,
        "description": rule.description,
        "source": rule.source,
        "effective": {
            "from": from.map(|day| day.to_string()),
            "until": until.map(|day| day.to_string()),
        },
        "home": rule.home.name(),
        "_links": {
            "self": { "href": url(base_url, &rule.id) },
            "collection": { "href": format!("{base_url}{PATH}") },
            "group": { "href": format!("{base_url}{}", path_of(rule.collection)) },
        },
    })
}

/// Describes a rule in a sentence or two.
fn describe(rule: &PublishedRule) -> String {
    let purpose = rule.description.as_deref().or(rule.message.as_deref());
    let operations: Vec<_> = rule.operations.iter().map(|operation| operation.name()).collect();
    let effect = match rule.severity {
        Severity::Warning => "It warns",
        Severity::Error => "It refuses",
    };
    let source =
        rule.source.as_ref().map(|source| format!(" Source: {source}")).unwrap_or_default();
    format!(
        "{} {effect} on {} of {}.{source}",
        purpose.unwrap_or("A business rule."),
        operations.join(", "),
        rule.collection.name()
    )
}

/// Serves the list, and the page of each rule.
pub struct Rules {
    /// The rules in force.
    pub catalog: RuleCatalog,
    /// The root of all links.
    pub base_url: Arc<BaseUrl>,
}

impl Endpoint for Rules {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        refuse_parameters(request.uri().query().unwrap_or_default())?;
        let media = Negotiated::of(&request);
        let text = match request.raw_path_param(PARAMETER) {
            None => self.list().to_string(),
            Some(id) => self.page(id, media)?,
        };
        let response =
            Response::builder().content_type(media.header().to_str().unwrap_or_default());
        let tag = EntityTag::of_content(text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(response
                .status(StatusCode::NOT_MODIFIED)
                .header(ETAG, known.header())
                .finish());
        }
        Ok(response.header(ETAG, tag.header()).body(text))
    }
}

impl Rules {
    fn list(&self) -> Value {
        let rules: Vec<_> = self
            .catalog
            .list(&Caller::Anonymous)
            .iter()
            .map(|rule| represent(rule, &self.base_url))
            .collect();
        json!({
            "_links": { "self": { "href": format!("{}{PATH}", self.base_url) }, "up": { "href": format!("{}/", self.base_url) } },
            "total_items": rules.len(),
            "_embedded": { "rules": rules },
        })
    }

    fn page(&self, id: &str, media: MediaType) -> Result<String, Problem> {
        let rule = self.catalog.get(&Caller::Anonymous, id).ok_or_else(|| {
            Problem::new(&kinds::RULE_NOT_FOUND, "There is no rule of this name; see `/rules`.")
        })?;
        if media == MediaType::HTML {
            return Ok(pages::html(&self.base_url, &format!("Rule “{id}”"), &describe(&rule)));
        }
        Ok(represent(&rule, &self.base_url).to_string())
    }
}
