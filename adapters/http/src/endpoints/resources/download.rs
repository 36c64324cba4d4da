//! The download of bytes, or of parts of them.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::time::Duration;

use application::{
    ApplicationError, ContentService, Download, KeptContent, Precondition, RepositoryError,
};
use bytes::Bytes;
use domain::ContentDigest;
use futures_util::StreamExt as _;
use futures_util::stream::{self, Stream};
use jiff::Timestamp;
use poem::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, IF_RANGE};
use poem::http::{HeaderMap, HeaderValue, Method, StatusCode};
use poem::{Body, Request, Response};
use uuid::Uuid;

use super::contents::{Contents, LEAST_RATE, Throttle};
use super::texts::Texts;
use crate::endpoints::in_time;
use crate::headers::byte_ranges::{Requested, requested};
use crate::headers::entity_tag::EntityTag;
use crate::headers::modified_since::{has_state_of, is_date_of, was_modified};
use crate::headers::sole::sole;
use crate::problem::{Problem, kinds};
use crate::server::LeastRate;

/// In bytes.
const SPOOLED_AT_A_TIME: u64 = 256 << 10;

/// The facts that conditions and ranges depend on.
pub(super) struct Representation<'a> {
    pub media_type: &'a str,
    /// In bytes.
    pub size: u64,
    pub tag: ContentDigest,
    pub stored_at: Option<Timestamp>,
    /// The headers of every response with these bytes, and of a 304.
    pub headers: HeaderMap,
}

impl Representation<'_> {
    /// Returns 304 or 412 if a condition is not met, in the order of RFC 9110 section 13.2.2.
    pub fn unmet(
        &self,
        headers: &HeaderMap,
        condition: &Precondition<ContentDigest>,
    ) -> Result<Option<Response>, Problem> {
        let is_met = match &condition.is {
            Some(named) => named.includes(&self.tag),
            None => !self.stored_at.is_some_and(|stored_at| was_modified(stored_at, headers)),
        };
        if !is_met {
            return Err(ApplicationError::ContentChanged { current: Some(self.tag) }.into());
        }
        let is_known = match &condition.is_not {
            Some(named) => named.includes(&self.tag),
            None => self.stored_at.is_some_and(|stored_at| has_state_of(stored_at, headers)),
        };
        Ok(is_known.then(|| {
            let mut response: Response = StatusCode::NOT_MODIFIED.into();
            response.headers_mut().extend(self.headers.clone());
            response
        }))
    }

    /// Returns the parts, unless `If-Range` names other bytes; `None` for all bytes. Only GET has ranges
    /// (RFC 9110 section 14.2).
    pub fn wanted(&self, request: &Request) -> Result<Option<Vec<Range<u64>>>, Problem> {
        let headers = request.headers();
        if request.method() == Method::HEAD {
            return Ok(None);
        }
        let is_own = |line: &HeaderValue| {
            let is_time = self.stored_at.is_some_and(|time| is_date_of(time, headers, &IF_RANGE));
            is_time || *line == EntityTag::of_digest(&self.tag).header()
        };
        let wanted = match sole(headers, IF_RANGE) {
            Ok(None) => requested(headers, self.size),
            Ok(Some(line)) if is_own(line) => requested(headers, self.size),
            _ => Requested::Whole,
        };
        match wanted {
            Requested::Whole => Ok(None),
            Requested::Parts(parts) => Ok(Some(parts)),
            Requested::Unsatisfiable => Err(self.unsatisfiable()),
        }
    }

    fn unsatisfiable(&self) -> Problem {
        let detail = format!("The content has {} bytes.", self.size);
        let problem = Problem::new(&kinds::RANGE_NOT_SATISFIABLE, detail);
        match HeaderValue::try_from(format!("bytes */{}", self.size)) {
            Ok(range) => problem.with_header(CONTENT_RANGE, range),
            Err(_) => problem,
        }
    }

    /// The bytes, or parts of them, as `pieces_of` gives them.
    pub async fn answer(
        &self,
        mut sending: Sending,
        limit: Duration,
        parts: Option<Vec<Range<u64>>>,
        pieces_of: impl Fn(&Range<u64>) -> Vec<Piece>,
    ) -> Result<Response, Problem> {
        let Self { media_type, size, .. } = *self;
        let range = |part: &Range<u64>| format!("bytes {}-{}/{size}", part.start, part.end - 1);
        let mut response = Response::builder();
        let pieces = &mut sending.pieces;
        match parts {
            None => pieces.extend(pieces_of(&(0..size))),
            Some(parts) if parts.len() == 1 => {
                response = response
                    .status(StatusCode::PARTIAL_CONTENT)
                    .header(CONTENT_RANGE, range(&parts[0]));
                pieces.extend(pieces_of(&parts[0]));
            }
            Some(parts) => {
                // Random, so that no content can have it.
                let boundary = Uuid::new_v4().simple();
                let kind = format!("multipart/byteranges; boundary={boundary}");
                response = response.status(StatusCode::PARTIAL_CONTENT).header(CONTENT_TYPE, kind);
                for part in parts {
                    let head = format!(
                        "\r\n--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: {}\r\n\r\n",
                        range(&part)
                    );
                    pieces.push_back(Piece::Separator(head.into()));
                    pieces.extend(pieces_of(&part));
                }
                pieces.push_back(Piece::Separator(format!("\r\n--{boundary}--\r\n").into()));
            }
        }
        let length: u64 = pieces.iter().map(Piece::length).sum();
        // A missing file is an error before the status line.
        let first = in_time(limit, sending.next()).await?;
        let body = Body::from_bytes_stream(sending.after(first));
        Ok(self.complete(response.header(CONTENT_LENGTH, length).body(body)))
    }

    /// Adds the headers. The transfer ends if the client reads too slowly.
    pub fn complete(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        for (name, value) in &self.headers {
            // A multipart body has its own type.
            headers.entry(name).or_insert_with(|| value.clone());
        }
        response.extensions_mut().insert(LeastRate(Some(LEAST_RATE)));
        response
    }
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Separator(Bytes),
    Spooled(Range<u64>),
    Content(KeptContent, Range<u64>),
}

