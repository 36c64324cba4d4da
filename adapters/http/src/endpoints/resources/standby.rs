//! Reads at standbys, and the tokens for read-your-writes consistency.

use std::time::Duration;

use application::{ChosenStandby, LogPosition, Standbys};
use poem::http::header::{AGE, CACHE_CONTROL, IF_MODIFIED_SINCE, IF_NONE_MATCH, VARY};
use poem::http::{HeaderMap, HeaderValue, StatusCode};
use poem::{Request, Response};
use tokio::time::timeout;

use super::{GroupEndpoint, HttpContext, OperationEndpoint};
use crate::groups::GroupOperation;
use crate::headers::consistency_token::{CONSISTENCY_TOKEN, token};
use crate::headers::history as tag_history;
use crate::headers::set;
use crate::problem::Result;
use crate::request::body::may_have_body;

/// The write is done by then, and must not wait for a faster later read.
const POSITION_TIMEOUT: Duration = Duration::from_secs(1);

impl HttpContext {
    /// If the position is unknown, as after a write with an unknown outcome, the token leads to the
    /// primary.
    pub async fn acknowledge(&self, answer: Result<Response>) -> Result<Response> {
        let Some(standbys) = &self.standbys else { return answer };
        let unknown = || LogPosition::beyond_all(self.log.history());
        match answer {
            Ok(mut response) => {
                let position = position(&**standbys).await.unwrap_or_else(unknown);
                set(response.headers_mut(), CONSISTENCY_TOKEN, token(&position));
                Ok(response)
            }
            Err(problem) if problem.kind.status == StatusCode::SERVICE_UNAVAILABLE => {
                Err(problem.with_header(CONSISTENCY_TOKEN, token(&unknown())))
            }
            refused => refused,
        }
    }

    pub(super) fn vary_by_token(
        &self,
        operation: GroupOperation,
        answer: Result<Response>,
    ) -> Result<Response> {
        if self.standbys.is_none() || !operation.is_served_by_standbys() {
            return answer;
        }
        let token = HeaderValue::from_static("Consistency-Token");
        let mut response = answer.map_err(|problem| problem.with_header(VARY, token.clone()))?;
        response.headers_mut().append(VARY, token);
        Ok(response)
    }
}

async fn position(standbys: &dyn Standbys) -> Option<LogPosition> {
    timeout(POSITION_TIMEOUT, standbys.position()).await.ok()?.ok()
}

impl OperationEndpoint {
    /// `None` sends the read to the primary, also after any error: the standby may lack the item.
    pub(super) async fn answer_at_standby(
        &self,
        request: &mut Request,
        least: Option<LogPosition>,
    ) -> Option<Response> {
        let context = &self.group.context;
        let standbys = context.standbys.as_ref().filter(|_| self.may_be_at_standby(request))?;
        let headers = request.headers().clone();
        let read = async {
            let chosen = standbys.choose(least).await?;
            let group = self.group.standbys.get(chosen.index)?;
            let response = self.read_at(&**standbys, group, &chosen, request).await?;
            standbys.confirm(&chosen).then_some((response, chosen))
        };
        // Leaves time for a read at the primary.
        let read = timeout(context.time_limit / 2, read).await.ok().flatten();
        *request.headers_mut() = headers;
        let (mut response, chosen) = read?;
        tag_history::complete(response.headers_mut(), &chosen.history);
        response.headers_mut().insert(AGE, chosen.lag.as_secs().into());
        Some(response)
    }

    async fn read_at(
        &self,
        standbys: &dyn Standbys,
        group: &GroupEndpoint,
        chosen: &ChosenStandby,
        request: &mut Request,
    ) -> Option<Response> {
        let limit = self.group.context.time_limit;
        tag_history::strip(request.headers_mut(), &chosen.history);
        let response = group.answer(self.operation, request, limit).await.ok()?;
        if response.status() != StatusCode::NOT_MODIFIED {
            return Some(response);
        }
        // After a failover the primary may have assigned a lost version again. A standby cannot
        // know.
        if let Some(position) = position(standbys).await {
            return (position.history == chosen.history).then_some(response);
        }
        request.headers_mut().remove(IF_NONE_MATCH);
        request.headers_mut().remove(IF_MODIFIED_SINCE);
        group.answer(self.operation, request, limit).await.ok()
    }

    /// `no-cache` excludes standbys. So does a replaceable collection: its tag guards the
    /// replacement, so it must come from the primary.
    fn may_be_at_standby(&self, request: &Request) -> bool {
        let is_list = self.operation == GroupOperation::List;
        let is_replaceable = is_list && self.group.group.replaces_all;
        let headers = request.headers();
        self.operation.is_served_by_standbys()
            && !is_replaceable
            && !may_have_body(headers)
            && !wants_no_cache(headers)
    }
}

/// RFC 9111 section 5.2.1.4.
fn wants_no_cache(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|part| part.trim().eq_ignore_ascii_case("no-cache"))
}
