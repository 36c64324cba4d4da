//! `/v1/changes/stream`: live changes as server-sent events (WHATWG HTML, section 9.2) with
//! `CloudEvents` 1.0 as data.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use application::{Caller, CallerNames, SeenChange, Sequence};
use bytes::Bytes;
use domain::Collection;
use futures_util::{StreamExt as _, stream};
use poem::http::header::CACHE_CONTROL;
use poem::http::{HeaderMap, HeaderName, HeaderValue};
use poem::web::sse::Event;
use poem::{Body, Request, Response};
use poem_openapi::types::ToJSON;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until};

use crate::endpoints::change_feed::{ChangeFeed, Listener, require_own};
use crate::endpoints::in_time;
use crate::endpoints::resources::HttpContext;
use crate::groups::GroupSpec;
use crate::hal::{self, Change};
use crate::headers::media_type::MediaType;
use crate::headers::sole::{Malformed, parsed};
use crate::links::CHANGES;
use crate::metrics::{ANOTHER_HISTORY, CREDENTIALS, HttpMetrics, TOO_SLOW};
use crate::problem::{Problem, Result};
use crate::query::change_cursor::{ChangeCursor, HistoryHash};
use crate::query::{ChangesQuery, change_cursor, invalid, query_of};
use crate::request::caller::{Credentials, caller_of};
use crate::time::TIME;

/// The interval of comments, which keep the connection alive in proxies.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The interval of credential checks.
const LOOK: Duration = Duration::from_secs(1);

/// The client's reconnection delay, in milliseconds.
const RETRY: u64 = 2_000;

const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Disables buffering in nginx.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

#[derive(Clone)]
pub struct ChangeStream {
    pub feed: ChangeFeed,
    pub context: Arc<HttpContext>,
    pub permits: Arc<Semaphore>,
    /// The client reconnects after this time.
    pub max_age: Duration,
    pub metrics: Arc<HttpMetrics>,
}

pub struct Listeners {
    feed: ChangeFeed,
    permits: Arc<Semaphore>,
    most: u32,
}

impl fmt::Debug for Listeners {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listeners").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Collector for Listeners {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let most = self.most as usize;
        let mut write = |name: &str, help: &str, number: usize| {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&number)
        };
        let open = most.saturating_sub(self.permits.available_permits());
        write("proposal_service_stream_listeners", "Open change streams.", open)?;
        let help = "Maximum number of open change streams.";
        write("proposal_service_stream_listeners_limit", help, most)?;
        let help = "Changes in memory that are still to be sent to the slowest stream.";
        write("proposal_service_stream_lag_changes", help, self.feed.lag())
    }
}

struct Streaming {
    stream: ChangeStream,
    listener: Listener,
    history: HistoryHash,
    collection: Option<Collection>,
    ends: Instant,
    credentials: Option<(Caller, Credentials)>,
    next_look: Instant,
    _permit: OwnedSemaphorePermit,
}

impl ChangeStream {
    pub fn listeners(&self, most: u32) -> Listeners {
        Listeners { feed: self.feed.clone(), permits: Arc::clone(&self.permits), most }
    }