impl Piece {
    pub const fn length(&self) -> u64 {
        match self {
            Self::Separator(text) => text.len() as u64,
            Self::Spooled(part) | Self::Content(_, part) => part.end - part.start,
        }
    }

    pub fn part(&self, wanted: Range<u64>) -> Self {
        let within = |whole: &Range<u64>| whole.start + wanted.start..whole.start + wanted.end;
        match self {
            // It is never cut.
            Self::Separator(text) => Self::Separator(text.clone()),
            Self::Spooled(whole) => Self::Spooled(within(whole)),
            Self::Content(kept, whole) => Self::Content(*kept, within(whole)),
        }
    }
}

pub(super) struct Sending {
    service: ContentService,
    throttle: Throttle,
    texts: Texts,
    pub pieces: VecDeque<Piece>,
    open: Option<Download>,
    _place: Box<dyn Send + Sync>,
}

impl Sending {
    /// Keeps the place as long as it sends.
    pub fn new(contents: &Contents, texts: Texts, place: impl Send + Sync + 'static) -> Self {
        let (service, throttle) = (contents.service.clone(), contents.throttle.clone());
        let (pieces, place) = (VecDeque::new(), Box::new(place));
        Self { service, throttle, texts, pieces, open: None, _place: place }
    }

    pub async fn next(&mut self) -> Result<Option<Bytes>, ApplicationError> {
        loop {
            if let Some(download) = &mut self.open {
                match download.next().await? {
                    Some(piece) => return Ok(Some(self.throttle.pass(async || piece).await)),
                    None => self.open = None,
                }
            }
            match self.pieces.pop_front() {
                None => return Ok(None),
                Some(Piece::Separator(text)) => return Ok(Some(text)),
                Some(Piece::Spooled(part)) => {
                    let end = part.end.min(part.start + SPOOLED_AT_A_TIME);
                    if end < part.end {
                        self.pieces.push_front(Piece::Spooled(end..part.end));
                    }
                    let read = self.texts.read(part.start..end).await;
                    return read.map(Some).map_err(|error| {
                        tracing::error!(%error, "a temporary file cannot be read");
                        ApplicationError::Store(RepositoryError::Unavailable)
                    });
                }
                Some(Piece::Content(kept, part)) => {
                    self.open = Some(self.service.open(&kept, part).await?);
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
