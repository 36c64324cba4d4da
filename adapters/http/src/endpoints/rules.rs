//! `/rules`: the business rules in force.

use std::sync::Arc;

use poem::{Request, Response};
use poem_openapi::types::ToJSON;

use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::explorer::Explorer;
use crate::hal::{RuleList, RuleResource};
use crate::headers::media_type::MediaType;
use crate::links::RULE_PARAMETER;
use crate::middleware::method_router::Negotiated;
use crate::problem::{Problem, Result, kinds};
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;

pub async fn rules(
    (context, explorer): (Arc<HttpContext>, Arc<Explorer>),
    request: Request,
) -> Result<Response> {
    refuse_parameters(&request)?;
    let (caller, base_url) = (caller_of(&request), &context.base_url);
    let catalog = &context.changing.catalog;
    let Some(id) = request.raw_path_param(RULE_PARAMETER) else {
        let rules = RuleList::of(&catalog.list(caller), base_url);
        return content::answer(&request, rules.to_json_string());
    };
    let rule = catalog
        .get(caller, id)
        .ok_or_else(|| Problem::new(&kinds::RULE_NOT_FOUND, "Unknown rule. See `/rules`."))?;
    let page = match Negotiated::of(&request) {
        MediaType::HTML => explorer.rule_page(&request, &rule, None)?,
        _ => RuleResource::of(&rule, base_url).to_json_string(),
    };
    content::answer(&request, page)
}
