//! The files that pages load: our styles and scripts, and Swagger UI.
//!
//! `build.rs` compresses them. Their paths contain an edition, a hash of all files: browsers cache
//! them for long, and a release with other files has other paths.

use poem::http::HeaderValue;
use poem::http::header::{CACHE_CONTROL, CONTENT_ENCODING};
use poem::{Request, Response};

use crate::endpoints::content;
use crate::headers::accept::{Coding, preferred_coding};
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::problem::Result;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

const EDITION_PARAMETER: &str = "edition";

pub struct Asset {
    name: &'static str,
    pub media: MediaType,
    plain: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
}

impl Asset {
    pub fn route(&self) -> String {
        format!("/assets/:{EDITION_PARAMETER}/{}", self.name)
    }
}

pub async fn asset(asset: &'static Asset, request: Request) -> Result<Response> {
    let coding = preferred_coding(request.headers());
    let tag = EntityTag::of_edition(EDITION, coding);
    let body = match coding {
        Some(Coding::Brotli) => asset.brotli,
        Some(Coding::Gzip) => asset.gzip,
        None => asset.plain,
    };
    let mut response = content::answer_tagged(&request, asset.media.header(), &tag, body)?;
    // During a rolling upgrade, a page may request files of another edition. Do not cache those.
    let is_ours = request.raw_path_param(EDITION_PARAMETER) == Some(EDITION);
    let caching = if is_ours { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Some(coding) = coding.filter(|_| response.status().is_success()) {
        let name = HeaderValue::from_static(coding.name());
        response.headers_mut().insert(CONTENT_ENCODING, name);
    }
    Ok(response)
}

pub fn path(name: &str) -> String {
    format!("/assets/{EDITION}/{name}")
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn every_file_is_smaller_when_it_is_compressed() {
        for asset in &ALL {
            let [plain, gzip, brotli] = [asset.plain, asset.gzip, asset.brotli].map(<[u8]>::len);
            assert!(brotli < gzip && gzip < plain, "{}: {plain}, {gzip}, {brotli}", asset.name);
        }
    }
}
