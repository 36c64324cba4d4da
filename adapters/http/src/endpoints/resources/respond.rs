//! Responses, and the memory that large ones take.

use application::{ShownItem, WriteOptions, Written};
use domain::ItemId;
use poem::http::header::{ETAG, LAST_MODIFIED, LOCATION};
use poem::http::{HeaderValue, StatusCode};
use poem::{Body, Request, Response};

use super::GroupEndpoint;
use crate::hal::{self, ItemView, PageView, Snapshot};
use crate::headers::entity_tag::EntityTag;
use crate::links;
use crate::problem::Problem;
use crate::request::memory_budget::MemoryReservation;
use crate::time::http_date;

/// Responses from this size on reserve memory while they are made and sent: nobody knows how slowly
/// a client reads.
const LARGE_RESPONSE: usize = 256 * 1024;

impl GroupEndpoint {
    async fn reserve(&self, size: usize) -> Result<Option<MemoryReservation>, Problem> {
        if size < LARGE_RESPONSE {
            Ok(None)
        } else {
            self.context.responses.reserve(size).await.map(Some)
        }
    }

    pub(super) async fn page_response(&self, page: &PageView<'_>) -> Result<Response, Problem> {
        let reservation = self.reserve(hal::collection_size(self.group, page.listing)).await?;
        let body = hal::collection(&self.context.base_url, self.group, page);
        Ok(Response::builder().body(held(reservation, body)))
    }

    pub(super) async fn show(
        &self,
        status: StatusCode,
        parent: Option<ItemId>,
        view: &ItemView<'_>,
        tag: &EntityTag,
    ) -> Result<Response, Problem> {
        let reservation = self.reserve(hal::item_size(self.group, view)).await?;
        let body = hal::item(&self.context.base_url, self.group, parent, view);
        let response = Response::builder().status(status).body(held(reservation, body));
        Ok(with_tag(modified(response, view.item), tag))
    }

    /// Shows what a write left, or would have left.
    pub(super) async fn show_written(
        &self,
        status: StatusCode,
        parent: Option<ItemId>,
        written: &Written,
        options: &WriteOptions,
    ) -> Result<Response, Problem> {
        let Written { shown, warnings } = written;
        let tag = EntityTag::of_item(shown.item.version, &shown.links);
        let tag = if options.is_dry_run { tag.of_dry_run() } else { tag };
        let view = ItemView::new(shown, Snapshot::of_write(options)).warned(warnings);
        let mut response = self.show(status, parent, &view, &tag).await?;
        if status == StatusCode::CREATED {
            let url = links::item(&self.context.base_url, self.group, parent, shown.item.id);
            if let Ok(location) = HeaderValue::from_str(&url) {
                response.headers_mut().insert(LOCATION, location);
            }
        }
        Ok(response)
    }

    /// Answers with a body of about `size` bytes whose tag is its hash, or with 304.
    pub(super) async fn content(
        &self,
        request: &Request,
        size: usize,
        make: impl FnOnce() -> String,
    ) -> Result<Response, Problem> {
        let reservation = self.reserve(size).await?;
        let body = make();
        let tag = EntityTag::of_content(body.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        Ok(with_tag(Response::builder().body(held(reservation, body)), &tag))
    }
}

fn held(reservation: Option<MemoryReservation>, body: String) -> Body {
    match reservation {
        Some(reservation) => Body::from_bytes(reservation.held_by(body)),
        None => Body::from(body),
    }
}

pub(super) fn with_tag(mut response: Response, tag: &EntityTag) -> Response {
    response.headers_mut().insert(ETAG, tag.header());
    response
}

pub(super) fn modified(mut response: Response, shown: &ShownItem) -> Response {
    if let Ok(modified) = HeaderValue::from_str(&http_date(&shown.item.updated_at)) {
        response.headers_mut().insert(LAST_MODIFIED, modified);
    }
    response
}

pub(super) fn not_modified(tag: &EntityTag) -> Response {
    with_tag(StatusCode::NOT_MODIFIED.into(), tag)
}
