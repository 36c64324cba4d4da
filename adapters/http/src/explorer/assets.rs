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

/// All of them.
pub static ALL: [Asset; 4] = [
    Asset {
        name: "explorer.css",
        media: MediaType::CSS,
        text: include_str!("assets/explorer.css"),
    },
    Asset {
        name: "explorer.js",
        media: MediaType::JAVASCRIPT,
        text: include_str!("assets/explorer.js"),
    },
    Asset {
        name: "playground.js",
        media: MediaType::JAVASCRIPT,
        text: include_str!("assets/playground.js"),
    },
    Asset { name: "form.js", media: MediaType::JAVASCRIPT, text: include_str!("assets/form.js") },
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