    pub async fn answer(self, request: Request) -> Result<Response> {
        let collection = ChangesQuery::group(query_of(&request))?;
        let after = last_event(request.headers())?;
        let history = HistoryHash::of(&self.context.log.history());
        require_own(after, history)?;
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return Err(Problem::unavailable("The limit of open change streams is reached."));
        };
        let caller = caller_of(&request).clone();
        let credentials = caller.principal().and_then(|_| Credentials::of(&request));
        let listening = self.feed.listen(caller.clone(), after.map(|after| after.sequence));
        let listening = in_time(self.context.time_limit, listening).await;
        // After a failover the position is invalid.
        require_own(after, HistoryHash::of(&self.context.log.history()))?;
        let streaming = Streaming {
            stream: self.clone(),
            listener: listening?,
            history,
            collection,
            ends: Instant::now() + self.max_age,
            credentials: credentials.map(|credentials| (caller, credentials)),
            next_look: Instant::now() + LOOK,
            _permit: permit,
        };
        // An event with an id only, so that a client can resume before its first change.
        let begin = Event::message("").id(streaming.cursor(streaming.listener.position));
        let first = [Event::retry(RETRY), begin].map(|event| Ok::<_, io::Error>(encoded(&event)));
        let changes = stream::unfold(streaming, |mut streaming| async {
            let event = streaming.next().await?;
            Some((Ok(event), streaming))
        });
        let events = stream::iter(first).chain(changes);
        // Proxies must not cache or buffer the stream.
        Ok(Response::builder()
            .content_type(MediaType::EVENT_STREAM.name())
            .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .header(BUFFERING, HeaderValue::from_static("no"))
            .body(Body::from_bytes_stream(events)))
    }
}

impl Streaming {
    /// `None` when the client must reconnect.
    async fn next(&mut self) -> Option<Bytes> {
        let mut heartbeat = pin!(sleep(HEARTBEAT));
        loop {
            let change = tokio::select! {
                // The order matters: the end and the credential check precede changes.
                biased;
                () = sleep_until(self.ends) => return None,
                () = sleep_until(self.next_look), if self.credentials.is_some() => {
                    if !self.may_continue().await {
                        self.stream.metrics.cut_off(CREDENTIALS);
                        return None;
                    }
                    continue;
                }
                change = self.listener.next() => change,
                () = heartbeat.as_mut() => return Some(Bytes::from_static(b":\n\n")),
            };
            match change {
                // The store lost changes that were sent. The client gets the error when it
                // reconnects.
                Ok(_) if HistoryHash::of(&self.stream.context.log.history()) != self.history => {
                    self.stream.metrics.cut_off(ANOTHER_HISTORY);
                    return None;
                }
                Ok(seen) if self.collection.is_none_or(|only| only == seen.change.collection) => {
                    return Some(encoded(&self.represent(&seen)));
                }
                Ok(_) => {}
                Err(ended) => {
                    tracing::info!(?ended, "a change stream was closed early");
                    self.stream.metrics.cut_off(TOO_SLOW);
                    return None;
                }
            }
        }
    }

    async fn may_continue(&mut self) -> bool {
        self.next_look = Instant::now() + LOOK;
        let Some((caller, credentials)) = &self.credentials else { return true };
        let may_continue = self.stream.context.gate.is_still(caller, credentials).await;
        if !may_continue {
            tracing::debug!("a change stream ended because its credentials expired");
        }
        may_continue
    }

    fn cursor(&self, sequence: Sequence) -> String {
        change_cursor::write(ChangeCursor { history: self.history, sequence })
    }

    fn represent(&self, seen: &SeenChange) -> Event {
        // No names: a lookup per listener costs too much.
        let base_url = &self.stream.context.base_url;
        let data = Change::of((seen, &CallerNames::new()), self.history, base_url).to_json();
        let change = &seen.change;
        let id = self.cursor(change.sequence);
        let mut event = json!({
            "specversion": "1.0",
            "id": id,
            "source": format!("{base_url}{CHANGES}"),
            "type": format!("research-proposal-service.item.{}", hal::kind_of(seen)),
            "subject": format!("{}/{}", GroupSpec::of(change.collection).path, change.item),
            "datacontenttype": "application/json",
            "data": data,
        });
        if !seen.is_withdrawn {
            event["time"] = TIME.timestamp_to_string(&change.time).into();
        }
        Event::message(event.to_string()).id(id)
    }
}

fn encoded(event: &Event) -> Bytes {
    event.to_string().into()
}

fn last_event(headers: &HeaderMap) -> Result<Option<ChangeCursor>> {
    parsed(headers, LAST_EVENT_ID, change_cursor::read).map_err(|Malformed| {
        invalid(
            "Last-Event-ID is not the `id` of an event of this service. Omit it to receive only new events.",
        )
    })
}
