//! The download of a content, or of parts of it.

use std::io;
use std::ops::Range;
use std::time::Duration;

use application::{ApplicationError, ContentService, Download};
use bytes::Bytes;
use domain::Content;
use futures_util::StreamExt as _;
use futures_util::stream::{self, Stream};
use poem::http::StatusCode;
use poem::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use poem::{Body, Response};
use tokio::sync::OwnedSemaphorePermit;

use crate::endpoints::in_time;
use crate::problem::Problem;

/// Of a `multipart/byteranges` body. Random enough: no client chooses it together with the bytes.
const BOUNDARY: &str = "3f9a1c5e7b2d4860";

/// The content, or parts of it.
pub(super) async fn answer(
    service: ContentService,
    limit: Duration,
    content: &Content,
    parts: Option<Vec<Range<u64>>>,
    place: OwnedSemaphorePermit,
) -> Result<Response, Problem> {
    let size = content.size;
    let range = |part: &Range<u64>| format!("bytes {}-{}/{size}", part.start, part.end - 1);
    let mut response = Response::builder();
    let mut pieces = Vec::new();
    match parts {
        None => pieces.push(Piece::Part(0..size)),
        Some(parts) if parts.len() == 1 => {
            response = response
                .status(StatusCode::PARTIAL_CONTENT)
                .header(CONTENT_RANGE, range(&parts[0]));
            pieces.extend(parts.into_iter().map(Piece::Part));
        }
        Some(parts) => {
            let kind = format!("multipart/byteranges; boundary={BOUNDARY}");
            response = response.status(StatusCode::PARTIAL_CONTENT).header(CONTENT_TYPE, kind);
            for part in parts {
                let (media, range) = (&content.media_type, range(&part));
                let head = format!(
                    "\r\n--{BOUNDARY}\r\nContent-Type: {media}\r\nContent-Range: {range}\r\n\r\n"
                );
                pieces.push(Piece::Separator(head.into()));
                pieces.push(Piece::Part(part));
            }
            pieces.push(Piece::Separator(format!("\r\n--{BOUNDARY}--\r\n").into()));
        }
    }
    let length: u64 = pieces.iter().map(Piece::length).sum();
    let mut sending = Sending {
        service,
        content: content.clone(),
        pieces: pieces.into_iter(),
        open: None,
        _place: place,
    };
    // A missing file is an error before the status line.
    let first = in_time(limit, sending.next()).await?;
    let body = Body::from_bytes_stream(sending.after(first));
    Ok(response.header(CONTENT_LENGTH, length).body(body))
}

enum Piece {
    Separator(Bytes),
    Part(Range<u64>),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Separator(text) => text.len() as u64,
            Self::Part(part) => part.end - part.start,
        }
    }
}

struct Sending {
    service: ContentService,
    content: Content,
    pieces: std::vec::IntoIter<Piece>,
    open: Option<Download>,
    _place: OwnedSemaphorePermit,
}

impl Sending {
    async fn next(&mut self) -> Result<Option<Bytes>, ApplicationError> {
        loop {
            if let Some(download) = &mut self.open {
                match download.next().await? {
                    Some(piece) => return Ok(Some(piece)),
                    None => self.open = None,
                }
            }
            match self.pieces.next() {
                None => return Ok(None),
                Some(Piece::Separator(text)) => return Ok(Some(text)),
                Some(Piece::Part(part)) => {
                    self.open = Some(self.service.open(&self.content, part).await?);
                }
            }
        }
    }

    /// The connection breaks off at an error, so the client knows that the content is incomplete.
    fn after(self, first: Option<Bytes>) -> impl Stream<Item = io::Result<Bytes>> + Send {
        let rest = stream::try_unfold(self, async |mut sending| {
            let piece = sending.next().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>(piece.map(|piece| (piece, sending)))
        });
        stream::iter(first.map(Ok)).chain(rest)
    }
}
