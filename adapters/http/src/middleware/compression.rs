//! gzip (RFC 1952) for larger bodies.

use std::io::Write;

use application::table::FORMATS;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use poem::http::HeaderValue;
use poem::http::header::{ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, ETAG};
use poem::{Body, Response};

use crate::headers::entity_tag;
use crate::headers::media_type::MediaType;

/// In bytes. Smaller bodies fit into a packet.
const WORTHWHILE: usize = 1400;
/// In bytes. Larger bodies are compressed on a blocking thread.
const LARGE: usize = 64 * 1024;

/// Requires that the client accepts gzip.
pub async fn compress(mut response: Response) -> Response {
    // A range of a content is one of its bytes.
    let is_content = response.headers().contains_key(ACCEPT_RANGES);
    if response.headers().contains_key(CONTENT_ENCODING) || is_content || is_stream(&response) {
        return response;
    }
    // Bodies are in memory, so this does not wait.
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
