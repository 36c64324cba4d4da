//! `/schemas/rules.json`: the JSON Schema of rule files, as it was handed in.

use bytes::Bytes;
use poem::http::HeaderValue;
use poem::{Endpoint, Request, Response, Result};

use crate::endpoints::content;
use crate::headers::entity_tag::EntityTag;

/// Where it is.
pub const PATH: &str = "/schemas/rules.json";

/// The JSON Schema of rule files.
pub struct RuleSchema {
    text: Bytes,
    tag: EntityTag,
}

impl RuleSchema {
    /// Serves this schema.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self { tag: EntityTag::of_content(text.as_bytes()), text: text.into() }
    }
}

impl Endpoint for RuleSchema {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let media = HeaderValue::from_static("application/json");
        content::answer(&request, media, &self.tag, self.text.clone())
    }
}
