//! `/rules/try`: what a rule, or an expression alone, says of an item. Nothing is stored.

use std::sync::Arc;

use application::RuleTrialService;
use poem::http::header::CONTENT_TYPE;
use poem::{Endpoint, Request, Response, Result};

use crate::endpoints::resources::HttpContext;
use crate::hal;
use crate::headers::media_type::{MediaType, has_content_type};
use crate::middleware::method_router::Negotiated;
use crate::problem::Problem;
use crate::query::refuse_parameters;
use crate::request::body::{is_encoded, unsupported};
use crate::request::caller::caller_of;
use crate::request::rule_trial;

/// Tries rules.
pub struct RuleTrials {
    pub service: RuleTrialService,
    pub context: Arc<HttpContext>,
}

impl Endpoint for RuleTrials {
    type Output = Response;

    async fn call(&self, mut request: Request) -> Result<Response> {
        Ok(self.answer(&mut request).await?)
    }
}

impl RuleTrials {
    async fn answer(&self, request: &mut Request) -> Result<Response, Problem> {
        let types = [MediaType::JSON];
        if !has_content_type(request.headers(), &types) || is_encoded(request.headers()) {
            return Err(unsupported(&types));
        }
        // The memory is kept for what is made of the body.
        let (body, _memory) = self.context.bodies.read(request).await?;
        let (trial, today) = rule_trial::read(body).await?;
        refuse_parameters(request.uri().query().unwrap_or_default())?;
        let run = self.service.run(caller_of(request), &trial, today);
        let report = tokio::time::timeout(self.context.time_limit, run).await;
        let report = report.map_err(|_| Problem::unavailable("The service took too long."))??;
        let body = hal::rule_trial(&report, rule_trial::subject_member(&trial.subject));
        let media = Negotiated::of(request).header();
        Ok(Response::builder().header(CONTENT_TYPE, media).body(body))
    }
}
