//! The content of an item: uploads, downloads and its removal.
//!
//! All errors that do not depend on the bytes are answered before the body is read, so a client that
//! sends `Expect: 100-continue` sends no byte of a refused upload.

use std::ops::Range;
use std::sync::Arc;

use application::{ContentWrite, ItemAddress, WriteOptions, Written};
use domain::{Content, ContentDigest};
use poem::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LOCATION, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, LAST_MODIFIED, LINK, LOCATION, VARY,
};
use poem::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use poem::{Request, Response};

use super::GroupEndpoint;
use super::download::{Piece, Representation, Sending};
use super::history::version_of;
use super::texts::Texts;
use super::upload::{Receiving, description};
use crate::endpoints::in_time;
use crate::groups::GroupOperation;
use crate::headers::accept::accepts;
use crate::headers::content_disposition::{self, is_shown_inline};
use crate::headers::digest_fields::{self, REPR_DIGEST};
use crate::headers::entity_tag::{EntityTag, content_precondition};
use crate::headers::media_type::MediaType;
use crate::headers::set;
use crate::links;
use crate::middleware::method_router::Negotiated;
use crate::problem::{Problem, Result, kinds};
use crate::query::{ContentQuery, query_of};
use crate::request::body::declared_length;
use crate::request::caller::caller_of;
use crate::time::http_date;

/// No script, no plugin, no form and no request in a document that is shown.
const SANDBOX: &str = "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'";

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

#[derive(Clone)]
pub struct ContentEndpoint {
    pub group: Arc<GroupEndpoint>,
    pub operation: GroupOperation,
}

impl ContentEndpoint {
    pub async fn answer(self, mut request: Request) -> Result<Response> {
        match self.operation {
            GroupOperation::PutContent => Box::pin(self.put(&mut request)).await,
            GroupOperation::DeleteContent => self.delete(&request).await,
            _ => self.get(&request).await,
        }
    }

    async fn get(&self, request: &Request) -> Result<Response> {
        let query = ContentQuery::read(self.operation, query_of(request))?;
        let item = self.group.target(request)?;
        let group = &self.group.context;
        let content = in_time(group.time_limit, self.find(request, item, &query)).await?;
        if !accepts(request.headers(), &content.media_type) {
            let detail = format!("This content has the type {}. Accept it.", content.media_type);
            return Err(Problem::new(&kinds::NOT_ACCEPTABLE, detail));
        }
        let condition = content_precondition(request.headers())?;
        let is_immutable = self.operation == GroupOperation::GetVersionContent;
        let shown = Representation {
            media_type: &content.media_type,
            size: content.size,
            tag: content.digest,
            stored_at: Some(content.stored_at),
            headers: self.facts(item, &content, (query.is_attachment, is_immutable)),
        };
        if let Some(response) = shown.unmet(request.headers(), &condition)? {
            return Ok(response);
        }
        let parts = shown.wanted(request)?;
        let place = group.contents.place()?;
        let limit = group.time_limit;
        let kept = in_time(limit, group.contents.service.find(&content)).await?;
        let sending = Sending::new(&group.contents, Texts::default(), place);
        let pieces = |part: &Range<u64>| vec![Piece::Content(kept, part.clone())];
        shown.answer(sending, limit, parts, pieces).await
    }

    async fn find(
        &self,
        request: &Request,
        item: ItemAddress,
        query: &ContentQuery,
    ) -> Result<Content> {
        let (service, caller) = (&self.group.service, caller_of(request));
        Ok(match (self.operation, query.as_of) {
            (GroupOperation::GetVersionContent, _) => {
                service.content_of_version(caller, item, version_of(request)?).await?
            }
            (_, Some(time)) => service.content_at(caller, item, time).await?,
            (_, None) => service.content(caller, item).await?,
        })
    }

