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
use crate::query::ChangesQuery;
use crate::query::change_cursor::History;
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
        let query = ChangesQuery::read(request.uri().query().unwrap_or_default())?;
        // Taken before the log is read: what is read may be newer than it says, never older.
        let history = History::of(&self.service.history());
        require_own(query.after, history)?;
        let (page, names) = self.page(caller_of(&request), &query).await.map_err(Problem::from)?;
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
