//! `/v1/changes`: every write of every group, in commit order.
//!
//! Every page has a `next` link, even an empty one. A reader that follows it gets each change
//! exactly once, also under concurrent writes.

use std::sync::Arc;

use application::{ApplicationError, Caller, CallerNames, RepositoryError, SeenChange};
use poem::{Request, Response};
use poem_openapi::types::ToJSON;

use crate::endpoints::resources::HttpContext;
use crate::endpoints::{change_feed::require_own, content};
use crate::hal::ChangePage;
use crate::headers::link::with_links;
use crate::problem::Result;
use crate::query::change_cursor::HistoryHash;
use crate::query::{ChangesQuery, query_of};
use crate::request::caller::caller_of;

pub async fn changes(context: Arc<HttpContext>, request: Request) -> Result<Response> {
    let query = ChangesQuery::read(query_of(&request))?;
    let log = &context.log;
    // Taken first: the log may be newer than this history, but never older.
    let history = HistoryHash::of(&log.history());
    require_own(query.after, history)?;
    let page = page(&context, caller_of(&request), &query).await;
    // A failover before the read makes the position invalid.
    require_own(query.after, HistoryHash::of(&log.history()))?;
    let (page, names) = page?;
    let page = ChangePage::of(&query, (&page, &names), history, &context.base_url);
    let response = content::answer(&request, page.to_json_string())?;
    Ok(with_links(response, &page.targets()))
}

async fn page(
    context: &HttpContext,
    caller: &Caller,
    query: &ChangesQuery,
) -> Result<(application::ChangePage, CallerNames), ApplicationError> {
    let after = query.after.map(|after| after.sequence).unwrap_or_default();
    let log = &context.log;
    let page = async {
        let page = log.page(caller, after, query.collection, query.page_size).await?;
        let names = log.caller_names(page.changes.iter().filter_map(SeenChange::shown)).await?;
        Ok((page, names))
    };
    let page = tokio::time::timeout(context.time_limit, page).await;
    page.unwrap_or(Err(ApplicationError::Store(RepositoryError::Unavailable)))
}

#[cfg(test)]
mod tests {
    use application::ports::{MockChangeLog, MockItemRepository};
    use application::{LogPage, Ports, Sequence};
    use poem::Endpoint;
    use poem::http::StatusCode;
    use poem::http::header::HOST;

    use super::*;
    use crate::app::tests::mocked;
    use crate::query::change_cursor::{ChangeCursor, write};
    use crate::service;

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
        let (ports, options) = mocked(MockItemRepository::new());
        let ports = Ports { changes: Arc::new(log_of_a_new_history()), ..ports };
        let lost = write(ChangeCursor { history: HistoryHash::of("old"), sequence: Sequence(7) });
        let request = Request::builder().uri_str(format!("/v1/changes?after={lost}"));
        let request = request.header(HOST, "example.org").finish();
        let response = service(&ports, options).get_response(request).await;
        assert_eq!(response.status(), StatusCode::GONE);
    }
}
