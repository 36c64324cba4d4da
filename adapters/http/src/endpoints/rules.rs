//! `/rules`: the business rules that are in force, and a page for each.

use std::sync::Arc;

use application::{Caller, PublishedRule, RuleCatalog};
use domain::Severity;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::groups::GroupSpec;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::html;
use crate::links::{self, RULE_PARAMETER, RULES};
use crate::middleware::method_router::Negotiated;
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;

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
            "self": { "href": links::rule(base_url, &rule.id) },
            "collection": { "href": format!("{base_url}{RULES}") },
            "group": { "href": links::collection(base_url, GroupSpec::of(rule.collection), None) },
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
        let text = match request.raw_path_param(RULE_PARAMETER) {
            None => self.list().to_string(),
            Some(id) => self.page(id, media)?,
        };
        let tag = EntityTag::of_content(text.as_bytes());
        content::answer(&request, media.header(), &tag, text)
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
            "_links": { "self": { "href": format!("{}{RULES}", self.base_url) }, "up": { "href": format!("{}/", self.base_url) } },
            "total_items": rules.len(),
            "_embedded": { "rules": rules },
        })
    }

    fn page(&self, id: &str, media: MediaType) -> Result<String, Problem> {
        let rule = self.catalog.get(&Caller::Anonymous, id).ok_or_else(|| {
            Problem::new(&kinds::RULE_NOT_FOUND, "There is no rule of this name; see `/rules`.")
        })?;
        if media == MediaType::HTML {
            return Ok(html::page(&self.base_url, &format!("Rule “{id}”"), &describe(&rule)));
        }
        Ok(represent(&rule, &self.base_url).to_string())
    }
}
