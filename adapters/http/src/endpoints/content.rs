//! Responses with an entity tag that is the hash of the body.

use bytes::Bytes;
use poem::http::header::{CONTENT_TYPE, ETAG};
use poem::http::{HeaderValue, StatusCode};
use poem::{Body, Request, Response};

use crate::headers::entity_tag::EntityTag;
use crate::middleware::method_router::Negotiated;
use crate::problem::Result;

pub fn answer(request: &Request, body: impl Into<Bytes>) -> Result<Response> {
    let (media, body) = (Negotiated::of(request).header(), body.into());
    answer_tagged(request, media, &EntityTag::of_content(&body), body)
}

pub fn untagged(request: &Request, body: impl Into<Body>) -> Response {
    Response::builder().header(CONTENT_TYPE, Negotiated::of(request).header()).body(body)
}

pub fn answer_tagged(
    request: &Request,
    media: HeaderValue,
    tag: &EntityTag,
    body: impl Into<Body>,
) -> Result<Response> {
    let known = tag.known_to(request.headers())?;
    let response = Response::builder().header(CONTENT_TYPE, media);
    Ok(match known {
        Some(known) => {
            response.status(StatusCode::NOT_MODIFIED).header(ETAG, known.header()).finish()
        }
        None => response.header(ETAG, tag.header()).body(body),
    })
}
