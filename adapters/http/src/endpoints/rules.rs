//! `/rules`: the business rules that are in force, and a page for each.

use std::sync::Arc;

use application::Caller;
use async_trait::async_trait;
use poem::{Request, Response};
use poem_openapi::types::ToJSON;

use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::explorer::Explorer;
use crate::hal::{RuleList, RuleResource};
use crate::headers::media_type::MediaType;
use crate::links::RULE_PARAMETER;
use crate::middleware::method_router::{Handler, Negotiated};
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;

/// Serves the list, and the page of each rule.
pub struct RulesEndpoint {
    pub context: Arc<HttpContext>,
    /// Makes the page of a rule.
    pub explorer: Arc<Explorer>,
}

#[async_trait]
impl Handler for RulesEndpoint {
    async fn handle(&self, request: &mut Request) -> Result<Response, Problem> {
        refuse_parameters(request)?;
        let media = Negotiated::of(request);
        let text = match request.raw_path_param(RULE_PARAMETER) {
            None => {
                let rules = self.context.changing.catalog.list(caller_of(request));
                RuleList::of(&rules, &self.context.base_url).to_json_string()
            }
            Some(id) => self.page(caller_of(request), id, media)?,
        };
        content::answer(request, text)
    }
}

impl RulesEndpoint {
    fn page(&self, caller: &Caller, id: &str, media: MediaType) -> Result<String, Problem> {
        let rule = self.context.changing.catalog.get(caller, id).ok_or_else(|| {
            Problem::new(&kinds::RULE_NOT_FOUND, "There is no rule of this name; see `/rules`.")
        })?;
        if media == MediaType::HTML {
            return self.explorer.rule_page(caller, &rule, None);
        }
        Ok(RuleResource::of(&rule, &self.context.base_url).to_json_string())
    }
}
