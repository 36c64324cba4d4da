//! `/v1/changes/stream`: the changes as they happen, as server-sent events (WHATWG HTML, section
//! 9.2) with `CloudEvents` 1.0 as their data.

use std::sync::Arc;
use std::time::Duration;

use application::{Caller, LoggedChange, Sequence};
use domain::Collection;
use futures_util::stream;
use poem::http::header::CACHE_CONTROL;
use poem::http::{HeaderMap, HeaderName, HeaderValue};
use poem::web::sse::{Event, SSE};
use poem::{Endpoint, IntoResponse, Request, Response, Result};
use poem_openapi::types::ToJSON;
use serde_json::json;
use tokio::sync::watch;

use crate::base_url::BaseUrl;
use crate::endpoints::change_feed::{ChangeFeed, Listener};
use crate::groups::GroupSpec;
use crate::hal::Change;
use crate::links::CHANGES;
use crate::problem::Problem;
use crate::query::{ChangesQuery, change_cursor, invalid};
use crate::time::TIME;

/// The interval between comments, which show proxies that the connection is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a client waits before it connects again.
const RETRY: u64 = 2_000;

/// The header in which a client that reconnects names the last event it received.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Serves the changes as they happen.
#[derive(Clone)]
pub struct ChangeStream {
    pub feed: ChangeFeed,
    pub base_url: Arc<BaseUrl>,
    /// True when the service stops: streams end then.
    pub stopping: watch::Receiver<bool>,
}

/// The state of one stream.
struct Streaming {
    listener: Listener,
    collection: Option<Collection>,
    source: ChangeStream,
    /// The number of the current event; the first two are no changes.
    event: u8,
}

impl Endpoint for ChangeStream {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let collection = ChangesQuery::group(request.uri().query().unwrap_or_default())?;
        let after = last_event(request.headers())?;
        let listener = self.feed.listen(Caller::Anonymous, after).await.map_err(Problem::from)?;
        let streaming = Streaming { listener, collection, source: self.clone(), event: 0 };
        let events = stream::unfold(streaming, |mut streaming| async {
            let event = streaming.next().await?;
            Some((event, streaming))
        });
        let mut response = SSE::new(events).keep_alive(HEARTBEAT).into_response();
        // No proxy may cache or buffer the stream.
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        Ok(response)
    }
}

impl Streaming {
    /// The next event; `None` when the client is to connect again.
    async fn next(&mut self) -> Option<Event> {
        self.event = self.event.saturating_add(1);
        match self.event {
            1 => return Some(Event::retry(RETRY)),
            // An id without data: a client that is cut off before the first change resumes here.
            2 => return Some(Event::message("").id(change_cursor::write(self.listener.sent()))),
            _ => {}
        }
        loop {
            let change = tokio::select! {
                change = self.listener.next() => change,
                _ = self.source.stopping.wait_for(|is_stopping| *is_stopping) => return None,
            };
            match change {
                Ok(change) if self.collection.is_none_or(|only| only == change.collection) => {
                    return Some(self.represent(&change));
                }
                Ok(_) => {}
                Err(ended) => {
                    tracing::info!(?ended, "a stream of changes was cut off");
                    return None;
                }
            }
        }
    }

    fn represent(&self, change: &LoggedChange) -> Event {
        let data = Change::of(change, &self.source.base_url).to_json();
        let id = change_cursor::write(change.sequence);
        let event = json!({
            "specversion": "1.0",
            "id": id,
            "source": format!("{}{CHANGES}", self.source.base_url),
            "type": format!("research-proposal-service.item.{}", change.kind.change_name()),
            "subject": format!("{}/{}", GroupSpec::of(change.collection).path, change.item),
            "time": TIME.timestamp_to_string(&change.time),
            "datacontenttype": "application/json",
            "data": data,
        });
        Event::message(event.to_string()).id(id)
    }
}

/// The last change that a client received before it reconnected.
fn last_event(headers: &HeaderMap) -> Result<Option<Sequence>, Problem> {
    let mut lines = headers.get_all(LAST_EVENT_ID).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let cursor =
        line.to_str().ok().filter(|_| lines.next().is_none()).and_then(change_cursor::read);
    cursor.map(Some).ok_or_else(|| invalid("Last-Event-ID is no `id` of an event that this service sent; leave it out to begin now."))
}
