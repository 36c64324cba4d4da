//! `/v1/changes`: every write of every group, in the order of the commits.
//!
//! A reader follows `_links.next`, which is there on every page, also on an empty one, and misses
//! nothing and sees nothing twice, however many write at once.

use std::sync::Arc;
use std::time::Duration;

use application::{
    ApplicationError, Caller, ChangeService, LogPage, LoggedChange, RepositoryError, Sequence,
};
use domain::{Collection, nearest};
use poem::http::StatusCode;
use poem::http::header::ETAG;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::entity_tag::EntityTag;
use crate::group::Group;
use crate::groups::for_each_group;
use crate::path_endpoint::Negotiated;
use crate::problem::Problem;
use crate::query::{ChangesQuery, change_cursor};
use crate::representation::TIME;

/// Where it is served.
pub const PATH: &str = "/v1/changes";

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
        let text = self.hal(&query, &page).to_string();
        let response = Response::builder().content_type(Negotiated::of(&request).name());
        let tag = EntityTag::of_content(text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(response
                .status(StatusCode::NOT_MODIFIED)
                .header(ETAG, known.header())
                .finish());
        }
        Ok(response.header(ETAG, tag.header()).body(text))
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
        format!("{}{PATH}?{after}{group}page_size={}", self.base_url, query.page_size)
    }
}

/// A change as it is told.
#[must_use]
pub fn represent(base_url: &BaseUrl, change: &LoggedChange) -> Value {
    let item = format!("{base_url}{}/{}", path_of(change.collection), change.item);
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

/// The path of the group that shows all items of a collection.
#[must_use]
pub fn path_of(collection: Collection) -> &'static str {
    macro_rules! find {
        ($($group:path,)*) => { $(if <$group>::OWNER.is_none() && <$group>::COLLECTION == collection { return <$group>::PATH; })* };
    }
    for_each_group!(find);
    ""
}

/// The collection that a client calls by its group's name.
///
/// # Errors
/// The name that was probably meant, if any is near.
pub fn collection_of(group: &str) -> Result<Collection, Option<&'static str>> {
    Collection::named(group).ok_or_else(|| nearest(group, Collection::all().map(Collection::name)))
}
