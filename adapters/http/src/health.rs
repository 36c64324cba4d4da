//! `/healthz` (the process lives) and `/readyz` (it can do its work).

use std::sync::Arc;

use application::Readiness;
use poem::{Endpoint, Request, Response, Result};

use crate::problem::Problem;

/// Answers 200 as long as the process runs.
pub struct Health;

impl Endpoint for Health {
    type Output = Response;

    async fn call(&self, _request: Request) -> Result<Response> {
        Ok(status("ok"))
    }
}

/// Answers 200 while the store answers, else 503.
pub struct Ready(pub Arc<dyn Readiness>);

impl Endpoint for Ready {
    type Output = Response;

    async fn call(&self, _request: Request) -> Result<Response> {
        match self.0.check().await {
            Ok(()) => Ok(status("ready")),
            Err(_) => Err(Problem::unavailable("The store cannot be reached.").into()),
        }
    }
}

fn status(word: &str) -> Response {
    Response::builder().content_type("application/json").body(format!("{{\"status\":\"{word}\"}}"))
}
