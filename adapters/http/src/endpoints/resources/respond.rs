//! Responses, and the memory that large ones take.

use application::{ShownItem, WriteOptions, Written};
use bytes::Bytes;
use domain::ItemId;
use poem::Response;
use poem::http::header::{ETAG, LAST_MODIFIED, LOCATION};
use poem::http::{HeaderValue, StatusCode};

use super::GroupEndpoint;
use crate::hal::{self, ItemView, PageView, Snapshot};
use crate::headers::entity_tag::EntityTag;
use crate::links;
use crate::problem::Problem;
use crate::time::http_date;

/// Responses from this size on reserve memory while they are made and sent, since a client may read
/// slowly.
const LARGE_RESPONSE: usize = 256 * 1024;

impl GroupEndpoint {
    /// Makes a body of about `size` bytes, for which memory is reserved if it is large.
    pub(super) async fn body(
        &self,
        size: usize,
        make: impl FnOnce() -> String,
    ) -> Result<Bytes, Problem> {
        if size < LARGE_RESPONSE {
            return Ok(make().into());
        }
        let reservation = self.context.responses.reserve(size).await?;
        Ok(reservation.held_by(make()))
    }

    pub(super) async fn page_body(&self, page: &PageView<'_>) -> Result<Bytes, Problem> {
        let make = || hal::collection(&self.context.base_url, self.group, page);
        self.body(hal::collection_size(self.group, page.listing), make).await
    }

    pub(super) async fn item_body(
        &self,
        parent: Option<ItemId>,
        view: &ItemView<'_>,
    ) -> Result<Bytes, Problem> {
        let make = || hal::item(&self.context.base_url, self.group, parent, view);
        self.body(hal::item_size(self.group, view), make).await
    }

    pub(super) async fn show(
        &self,
        status: StatusCode,
        parent: Option<ItemId>,
        view: &ItemView<'_>,
        tag: &EntityTag,
    ) -> Result<Response, Problem> {
        let body = self.item_body(parent, view).await?;
        let response = Response::builder().status(status).body(body);
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
        let tag = EntityTag::of_item(shown.item.version, &shown.links).of_write(options);
        let warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
        let view = ItemView { warnings, ..ItemView::new(shown, Snapshot::of_write(options)) };
        let mut response = self.show(status, parent, &view, &tag).await?;
        if status == StatusCode::CREATED {
            let url = links::item(&self.context.base_url, self.group, parent, shown.item.id);
            if let Ok(location) = HeaderValue::from_str(&url) {
                response.headers_mut().insert(LOCATION, location);
            }
        }
        Ok(response)
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
