//! `/rules/try`: evaluates a rule or an expression for an item, without a write.

use std::sync::Arc;

use application::RuleTrialService;
use poem::{Request, Response};
use tokio::sync::Semaphore;

use crate::endpoints::resources::HttpContext;
use crate::endpoints::{content, in_time};
use crate::hal;
use crate::problem::Result;
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;
use crate::request::rule_trial;

/// Limit on concurrent trials that look up stored items, which take memory.
static LOOKING_UP: Semaphore = Semaphore::const_new(1);

pub async fn try_rule(
    (context, service): (Arc<HttpContext>, RuleTrialService),
    mut request: Request,
) -> Result<Response> {
    // Holds the reservation for body and report until this function returns.
    let (body, _memory) = context.json_body(&mut request).await?;
    let (trial, today) = rule_trial::read(body).await?;
    refuse_parameters(&request)?;
    let run = async {
        let _permit = if trial.looks_up_stored { LOOKING_UP.acquire().await.ok() } else { None };
        service.run(caller_of(&request), &trial, today).await
    };
    let report = in_time(context.time_limit, run).await?;
    let body = hal::rule_trial(&report, rule_trial::subject_member(&trial.subject));
    Ok(content::untagged(&request, body))
}
