//! Reads at standbys, and the tokens by which clients see there what they wrote.

use application::LogPosition;
use poem::http::header::{AGE, CACHE_CONTROL, IF_NONE_MATCH, VARY};
use poem::http::{HeaderMap, HeaderValue, StatusCode};
use poem::{Request, Response};
use tokio::time::timeout;

use super::{HttpContext, OperationEndpoint};
use crate::groups::Operation;
use crate::headers::consistency_token::{CONSISTENCY_TOKEN, token};
use crate::headers::history as tag_history;
use crate::problem::Problem;
use crate::request::body::may_have_body;

impl HttpContext {
    /// Adds to the answer to a write the token of a position that has it. Where that is not known, as
    /// after a write that may have been made, it is one that leads to the store itself.
    pub async fn acknowledge(
        &self,
        answer: Result<Response, Problem>,
    ) -> Result<Response, Problem> {
        let Some(standbys) = &self.standbys else { return answer };
        let unknown = || LogPosition::beyond_all(self.log.history());
        match answer {
            Ok(mut response) => {
                let position = standbys.position().await.unwrap_or_else(|_| unknown());
                if let Some(token) = token(&position) {
                    response.headers_mut().insert(CONSISTENCY_TOKEN, token);
                }
                Ok(response)
            }
            Err(problem) if problem.kind().status == StatusCode::SERVICE_UNAVAILABLE => {
                Err(match token(&unknown()) {
                    Some(token) => problem.with_header(CONSISTENCY_TOKEN, token),
                    None => problem,
                })
            }
            refused => refused,
        }
    }

    /// Adds what a cache must know of an answer that standbys may give.
    pub(super) fn vary_by_token(&self, operation: Operation, headers: &mut HeaderMap) {
        if self.standbys.is_some() && operation.is_served_by_standbys() {
            headers.append(VARY, HeaderValue::from_static("Consistency-Token"));
        }
    }
}

impl OperationEndpoint {
    /// Answers a read from a standby that has all up to a position. `None` where it is to be read from
    /// the store itself: also after any error, for what a standby lacks may be there.
    pub(super) async fn answer_at_standby(
        &self,
        request: &mut Request,
        least: Option<LogPosition>,
    ) -> Option<Response> {
        let context = &self.group.context;
        let standbys = context.standbys.as_ref().filter(|_| self.may_be_at_standby(request))?;
        let chosen = standbys.choose(least).await?;
        let group = self.group.standbys.get(chosen.index)?;
        let headers = request.headers().clone();
        tag_history::strip(request.headers_mut(), &chosen.history);
        // There must be time left to read from the store.
        let limit = context.time_limit / 2;
        let mut answer = timeout(limit, group.answer(self.operation, request)).await.ok();
        if matches!(&answer, Some(Ok(response)) if response.status() == StatusCode::NOT_MODIFIED) {
            // Another server may have taken over, and have written the version again that was lost.
            // A standby cannot know, the primary can.
            match standbys.position().await {
                Ok(position) if position.history == chosen.history => {}
                Ok(_) => answer = None,
                Err(_) => {
                    request.headers_mut().remove(IF_NONE_MATCH);
                    answer = timeout(limit, group.answer(self.operation, request)).await.ok();
                }
            }
        }
        *request.headers_mut() = headers;
        let mut response = answer?.ok().filter(|_| standbys.confirm(&chosen))?;
        tag_history::complete(response.headers_mut(), &chosen.history);
        response.headers_mut().insert(AGE, chosen.lag.as_secs().into());
        Some(response)
    }

    /// A client that wants no cached answer wants none of a standby either. A collection that can be
    /// replaced is compared with the revision that was read, which must be that of the store.
    fn may_be_at_standby(&self, request: &Request) -> bool {
        let mut operations = self.group.group.operations();
        if self.operation == Operation::List && operations.any(|it| it == Operation::ReplaceAll) {
            return false;
        }
        let headers = request.headers();
        self.operation.is_served_by_standbys()
            && !may_have_body(headers)
            && !wants_no_cache(headers)
    }
}

/// Returns whether a request has the directive `no-cache` (RFC 9111 section 5.2.1.4).
fn wants_no_cache(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|part| part.trim().eq_ignore_ascii_case("no-cache"))
}
