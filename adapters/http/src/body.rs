//! Request bodies: bounded in size, in time, and in what all of them together take of the memory.

use std::error::Error;
use std::io;
use std::pin::pin;
use std::time::Duration;

use application::ReplacementBody;
use bytes::{Bytes, BytesMut};
use domain::json::{Kind, MAX_DEPTH, Value};
use domain::{JsonFault, Members, Pointer, Violation};
use futures_util::StreamExt;
use poem::http::header::{self, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use poem::http::{HeaderMap, HeaderValue};
use poem::{Body, Request};
use tokio::time::timeout;

use crate::budget::{Budget, Share};
use crate::idempotency_key;
use crate::problem::{Problem, kinds};
use crate::query::shows_a_part;

/// Bodies up to this size take their share as they arrive; a larger one then exchanges it for a share that covers the whole,
/// taken at once. Large bodies therefore wait for each other without holding much, and small ones never wait for large ones.
const SMALL: usize = 1024 * 1024;
/// What small bodies, and the beginnings of large ones, may take together.
const SMALL_BUDGET_MIB: u16 = 32;
/// What large bodies may take together. In work, a body takes several times its size.
const LARGE_BUDGET_MIB: u16 = 8;
/// Levels that a HAL collection puts around an item: itself, `_embedded`, and the array. The item has its own limit.
const ENVELOPE_DEPTH: usize = 3;
/// Most elements of a collection's replacement: each costs many times its bytes.
const MAX_ELEMENTS: usize = 50_000;

/// Reads bodies.
pub struct BodyReader {
    limit: usize,
    time_limit: Duration,
    small: Budget,
    large: Budget,
}

/// A body, and its share of the memory.
pub struct ReceivedBody {
    bytes: Bytes,
    share: Option<Share>,
}

impl BodyReader {
    /// Reads bodies of up to `limit` bytes that arrive within `time_limit`.
    #[must_use]
    pub fn new(limit: usize, time_limit: Duration) -> Self {
        Self { limit, time_limit, small: Budget::of_mib(SMALL_BUDGET_MIB), large: Budget::of_mib(LARGE_BUDGET_MIB) }
    }

    /// Reads the body.
    ///
    /// # Errors
    /// 413 above the limit, 408 when it does not arrive, 503 when the memory for bodies stays used up.
    pub async fn read(&self, request: &mut Request) -> Result<ReceivedBody, Problem> {
        let declared = declared_length(request.headers());
        if declared.is_some_and(|length| length > self.limit as u64) {
            return Err(self.too_large());
        }
        let expected = declared.and_then(|length| usize::try_from(length).ok()).unwrap_or(self.limit);
        let body = request.take_body();
        match timeout(self.time_limit, self.collect(body, expected)).await {
            Ok(received) => received,
            Err(_) => Err(not_received("The body took too long to arrive.")),
        }
    }

    async fn collect(&self, body: Body, expected: usize) -> Result<ReceivedBody, Problem> {
        let mut stream = pin!(body.into_bytes_stream());
        let (mut share, mut is_large) = (None::<Share>, false);
        let mut whole = BytesMut::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| broken_off(&error))?;
            let size = whole.len() + chunk.len();
            if size > self.limit {
                return Err(self.too_large());
            }
            if size > SMALL && !is_large {
                share = Some(self.large.take(expected.max(size)).await?);
                is_large = true;
                whole.reserve(expected.saturating_sub(whole.len()));
            } else if !is_large {
                // However small the chunks are, the share is that of their sum.
                let missing = size.saturating_sub(share.as_ref().map_or(0, Share::bytes));
                if missing > 0 {
                    let more = self.small.take(missing).await?;
                    share = Some(more.joined_with(share));
                }
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(ReceivedBody { bytes: whole.freeze(), share })
    }

    fn too_large(&self) -> Problem {
        Problem::new(&kinds::BODY_TOO_LARGE, format!("A body may have at most {} bytes.", self.limit))
    }
}

/// A client that was too slow may try again; one that sent a broken body should not.
fn broken_off(error: &(dyn Error + 'static)) -> Problem {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return not_received("The body stopped arriving.");
        }
        cause = error.source();
    }
    let detail = "The body breaks off before its declared end, or its chunks are malformed (RFC 9112 section 7.1).".to_owned();
    Problem::of_whole_body(&kinds::INCOMPLETE_BODY, "incomplete_body", detail)
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
}

fn not_received(detail: &str) -> Problem {
    Problem::new(&kinds::REQUEST_TIMEOUT, detail).with_header(header::CONNECTION, HeaderValue::from_static("close"))
}

