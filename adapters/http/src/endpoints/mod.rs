//! The endpoints: each turns a request into the call of a use case, and its result into a response.

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
pub mod transfers;

use std::time::Duration;

use poem::endpoint::{BoxEndpoint, make};
use poem::{EndpointExt, Request, Response};
use tokio::time::timeout;

use crate::problem::Problem;

/// An endpoint from a function and the state that it takes besides the request.
pub fn endpoint<S: Clone + Send + Sync + 'static, F>(
    state: S,
    answer: fn(S, Request) -> F,
) -> BoxEndpoint<'static>
where
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    make(move |request| answer(state.clone(), request)).boxed()
}

/// Does the work of a request within a time limit.
pub async fn in_time<T, E: Into<Problem>>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Problem> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(Problem::unavailable("The service took too long.")),
    }
}
