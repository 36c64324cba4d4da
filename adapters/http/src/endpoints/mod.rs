//! Each endpoint maps a request to a use case, and its result to a response.

pub mod access;
pub mod change_feed;
pub mod change_stream;
pub mod changes;
pub mod content;
pub mod documentation;
pub mod entry_point;
pub mod exports;
pub mod health;
pub mod identity;
pub mod imports;
pub mod pacing;
pub mod policies;
pub mod problem_pages;
pub mod resources;
pub mod rule_trials;
pub mod rules;
pub mod sessions;
pub mod transfers;

use std::time::Duration;

use async_trait::async_trait;
use poem::{Request, Response};
use tokio::time::timeout;

use crate::middleware::method_router::Handler;
use crate::problem::{Problem, Result};

pub fn handler<S: Clone + Send + Sync + 'static, F>(
    state: S,
    answer: fn(S, Request) -> F,
) -> Box<dyn Handler>
where
    F: Future<Output = Result<Response>> + Send + 'static,
{
    Box::new((state, answer))
}

#[async_trait]
impl<S: Clone + Send + Sync, F> Handler for (S, fn(S, Request) -> F)
where
    F: Future<Output = Result<Response>> + Send,
{
    async fn handle(&self, request: &mut Request) -> Result<Response> {
        let (state, answer) = self;
        answer(state.clone(), std::mem::take(request)).await
    }
}

pub async fn in_time<T, E: Into<Problem>>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(Problem::unavailable("The service timed out.")),
    }
}
