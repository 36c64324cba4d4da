//! The upload of a content: its headers, and its body.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use application::{
    ContentDescription, ContentWrite, ItemAddress, Precondition, Upload, WriteOptions, Written,
};
use bytes::{Bytes, BytesMut};
use domain::ContentDigest;
use futures_util::future::join;
use futures_util::{Stream, StreamExt as _};
use poem::Body;
use poem::http::HeaderMap;
use poem::http::header::CONTENT_TYPE;
use tokio::sync::OwnedSemaphorePermit;

use super::GroupEndpoint;
use super::contents::{Contents, LEAST_RATE};
use crate::headers::content_disposition;
use crate::headers::quality_list::split_unquoted;
use crate::headers::sole::sole;
use crate::problem::{Problem, kinds};
use crate::request::body::{broken_off, is_encoded, not_received};
use crate::server::{MAX_HEAD, Pace};

/// The waiting time over which the rate of an upload is measured.
const RATE_WINDOW: Duration = Duration::from_secs(30);

/// The bytes that are hashed and written at a time.
const PIECE: usize = 128 << 10;

/// In bytes.
const LONGEST_MEDIA_TYPE: usize = 255;

/// An upload whose body arrives.
pub(super) struct Receiving {
    pub endpoint: Arc<GroupEndpoint>,
    pub body: Body,
    /// The declared length.
    pub expected: Option<u64>,
    pub announced: Vec<ContentDigest>,
    pub upload: Upload,
    pub place: OwnedSemaphorePermit,
}

impl Receiving {
    pub async fn write(
        self,
        options: WriteOptions,
        item: ItemAddress,
        condition: Precondition<ContentDigest>,
        description: ContentDescription,
    ) -> Result<(Written, bool), Problem> {
        let Self { endpoint, body, expected, announced, mut upload, place: _place } = self;
        let received = receive(&endpoint.context.contents, body, &mut upload).await;
        let digest = upload.digest();
        let received = received.and_then(|()| {
            if expected.is_some_and(|expected| expected != upload.size()) {
                let detail = "The body ended before its declared length.".to_owned();
                Err(Problem::of_whole_body(&kinds::INCOMPLETE_BODY, "incomplete_body", detail))
            } else if announced.iter().any(|announced| *announced != digest) {
                let detail = format!("The bytes have the SHA-256 digest {digest}.");
                Err(Problem::new(&kinds::DIGEST_MISMATCH, detail))
            } else {
                Ok(())
            }
        });
        if let Err(problem) = received {
            upload.abandon().await;
            return Err(problem);
        }
        let write = ContentWrite { options: &options, item, precondition: &condition };
        Ok(endpoint.service.attach(&write, description, upload).await?)
    }
}

async fn receive(contents: &Contents, body: Body, upload: &mut Upload) -> Result<(), Problem> {
    let (mut stream, mut pace, mut size) = (pin!(body.into_bytes_stream()), Pace::default(), 0);
    let mut next = next_piece(contents, &mut stream, &mut pace, size).await;
    loop {
        let piece = next?;
        if piece.is_empty() {
            return Ok(());
        }
        size += piece.len() as u64;
        let hashed = contents.throttle.pass(async || upload.hash(piece)).await;
        // The next piece arrives while this one is written.
        let appended;
        let arrives = next_piece(contents, &mut stream, &mut pace, size);
        (next, appended) = join(arrives, upload.append(hashed)).await;
        appended?;
    }
}

/// Collects the parts of a body until they make a piece; an empty piece at the end.
async fn next_piece(
    contents: &Contents,
    body: &mut (impl Stream<Item = io::Result<Bytes>> + Unpin),
    pace: &mut Pace,
    size: u64,
) -> Result<Bytes, Problem> {
    // The last part may go beyond the piece; growing would copy it.
    let mut piece = BytesMut::with_capacity(PIECE + MAX_HEAD);
    while piece.len() < PIECE {
        pace.waits();
        let Some(part) = body.next().await else { break };
        let part = part.map_err(|error| broken_off(&error))?;
        pace.takes(part.len());
        if pace.waited() >= RATE_WINDOW && pace.is_too_slow(LEAST_RATE) {
            return Err(not_received("The body arrived too slowly."));
        }
        piece.extend_from_slice(&part);
        contents.require_size(size + piece.len() as u64)?;
    }
    Ok(piece.freeze())
}

/// The type and the name of an upload.
pub(super) fn description(headers: &HeaderMap) -> Result<ContentDescription, Problem> {
    let unsupported = |detail: &str| Err(Problem::new(&kinds::UNSUPPORTED_MEDIA_TYPE, detail));
    if is_encoded(headers) {
        return unsupported("Send the bytes of the content without Content-Encoding.");
    }
    let media_type = match sole(headers, CONTENT_TYPE) {
        Ok(Some(line)) => line.to_str().ok().filter(|line| is_media_type(line)),
        Ok(None) => Some("application/octet-stream"),
        Err(_) => None,
    };
    let Some(media_type) = media_type else {
        return unsupported(
            "Content-Type must be one media type, such as application/pdf, of at most 255 bytes.",
        );
    };
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if name.starts_with("multipart/") {
        return unsupported(
            "Send the bytes of the content alone, not a form: with curl, `-T FILE` instead of `-F`.",
        );
    }
    if name == "application/x-www-form-urlencoded" {
        return unsupported(
            "Send the Content-Type of the content: with curl, `-T FILE -H 'Content-Type: …'` instead of `--data-binary`.",
        );
    }
    let filename = content_disposition::name_in(headers);
    Ok(ContentDescription { media_type: media_type.into(), filename })
}

fn is_media_type(line: &str) -> bool {
    let is_token = |text: &str| {
        let is_token_byte =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(is_token_byte)
    };
    let mut parts = split_unquoted(line, ';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let is_name = name.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub));
    let is_parameter = |part: &str| part.split_once('=').is_some_and(|(key, _)| is_token(key));
    line.len() <= LONGEST_MEDIA_TYPE
        && is_name
        && parts.all(|part| part.is_empty() || is_parameter(part))
}
