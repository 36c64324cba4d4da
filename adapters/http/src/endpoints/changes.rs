//! `/v1/changes`: every write of every group, in the order of the commits.
//!
//! Every page, also an empty one, has a `next` link. A reader that follows it misses nothing and
//! sees nothing twice, however many clients write at once.

use std::sync::Arc;
use std::time::Duration;

use application::{ApplicationError, Caller, CallerNames, ChangeService, LogPage, RepositoryError};
use poem::{Endpoint, Request, Response, Result};
use poem_openapi::types::ToJSON;

use crate::base_url::BaseUrl;
use crate::endpoints::{change_feed::require_own, content};
use crate::hal::ChangePage;
use crate::headers::link::with_links;
use crate::problem::Problem;
use crate::query::change_cursor::History;
use crate::query::{ChangesQuery, query_of};
use crate::request::caller::caller_of;

/// Serves the change log.
pub struct Changes {
    pub service: ChangeService,
    pub base_url: Arc<BaseUrl>,
    /// How long a read of the log may take.
    pub time_limit: Duration,
}

impl Endpoint for Changes {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let query = ChangesQuery::read(query_of(&request))?;
        // Taken before the log is read: what is read may be newer than it says, never older.
        let history = History::of(&self.service.history());
        require_own(query.after, history)?;
        let page = self.page(caller_of(&request), &query).await;
        // Another server may have taken over before the log was read: the position means nothing on it.
        require_own(query.after, History::of(&self.service.history()))?;
        let (page, names) = page.map_err(Problem::from)?;
        let page = ChangePage::of(&query, (&page, &names), history, &self.base_url);
        let response = content::answer(&request, page.to_json_string())?;
        Ok(with_links(response, &page.targets()))
    }
}

impl Changes {
    async fn page(
        &self,
        caller: &Caller,
        query: &ChangesQuery,
    ) -> Result<(LogPage, CallerNames), ApplicationError> {
        let after = query.after.map(|after| after.sequence).unwrap_or_default();
        let page = async {
            let page = self.service.page(caller, after, query.collection, query.page_size).await?;
            let names = self.service.caller_names(caller, &page.changes).await?;
            Ok((page, names))
        };
        let page = tokio::time::timeout(self.time_limit, page).await;
        page.unwrap_or(Err(ApplicationError::Store(RepositoryError::Unavailable)))
    }
}

#[cfg(test)]
mod tests {
    use application::ports::{MockCallerDirectory, MockChangeLog};
    use application::{AccessControl, NoPolicies, Sequence};
    use poem::http::StatusCode;

    use super::*;
    use crate::query::change_cursor::{LogPosition, write};

    /// A log whose history ends while it is read, and that is shorter then.
    fn log_of_a_new_history() -> MockChangeLog {
        let mut log = MockChangeLog::new();
        log.expect_history_id().once().returning(|| "old".into());
        log.expect_history_id().returning(|| "new".into());
        log.expect_changes()
            .returning(|after, _, _| Ok(LogPage { changes: Vec::new(), read_to: after }));
        log.expect_last().returning(|| Ok(Sequence(3)));
        log
    }

    #[tokio::test]
    async fn a_position_is_refused_when_its_history_ends_while_the_log_is_read() {
        let (log, names) = (Arc::new(log_of_a_new_history()), MockCallerDirectory::new());
        let access = AccessControl::new(Arc::new(NoPolicies::Open));
        let listener = "127.0.0.1:80".parse().expect("an address");
        let changes = Changes {
            service: ChangeService::new(log, Arc::new(names), access),
            base_url: Arc::new(BaseUrl::of_listener(listener)),
            time_limit: Duration::from_secs(1),
        };
        let lost = write(LogPosition { history: History::of("old"), sequence: Sequence(7) });
        let request = Request::builder().uri_str(format!("/v1/changes?after={lost}")).finish();
        let response = changes.get_response(request).await;
        assert_eq!(response.status(), StatusCode::GONE);
    }
}
