//! Request bodies: bounded in size, in time, and in total memory.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::{io, iter};

use application::ReplacementBody;
use bytes::{Bytes, BytesMut};
use domain::json::{Kind, MAX_DEPTH, Value};
use domain::{Members, Pointer, Violation};
use futures_util::StreamExt;
use poem::http::HeaderMap;
use poem::http::header::{self, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use poem::{Body, Request};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::headers::media_type::MediaType;
use crate::problem::{Problem, Result, kinds};
use crate::query::shows_a_part;
use crate::request::memory_budget::{MemoryBudget, MemoryReservation, work_on};

/// In bytes. Larger bodies are parsed on blocking threads.
const LARGE: usize = 1024 * 1024;
/// The reservations of a body of undeclared length, in bytes, before the maximum.
const STEPS: [usize; 2] = [64 * 1024, LARGE];
/// The HAL collection, `_embedded` and the array. The item has its own limit.
const ENVELOPE_DEPTH: usize = 3;
/// Each element costs many times its bytes.
const MAX_ELEMENTS: usize = 50_000;
/// Estimated bytes of work per element, however short it is.
const ELEMENT: usize = 512;
/// Reserves memory before it reads a body, and more as a chunked body grows. It waits only for
/// larger size classes, so requests cannot deadlock.
#[derive(Clone)]
pub struct BodyReader {
    pub limit: usize,
    pub time_limit: Duration,
    pub memory: Arc<MemoryBudget>,
}

impl BodyReader {
    /// Accepts an array, or a HAL collection as GET returns it. The elements need memory in
    /// addition to the body's.
    pub async fn replacement(
        &self,
        (body, held): (Bytes, &MemoryReservation),
        name: &'static str,
    ) -> Result<(ReplacementBody, Option<MemoryReservation>)> {
        let size = body.len();
        let (read, count) = aside_if_large(size, move || {
            let read = domain::json::read_within(&body, MAX_DEPTH + ENVELOPE_DEPTH)?;
            drop(body);
            let count = count_elements(read.value(), name)?;
            Ok((read, count))
        })
        .await?;
        let reservation = self.memory.reserve_more(held, count * ELEMENT).await?;
        let elements = aside_if_large(size, move || {
            let mut elements = Vec::with_capacity(count);
            if let Some((sent, base)) = elements_of(read.value(), name) {
                for (index, element) in sent.enumerate() {
                    elements.push((base.index(index), Members::from_value(element)?));
                }
            }
            Ok(elements)
        })
        .await?;
        Ok((ReplacementBody { elements }, reservation))
    }

    pub async fn read(&self, request: &mut Request) -> Result<(Bytes, MemoryReservation)> {
        let declared = declared_length(request.headers()).unwrap_or_default();
        if declared > self.limit {
            return Err(self.too_large());
        }
        let collected = self.collect(request.take_body(), declared);
        timeout(self.time_limit, collected)
            .await
            .unwrap_or_else(|_| Err(not_received("The body took too long to arrive.")))
    }

    async fn collect(&self, body: Body, mut expected: usize) -> Result<(Bytes, MemoryReservation)> {
        let mut reservation = self.memory.reserve(work_on(expected)).await?;
        let mut stream = pin!(body.into_bytes_stream());
        let mut whole = BytesMut::with_capacity(expected);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| broken_off(&error))?;
            let size = whole.len() + chunk.len();
            if size > self.limit {
                return Err(self.too_large());
            }
            if size > expected {
                expected = STEPS.into_iter().find(|step| size <= *step).unwrap_or(self.limit);
                reservation = self.memory.reserve(work_on(expected)).await?;
                whole.reserve(expected - whole.len());
            }
            whole.extend_from_slice(&chunk);
        }
        Ok((whole.freeze(), reservation))
    }

    fn too_large(&self) -> Problem {
        Problem::new(
            &kinds::BODY_TOO_LARGE,
            format!("A body may have at most {} bytes.", self.limit),
        )
    }
}

/// A late client may retry. A client that sent a broken body should not.
pub fn broken_off(error: &(dyn Error + 'static)) -> Problem {
    let is_late = |error: &(dyn Error + 'static)| {
        let error = error.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    };
    if iter::successors(Some(error), |error| (*error).source()).any(is_late) {
        return not_received("The body stopped arriving.");
    }
    let detail = "The body ended before its declared length, or its chunks are malformed (RFC 9112 section 7.1).".to_owned();
    Problem::of_whole_body(&kinds::INCOMPLETE_BODY, "incomplete_body", detail)
        .with_header(header::CONNECTION, "close")
}

pub fn not_received(detail: &str) -> Problem {
    Problem::new(&kinds::REQUEST_TIMEOUT, detail).with_header(header::CONNECTION, "close")
}

pub async fn members(body: Bytes) -> Result<Members> {
    aside_if_large(body.len(), move || {
        let read = domain::json::read(&body)?;
        // The members are a copy, so the body is no longer needed.
        drop(body);
        Members::from_read(read)
            .ok_or_else(|| wrong_shape("The body must be a JSON object.".to_owned()))
    })
    .await
}

fn count_elements(collection: Value<'_>, name: &str) -> Result<usize> {
    let Some((elements, _)) = elements_of(collection, name) else {
        let detail = format!(
            "The body must be an array of objects or a HAL collection with `_embedded.{name}`."
        );
        return Err(wrong_shape(detail));
    };
    let count = elements.count();
    if count > MAX_ELEMENTS {
        let detail = format!(
            "A collection can be replaced with at most {MAX_ELEMENTS} items at once, not {count}. Change items one by one."
        );
        let violation = Violation::new(Pointer::root(), "too_many_elements", detail);
        return Err(Problem::invalid(violation.into()));
    }
    refuse_part(collection, count)?;
    Ok(count)
}

fn elements_of<'a>(
    collection: Value<'a>,
    name: &str,
) -> Option<(impl Iterator<Item = Value<'a>> + use<'a>, Pointer)> {
    match collection.kind() {
        Kind::Object => {
            let elements = collection.member("_embedded")?.member(name)?.elements()?;
            Some((elements, Pointer::to_member("_embedded").member(name)))
        }
        _ => Some((collection.elements()?, Pointer::root())),
    }
}