impl ReceivedBody {
    /// Whether nothing was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Tells the body from any other.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        idempotency_key::fingerprint(&self.bytes)
    }

    /// What the body takes of the memory, to be kept for as long as it is worked on.
    pub fn take_share(&mut self) -> Option<Share> {
        self.share.take()
    }

    /// The body as the members of an item.
    ///
    /// # Errors
    /// 400 when it is not readable, or no object.
    pub fn members(&self) -> Result<Members, Problem> {
        Members::read(&self.bytes)?.ok_or_else(|| wrong_shape("The body is no JSON object; send one.".to_owned()))
    }

    /// The body as the replacement of a collection whose items stand under `_embedded.<name>`: an array, or a HAL
    /// collection as GET returns it.
    ///
    /// # Errors
    /// 400 when it is not readable or neither; 422 when it is only a part of the collection.
    pub fn replacement(&self, name: &str) -> Result<ReplacementBody, Problem> {
        let read = domain::json::read_within(&self.bytes, MAX_DEPTH + ENVELOPE_DEPTH)?;
        let value = read.value();
        let (elements, base) = match value.kind() {
            Kind::Array => (Some(value), Pointer::root()),
            Kind::Object => {
                let elements = value.member("_embedded").and_then(|embedded| embedded.member(name));
                (elements.filter(|elements| elements.kind() == Kind::Array), Pointer::to_member("_embedded").member(name))
            }
            _ => (None, Pointer::root()),
        };
        let Some(elements) = elements else {
            let detail = format!("The body is neither an array of objects nor a HAL collection with `_embedded.{name}`; send one of them.");
            return Err(wrong_shape(detail));
        };
        let count = elements.elements().into_iter().flatten().count();
        refuse_excess(count)?;
        refuse_part(value, count)?;
        let elements = elements.elements().into_iter().flatten().enumerate();
        let elements = elements.map(|(index, element)| Ok((base.index(index), Members::from_value(element)?)));
        Ok(ReplacementBody { elements: elements.collect::<Result<_, JsonFault>>()? })
    }
}

fn wrong_shape(detail: String) -> Problem {
    Problem::of_whole_body(&kinds::NOT_AN_OBJECT, "not_an_object", detail)
}

fn refuse_excess(count: usize) -> Result<(), Problem> {
    if count <= MAX_ELEMENTS {
        return Ok(());
    }
    let detail = format!("a collection can be replaced by at most {MAX_ELEMENTS} items at once, not {count}; change items one by one");
    Err(Problem::invalid(Violation::new(Pointer::root(), "too_many_elements", detail).into()))
}

/// Putting one page of several back would delete the others. Whatever says that there is more counts: a client that edits
/// what it read may lose one sign and keep another.
fn refuse_part(collection: Value<'_>, count: usize) -> Result<(), Problem> {
    let total = collection.member("total_items");
    let is_whole = match total {
        None => true,
        Some(total) => total.as_number().and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|total| total <= count as u64),
    };
    let is_linked = collection.member("_links").is_some_and(links_to_more);
    if is_whole && !is_linked {
        return Ok(());
    }
    let detail = format!(
        "this is one page or a selection of a larger collection, or does not say how large it is: with the {count} items embedded all others would be deleted; send all items with all their members, `total_items` as a number and no `prev` or `next` link, or an array of those to keep"
    );
    let place = if is_linked { "_links" } else { "total_items" };
    Err(Problem::invalid(Violation::of_member(place, "partial_collection", detail).into()))
}

/// Whether a collection's links tell of other pages, or that it was filtered, searched or shown with some members only.
fn links_to_more(links: Value<'_>) -> bool {
    let is_there = |relation: &str| links.member(relation).is_some_and(|link| !link.is_null());
    let own = links.member("self").and_then(|link| link.member("href")?.as_text());
    let query = own.as_ref().and_then(|href| href.split_once('?'));
    is_there("next") || is_there("prev") || query.is_some_and(|(_, query)| shows_a_part(query))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Whether the body is compressed, which is not supported: its members could not be read.
#[must_use]
pub fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Whether the request may have a body: it declares a length other than 0, or a transfer coding.
#[must_use]
pub fn may_have_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) || declared_length(headers).is_some_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use super::ReceivedBody;

    #[test]
    fn a_part_of_a_collection_is_not_put_back() {
        let linked = |links: &str| format!(r#"{{"_links":{links},"_embedded":{{"cashprogram":[{{}}]}},"total_items":1}}"#);
        for (text, is_taken) in [
            ("[{}]".to_owned(), true),
            (r#"{"_embedded":{"cashprogram":[{}]}}"#.to_owned(), true),
            (r#"{"_embedded":{"cashprogram":[{}]},"total_items":2}"#.to_owned(), false),
            (linked(r#"{"self":{"href":"/v1/cashprogram?page=1&page_size=250&sort=year"}}"#), true),
            (linked(r#"{"next":null,"self":{"href":"/v1/cashprogram"}}"#), true),
            (linked(r#"{"next":{"href":"/v1/cashprogram?page=2"}}"#), false),
            (linked(r#"{"prev":{"href":"/v1/cashprogram?page=1"}}"#), false),
            (linked(r#"{"self":{"href":"/v1/cashprogram?filter%5Byear%5D=2026"}}"#), false),
            (linked(r#"{"self":{"href":"/v1/cashprogram?fields=year"}}"#), false),
            (linked(r#"{"self":{"href":"/v1/cashprogram?q=rice"}}"#), false),
        ] {
            let body = ReceivedBody { bytes: text.clone().into(), share: None };
            assert_eq!(body.replacement("cashprogram").is_ok(), is_taken, "{text}");
        }
    }
}