    fn facts(
        &self,
        item: ItemAddress,
        content: &Content,
        (is_attachment, is_immutable): (bool, bool),
    ) -> HeaderMap {
        let Content { media_type, filename, digest, .. } = content;
        let is_inline = !is_attachment && is_shown_inline(media_type);
        let disposition = content_disposition::header(is_inline, filename.as_deref(), item.id);
        let caching =
            if is_immutable { "private, max-age=86400, immutable" } else { "private, no-cache" };
        let kind = media_type.parse().unwrap_or_else(|_| MediaType::BYTES.header());
        let mut headers = facts(kind, disposition, digest, caching);
        headers.insert(REPR_DIGEST, digest_fields::header(digest));
        // The viewers of browsers show no PDF in a sandbox.
        if !media_type.to_ascii_lowercase().starts_with("application/pdf") {
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
        }
        headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        set(&mut headers, LAST_MODIFIED, http_date(&content.stored_at));
        let url = links::item(&self.group.context.base_url, self.group.group, item.parent, item.id);
        set(&mut headers, LINK, format!("<{url}>; rel=\"describedby\""));
        headers
    }

    async fn put(&self, request: &mut Request) -> Result<Response> {
        let context = &self.group.context;
        let description = description(request.headers())?;
        let announced = digest_fields::announced(request.headers())?;
        let condition = content_precondition(request.headers())?;
        let options = self.options(request)?;
        self.group.require(&condition)?;
        let expected = declared_length(request.headers()).map(|length| length as u64);
        context.contents.require_size(expected.unwrap_or_default())?;
        let item = self.group.target(request)?;
        let write = ContentWrite { options: &options, item, precondition: &condition };
        let permitted = self.group.service.require_content_write(&write, expected);
        in_time(context.time_limit, permitted).await?;
        let place = context.contents.place()?;
        let begun = context.contents.service.begin(expected);
        let upload = in_time(context.time_limit, begun).await?;
        let receiving = Receiving {
            endpoint: Arc::clone(&self.group),
            body: request.take_body(),
            expected,
            announced,
            upload,
            place,
        };
        // A client that hangs up ends neither the removal of its bytes nor a write in progress.
        let work = tokio::spawn(receiving.write(options, item, condition, description));
        let (written, is_new) = work.await.unwrap_or_else(|_| Err(Problem::internal()))?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        self.show(request, status, item, &written).await
    }

    async fn delete(&self, request: &Request) -> Result<Response> {
        let condition = content_precondition(request.headers())?;
        let options = self.options(request)?;
        self.group.require(&condition)?;
        let item = self.group.target(request)?;
        let write = ContentWrite { options: &options, item, precondition: &condition };
        let limit = self.group.context.time_limit;
        let removed = in_time(limit, self.group.service.detach(&write)).await;
        let answer = removed.map(|_| StatusCode::NO_CONTENT.into());
        self.group.context.acknowledge(answer).await
    }

    fn options(&self, request: &Request) -> Result<WriteOptions> {
        self.group.write_options(self.operation, request, None)
    }

    /// Shows the item after the write. The validators are those of the content, the target of the PUT
    /// (RFC 9110 section 9.3.4).
    async fn show(
        &self,
        request: &Request,
        status: StatusCode,
        item: ItemAddress,
        written: &Written,
    ) -> Result<Response> {
        let context = &self.group.context;
        let options = self.options(request)?;
        let shown =
            self.group.show_written(request, status, item.parent, (written, None), &options);
        let mut response = context.acknowledge(shown.await).await?;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, Negotiated::of(request).header());
        headers.append(VARY, HeaderValue::from_static("Prefer"));
        headers.remove(LOCATION);
        let url = links::item(&context.base_url, self.group.group, item.parent, item.id);
        set(headers, CONTENT_LOCATION, url);
        if let Some(content) = Content::of(&written.shown.item.members) {
            let tag = EntityTag::of_digest(&content.digest).of_write(&options);
            headers.insert(ETAG, tag.header());
            headers.insert(REPR_DIGEST, digest_fields::header(&content.digest));
            set(headers, LAST_MODIFIED, http_date(&content.stored_at));
        }
        Ok(response)
    }
}

/// The headers of every response with bytes, and of a 304.
pub(super) fn facts(
    media_type: HeaderValue,
    disposition: HeaderValue,
    tag: &ContentDigest,
    caching: &'static str,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(CONTENT_TYPE, media_type);
    headers.insert(CONTENT_DISPOSITION, disposition);
    headers.insert(ETAG, EntityTag::of_digest(tag).header());
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers
}