/// Runs work on a large body on a blocking thread, so that other requests do not wait.
pub async fn aside_if_large<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if size <= LARGE {
        return work();
    }
    spawn_blocking(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a body could not be read");
        Err(Problem::internal())
    })
}

fn wrong_shape(detail: String) -> Problem {
    Problem::of_whole_body(&kinds::NOT_AN_OBJECT, "not_an_object", detail)
}

/// Refuses a page of several, which would delete the others. Any sign of other pages suffices: a
/// client that edits the body may lose some signs.
fn refuse_part(collection: Value<'_>, count: usize) -> Result<()> {
    let total = collection.member("total_items");
    let is_whole = total.is_none_or(|total| {
        let total = total.as_number().and_then(|digits| digits.parse::<u64>().ok());
        total.is_some_and(|total| total <= count as u64)
    });
    let is_linked = collection.member("_links").is_some_and(links_to_more);
    if is_whole && !is_linked {
        return Ok(());
    }
    let detail = format!(
        "This is one page or a selection of a larger collection, or its size is missing. All items except the {count} embedded ones would be deleted. Send all items with all their members, `total_items` as a number and no `prev` or `next` link, or an array of the items to keep."
    );
    let place = if is_linked { "_links" } else { "total_items" };
    Err(Problem::invalid(Violation::of_member(place, "partial_collection", detail).into()))
}

/// Detects other pages, filters, searches and `fields` in a collection's links.
fn links_to_more(links: Value<'_>) -> bool {
    let is_there = |relation: &str| links.member(relation).is_some_and(|link| !link.is_null());
    let own = links.member("self").and_then(|link| link.member("href")?.as_string());
    let query = own.as_ref().and_then(|href| href.split_once('?'));
    is_there("next") || is_there("prev") || query.is_some_and(|(_, query)| shows_a_part(query))
}

pub fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// 415 for another media type or a compressed body.
pub fn unsupported(types: &[MediaType]) -> Problem {
    let names: Vec<_> = types.iter().map(|media| media.name()).collect();
    let detail = format!(
        "Send the body with the Content-Type {} and without Content-Encoding. The only allowed parameter is charset=utf-8.",
        names.join(" or ")
    );
    Problem::new(&kinds::UNSUPPORTED_MEDIA_TYPE, detail)
}

pub fn may_have_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
        || declared_length(headers).is_some_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use domain::Members;
    use proptest::prelude::*;

    use super::{
        Arc, BodyReader, Bytes, Duration, MemoryBudget, Problem, ReplacementBody, members,
    };

    async fn replacement(body: Bytes) -> Result<ReplacementBody, Problem> {
        let memory = Arc::new(MemoryBudget::default());
        let held = memory.reserve(body.len()).await?;
        let reader = BodyReader { limit: 1024, time_limit: Duration::from_secs(1), memory };
        Ok(reader.replacement((body, &held), "cashprogram").await?.0)
    }

    #[tokio::test]
    async fn a_part_of_a_collection_is_not_put_back() {
        let linked = |links: &str| {
            format!(r#"{{"_links":{links},"_embedded":{{"cashprogram":[{{}}]}},"total_items":1}}"#)
        };
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
            let replacement = replacement(text.clone().into()).await;
            assert_eq!(replacement.is_ok(), is_taken, "{text}");
        }
    }

    fn sent() -> impl Strategy<Value = Vec<u8>> {
        let pieces = "{\"_embedded\":{\"cashprogram\":|[|{}|,|]|}}|{\"a\":1.50}|null|,\"total_items\":1| |\0";
        let pieces = prop::sample::select(pieces.split('|').collect::<Vec<_>>());
        let nearly =
            prop::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat().into_bytes());
        prop_oneof![nearly, prop::collection::vec(any::<u8>(), 0..60)]
    }

    proptest! {
        #[test]
        fn any_bytes_are_members_or_an_error(bytes in sent()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let found = runtime.block_on(members(Bytes::copy_from_slice(&bytes)));
            prop_assert_eq!(found.ok(), Members::read(&bytes).ok().flatten());
        }

        #[test]
        fn any_bytes_are_a_collection_or_an_error(bytes in sent()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            if let Ok(found) = runtime.block_on(replacement(Bytes::copy_from_slice(&bytes))) {
                let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
                let sent = json.as_array().or_else(|| json["_embedded"]["cashprogram"].as_array()).unwrap();
                prop_assert_eq!(found.elements.len(), sent.len(), "none is lost");
                for ((pointer, element), sent) in found.elements.iter().zip(sent) {
                    prop_assert_eq!(json.pointer(&pointer.to_string()), Some(sent), "the pointer finds it");
                    prop_assert_eq!(element.is_some(), sent.is_object());
                }
            }
        }
    }
}
