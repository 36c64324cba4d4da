//! `/rules`: the business rules that are in force, and a page for each.

use std::sync::Arc;

use application::{Caller, PublishedRule, RuleCatalog};
use domain::Severity;
use poem::{Endpoint, Request, Response, Result};
use poem_openapi::types::ToJSON;

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::hal::{Rule, RuleList};
use crate::headers::media_type::MediaType;
use crate::html;
use crate::links::RULE_PARAMETER;
use crate::middleware::method_router::Negotiated;
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;

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
            None => {
                let rules = self.catalog.list(&Caller::Anonymous);
                RuleList::of(&rules, &self.base_url).to_json_string()
            }
            Some(id) => self.page(id, media)?,
        };
        Ok(content::answer(&request, text)?)
    }
}

impl Rules {
    fn page(&self, id: &str, media: MediaType) -> Result<String, Problem> {
        let rule = self.catalog.get(&Caller::Anonymous, id).ok_or_else(|| {
            Problem::new(&kinds::RULE_NOT_FOUND, "There is no rule of this name; see `/rules`.")
        })?;
        if media == MediaType::HTML {
            return Ok(html::page(&self.base_url, &format!("Rule “{id}”"), &describe(&rule)));
        }
        Ok(Rule::of(&rule, &self.base_url).to_json_string())
    }
}
