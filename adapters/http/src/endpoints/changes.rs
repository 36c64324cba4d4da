//! `/v1/changes`: every write of every group, in the order of the commits.
//!
//! A reader follows `_links.next`, which is there on every page, also on an empty one, and misses
//! nothing and sees nothing twice, however many write at once.

use std::sync::Arc;
use std::time::Duration;

use application::{
    ApplicationError, Caller, ChangeService, LogPage, LoggedChange, RepositoryError, Sequence,
};
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::groups::GroupSpec;
use crate::headers::entity_tag::EntityTag;
use crate::links::{self, CHANGES};
use crate::middleware::method_router::Negotiated;
use crate::problem::Problem;
use crate::query::{ChangesQuery, change_cursor};
use crate::time::TIME;

/// Serves the change log.
pub struct Changes {
    /// The use cases.
    pub service: ChangeService,
    /// The root of all links.
    pub base_url: Arc<BaseUrl>,
    /// How long a look into the log may take.
    pub time_limit: Duration,
}

impl Endpoint for Changes {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let query = ChangesQuery::read(request.uri().query().unwrap_or_default())?;
        let page = self.page(&query).await.map_err(Problem::from)?;
        let body = self.hal(&query, &page).to_string();
        let tag = EntityTag::of_content(body.as_bytes());
        content::answer(&request, Negotiated::of(&request).header(), &tag, body)
    }
}

impl Changes {
    async fn page(&self, query: &ChangesQuery) -> Result<LogPage, ApplicationError> {
        let after = query.after.unwrap_or_default();
        let page = self.service.page(&Caller::Anonymous, after, query.collection, query.page_size);
        let page = tokio::time::timeout(self.time_limit, page).await;
        page.unwrap_or(Err(ApplicationError::Store(RepositoryError::Unavailable)))
    }

    fn hal(&self, query: &ChangesQuery, page: &LogPage) -> Value {
        let changes: Vec<_> =
            page.changes.iter().map(|change| represent(&self.base_url, change)).collect();
        json!({
            "_links": {
                "self": { "href": self.url(query, query.after) },
                "next": { "href": self.url(query, Some(page.read_to)) },
                "up": { "href": format!("{}/", self.base_url) },
            },
            "_embedded": { "changes": changes },
            "page_size": query.page_size,
        })
    }

    fn url(&self, query: &ChangesQuery, after: Option<Sequence>) -> String {
        let after = after
            .map(|after| format!("after={}&", change_cursor::write(after)))
            .unwrap_or_default();
        let group = query
            .collection
            .map(|collection| format!("group={}&", collection.name()))
            .unwrap_or_default();
        format!("{}{CHANGES}?{after}{group}page_size={}", self.base_url, query.page_size)
    }
}

/// A change as it is told.
#[must_use]
pub fn represent(base_url: &BaseUrl, change: &LoggedChange) -> Value {
    let item = links::item(base_url, GroupSpec::of(change.collection), None, change.item);
    json!({
        "group": change.collection.name(),
        "item_id": change.item.to_string(),
        "version": change.version.number(),
        "kind": change.kind.name(),
        "time": TIME.timestamp_to_string(&change.time),
        "caller": change.caller,
        "cursor": change_cursor::write(change.sequence),
        "_links": { "item": { "href": item }, "version": { "href": format!("{item}/versions/{}", change.version) } },
    })
}
