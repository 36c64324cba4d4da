//! gzip (RFC 1952) for larger bodies, when the client accepts it.

use std::io::Write;

use application::table::FORMATS;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use poem::http::HeaderValue;
use poem::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG};
use poem::{Body, Response};

use crate::headers::entity_tag;
use crate::headers::media_type::MediaType;

/// Smaller bodies fit into a packet as they are.
const WORTHWHILE: usize = 1400;
/// Larger bodies are compressed where they do not hold up other requests.
const LARGE: usize = 64 * 1024;

/// Compresses the body if it is large enough to gain. The caller has found that
/// the client [accepts it](crate::headers::accept::accepts_gzip).
pub async fn compress(mut response: Response) -> Response {
    if response.headers().contains_key(CONTENT_ENCODING) || is_stream(&response) {
        return response;
    }
    // Bodies are whole in memory, so this does not wait.
    let Ok(body) = response.take_body().into_bytes().await else { return response };
    let small = match body.len() {
        ..WORTHWHILE => None,
        WORTHWHILE..LARGE => gzip(&body),
        _ => gzip_aside(body.clone()).await,
    };
    let Some(small) = small.filter(|small| small.len() < body.len()) else {
        response.set_body(body);
        return response;
    };
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(tag) = headers.get(ETAG).and_then(entity_tag::compressed) {
        headers.insert(ETAG, tag);
    }
    response.set_body(Body::from(small));
    response
}

/// Returns true if the body has no end, or may be too large for memory.
fn is_stream(response: &Response) -> bool {
    let content_type = response.content_type().and_then(|own| own.split(';').next());
    let files = FORMATS.iter().filter(|format| format.is_exported).map(|format| format.media_type);
    files.chain([MediaType::EVENT_STREAM.name()]).any(|stream| content_type == Some(stream))
}

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

async fn gzip_aside(body: Bytes) -> Option<Vec<u8>> {
    tokio::task::spawn_blocking(move || gzip(&body)).await.ok().flatten()
}
