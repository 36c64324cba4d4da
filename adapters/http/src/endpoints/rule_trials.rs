//! `/rules/try`: what a rule, or an expression alone, says of an item. Nothing is stored.

use std::sync::Arc;

use application::RuleTrialService;
use async_trait::async_trait;
use poem::{Request, Response};

use crate::endpoints::resources::HttpContext;
use crate::endpoints::{content, in_time};
use crate::hal;
use crate::middleware::method_router::Handler;
use crate::problem::Problem;
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;
use crate::request::rule_trial;

/// Tries rules.
pub struct RuleTrialEndpoint {
    pub service: RuleTrialService,
    pub context: Arc<HttpContext>,
}

#[async_trait]
impl Handler for RuleTrialEndpoint {
    async fn handle(&self, request: &mut Request) -> Result<Response, Problem> {
        // The memory is kept for what is made of the body.
        let (body, _memory) = self.context.json_body(request).await?;
        let (trial, today) = rule_trial::read(body).await?;
        refuse_parameters(request)?;
        let run = self.service.run(caller_of(request), &trial, today);
        let report = in_time(self.context.time_limit, run).await?;
        let body = hal::rule_trial(&report, rule_trial::subject_member(&trial.subject));
        Ok(content::untagged(request, body))
    }
}
