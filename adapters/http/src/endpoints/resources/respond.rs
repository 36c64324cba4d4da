use application::{Listing, ShownItem, WriteOptions, Written};
use bytes::Bytes;
use domain::ItemId;
use jiff::Timestamp;
use poem::http::StatusCode;
use poem::http::header::{ETAG, LAST_MODIFIED, LOCATION};
use poem::{Request, Response};

use super::GroupEndpoint;
use crate::hal::{self, ItemView, PageView, Snapshot};
use crate::headers::entity_tag::EntityTag;
use crate::headers::link::with_links;
use crate::headers::modified_since::has_state_of;
use crate::headers::prefer::Return;
use crate::headers::set;
use crate::links;
use crate::problem::Result;
use crate::query::CollectionQuery;
use crate::request::memory_budget::{MemoryReservation, sent};
use crate::time::http_date;

/// Includes the headers that middleware adds.
const USUAL_HEADERS: usize = 12;

impl GroupEndpoint {
    pub(super) async fn read_page<F: Future<Output = application::Result<Listing>>>(
        &self,
        read: impl Fn() -> F,
    ) -> Result<(Listing, Option<MemoryReservation>)> {
        // Source and response are in memory at the same time.
        let bytes = |listing: &Listing| 2 * hal::collection_size(self.group, listing);
        self.context.memory.read(None, read, bytes).await
    }

    pub(super) fn page_of<'a>(
        &self,
        query: &CollectionQuery<'_>,
        listing: &'a Listing,
        parent: Option<ItemId>,
        snapshot: Snapshot<'a>,
    ) -> PageView<'a> {
        let url = links::collection(&self.context.base_url, self.group, parent);
        PageView::new(listing, parent, query.targets(&url, listing), snapshot)
    }

    pub(super) fn page_body(
        &self,
        page: &PageView<'_>,
        memory: Option<MemoryReservation>,
    ) -> Bytes {
        sent(hal::collection(&self.context.base_url, self.group, page), memory)
    }

    /// The tag covers the content if more than the revision changes it: the caller sees only some of
    /// the linked items, or the permitted operations.
    pub(super) fn page_tag(&self, page: &PageView<'_>, body: &[u8]) -> EntityTag {
        let listing = page.listing;
        match listing.revision(self.group.collection) {
            Some(revision) if listing.visibility.has_revision() && page.allowed.is_empty() => {
                EntityTag::of_collection(&revision)
            }
            revision => {
                let hash = || EntityTag::hash(body);
                let is_of_listing =
                    page.allowed.is_empty() && listing.embedded.requested().is_none();
                let hash = match page.targets.first() {
                    Some((_, address)) if is_of_listing => {
                        listing.content.hash.under(address, hash)
                    }
                    _ => hash(),
                };
                EntityTag::of_seen_page(revision.as_ref(), hash)
            }
        }
    }

    pub(super) async fn item_body(
        &self,
        parent: Option<ItemId>,
        view: &ItemView<'_>,
        memory: Option<MemoryReservation>,
    ) -> Result<Bytes> {
        let make = || hal::item(&self.context.base_url, self.group, parent, view);
        self.context.memory.body(hal::item_size(self.group, view), memory, make).await
    }

    pub(super) async fn show(
        &self,
        status: StatusCode,
        parent: Option<ItemId>,
        (view, memory): (&ItemView<'_>, Option<MemoryReservation>),
        tag: &EntityTag,
    ) -> Result<Response> {
        let body = self.item_body(parent, view, memory).await?;
        let response = Response::builder().status(status).body(body);
        Ok(modified(with_tag(response, tag), view.item))
    }

    /// Warnings override the preference for no body.
    pub(super) async fn show_written(
        &self,
        request: &Request,
        status: StatusCode,
        parent: Option<ItemId>,
        (written, memory): (&Written, Option<MemoryReservation>),
        options: &WriteOptions,
    ) -> Result<Response> {
        let Written { shown, warnings } = written;
        let tag = EntityTag::of_item(shown.item.version, &shown.links).of_write(options);
        let preference = Return::applied(request.headers(), warnings);
        let mut response = if preference == Some(Return::Minimal) {
            modified(with_tag(without_body(status), &tag), shown)
        } else {
            let warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
            let view = ItemView { warnings, ..ItemView::new(shown, Snapshot::of_write(options)) };
            self.show(status, parent, (&view, memory), &tag).await?
        };
        if status == StatusCode::CREATED {
            let url = links::item(&self.context.base_url, self.group, parent, shown.item.id);
            set(response.headers_mut(), LOCATION, url);
        }
        Ok(Return::acknowledge(preference, response))
    }
}

pub(super) fn show_page(page: &PageView<'_>, tag: &EntityTag, body: Bytes) -> Response {
    with_links(with_tag(Response::builder().body(body), tag), &page.targets)
}

pub(super) fn with_tag(mut response: Response, tag: &EntityTag) -> Response {
    let headers = response.headers_mut();
    headers.reserve(USUAL_HEADERS);
    headers.insert(ETAG, tag.header());
    response
}

pub(super) fn without_body(status: StatusCode) -> Response {
    if status == StatusCode::OK { StatusCode::NO_CONTENT.into() } else { status.into() }
}

pub(super) fn modified(mut response: Response, shown: &ShownItem) -> Response {
    if shown.links.cut.is_none() {
        set(response.headers_mut(), LAST_MODIFIED, http_date(&shown.item.updated_at));
    }
    response
}

pub(super) fn not_modified(tag: &EntityTag) -> Response {
    with_tag(StatusCode::NOT_MODIFIED.into(), tag)
}

/// Compares the tag, or the date of the last write (RFC 9110 section 13.2.2).
pub(super) fn unchanged(
    request: &Request,
    tag: &EntityTag,
    modified: Option<Timestamp>,
) -> Result<Option<Response>> {
    let headers = request.headers();
    if let Some(known) = tag.known_to(headers)? {
        return Ok(Some(not_modified(&known)));
    }
    let is_known = modified.is_some_and(|modified| has_state_of(modified, headers));
    Ok(is_known.then(|| not_modified(tag)))
}
