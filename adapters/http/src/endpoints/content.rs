//! Answers with a representation whose entity tag is its hash.

use poem::http::header::{CONTENT_TYPE, ETAG};
use poem::http::{HeaderValue, StatusCode};
use poem::{Body, Request, Response, Result};

use crate::headers::entity_tag::EntityTag;
use crate::problem::Problem;

/// Answers with a body, or with 304 where the client has it already.
pub fn answer(request: &Request, media: HeaderValue, body: String) -> Result<Response> {
    answer_tagged(request, media, &EntityTag::of_content(body.as_bytes()), body)
}

/// Answers with a body whose tag is known already.
pub fn answer_tagged(
    request: &Request,
    media: HeaderValue,
    tag: &EntityTag,
    body: impl Into<Body>,
) -> Result<Response> {
    let known = tag.known_to(request.headers()).map_err(Problem::from)?;
    let response = Response::builder().header(CONTENT_TYPE, media);
    Ok(match known {
        Some(known) => {
            response.status(StatusCode::NOT_MODIFIED).header(ETAG, known.header()).finish()
        }
        None => response.header(ETAG, tag.header()).body(body),
    })
}
