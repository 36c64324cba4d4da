//! The style and the script of the pages.

use poem::http::HeaderValue;
use poem::http::header::CACHE_CONTROL;
use poem::{Endpoint, Request, Response, Result};

use super::ROOT;
use crate::endpoints::content;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;

/// A file that pages load.
pub struct Asset {
    name: &'static str,
    pub media: MediaType,
    text: &'static str,
}

const fn script(name: &'static str, text: &'static str) -> Asset {
    Asset { name, media: MediaType::JAVASCRIPT, text }
}

/// All of them.
pub static ALL: [Asset; 7] = [
    Asset {
        name: "explorer.css",
        media: MediaType::CSS,
        text: include_str!("assets/explorer.css"),
    },
    script("explorer.js", include_str!("assets/explorer.js")),
    script("form.js", include_str!("assets/form.js")),
    script("buttons.js", include_str!("assets/buttons.js")),
    script("playground.js", include_str!("assets/playground.js")),
    script("json.js", include_str!("assets/json.js")),
    script("request.js", include_str!("assets/request.js")),
];

impl Asset {
    pub fn path(&self) -> String {
        format!("{ROOT}/assets/{}", self.name)
    }
}

impl Endpoint for &'static Asset {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let tag = EntityTag::of_content(self.text.as_bytes());
        let mut response = content::answer_tagged(&request, self.media.header(), &tag, self.text)?;
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(response)
    }
}
