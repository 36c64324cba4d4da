//! `/openapi.json` and `/docs`: the document, and Swagger UI with every asset embedded.

use bytes::Bytes;
use poem::http::StatusCode;
use poem::http::header::{CONTENT_SECURITY_POLICY, ETAG};
use poem::{Endpoint, Request, Response, Result};

use crate::entity_tag::EntityTag;

/// Text that never changes while the service runs.
pub struct StaticText {
    content_type: &'static str,
    text: Bytes,
    tag: EntityTag,
}

impl StaticText {
    /// Serves `text` as it is.
    #[must_use]
    pub fn new(content_type: &'static str, text: String) -> Self {
        Self { content_type, tag: EntityTag::of_content(text.as_bytes()), text: text.into() }
    }
}

/// Scripts and styles are inline, pictures are data; nothing else may be loaded, and requests go to the service only.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self'; font-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Endpoint for StaticText {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let response = Response::builder().content_type(self.content_type);
        if let Some(known) = self.tag.known_to(request.headers())? {
            return Ok(response.status(StatusCode::NOT_MODIFIED).header(ETAG, known.header()).finish());
        }
        Ok(response.header(ETAG, self.tag.header()).header(CONTENT_SECURITY_POLICY, POLICY).body(self.text.clone()))
    }
}
