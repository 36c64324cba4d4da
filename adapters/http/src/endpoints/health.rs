//! `/healthz` (the process lives) and `/readyz` (it can do its work).

use std::sync::Arc;
use std::time::Duration;

use application::Readiness;
use poem::{Endpoint, Request, Response, Result};
use tokio::time::timeout;

use crate::problem::Problem;

/// How long the store may take to answer something trivial.
const PATIENCE: Duration = Duration::from_secs(5);

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
        match timeout(PATIENCE, self.0.check()).await {
            Ok(Ok(())) => Ok(status("ready")),
            _ => Err(Problem::unavailable("The store cannot be reached.").into()),
        }
    }
}

fn status(word: &str) -> Response {
    Response::builder().content_type("application/json").body(format!("{{\"status\":\"{word}\"}}"))
}
