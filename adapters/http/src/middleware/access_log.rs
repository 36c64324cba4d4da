//! The access log: a line for each request on standard error.
//!
//! A thread of its own writes the lines, from a bounded queue. While it is full, lines are dropped and counted, so that
//! a slow reader of the log keeps no request waiting. A line has neither the query, which may hold personal data, nor
//! any header but the id of the request.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::Clock;
use application::traces::TraceId;
use ipnet::IpNet;
use jiff::Timestamp;
use poem::Request;
use poem::http::{HeaderValue, Method, StatusCode, Version};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use serde_json::json;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

use crate::middleware::rate_limit::client_address;
use crate::request::details::Routed;

/// Lines that may wait to be written.
const QUEUE: usize = 16_384;

/// The access log of a service.
pub struct AccessLog {
    /// True for an object on each line; otherwise lines are in the Common Log Format, followed by the time taken in
    /// seconds and the id of the request.
    is_json: bool,
    lines: NonBlocking,
    dropped: ErrorCounter,
    clock: Arc<dyn Clock>,
    trusted: Vec<IpNet>,
}

/// The thread that writes. Dropped when the service ends, it writes what waits, for up to a second.
#[derive(Debug)]
pub struct AccessLogWriter(#[expect(dead_code, reason = "it is dropped")] WorkerGuard);

impl AccessLog {
    /// Starts the thread that writes, as JSON or as text, to standard error. `trusted` are the proxies that are believed when they name a client's address.
    pub fn start(
        is_json: bool,
        trusted: &[IpNet],
        clock: Arc<dyn Clock>,
    ) -> (Arc<Self>, AccessLogWriter) {
        Self::to(io::stderr(), is_json, trusted, clock)
    }

    fn to(
        output: impl io::Write + Send + 'static,
        is_json: bool,
        trusted: &[IpNet],
        clock: Arc<dyn Clock>,
    ) -> (Arc<Self>, AccessLogWriter) {
        let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE);
        let (lines, writer) = builder.thread_name("access-log").finish(output);
        let (dropped, trusted) = (lines.error_counter(), trusted.to_vec());
        (Arc::new(Self { is_json, lines, dropped, clock, trusted }), AccessLogWriter(writer))
    }

    /// Begins the line of a request, whose caller is known later.
    pub fn begin(
        self: &Arc<Self>,
        request: &Request,
        request_id: &HeaderValue,
        trace: Option<TraceId>,
        routed: Arc<Routed>,
    ) -> LoggedRequest {
        LoggedRequest {
            log: Arc::clone(self),
            time: self.clock.now(),
            began: Instant::now(),
            request_id: request_id.clone(),
            trace,
            address: client_address(request, &self.trusted),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            version: request.version(),
            routed,
            status: None,
            bytes: None,
        }
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessLog").field("is_json", &self.is_json).finish_non_exhaustive()
    }
}

impl Collector for AccessLog {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let name = "proposal_service_access_log_dropped_lines";
        let help = "Lines of the access log that were dropped because its reader is too slow.";
        let family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(self.dropped.dropped_lines() as u64).encode(family)
    }
}

/// A request whose line is written when it is dropped, answered or not.
pub struct LoggedRequest {
    log: Arc<AccessLog>,
    time: Timestamp,
    began: Instant,
    request_id: HeaderValue,
    /// The trace that it is sampled in.
    trace: Option<TraceId>,
    address: Option<IpAddr>,
    method: Method,
    path: String,
    version: Version,
    routed: Arc<Routed>,
    /// The status; none when the client went away.
    pub status: Option<StatusCode>,
    /// The size of the body, if it is known when the response begins.
    pub bytes: Option<u64>,
}

impl LoggedRequest {
    fn caller(&self) -> Option<&str> {
        self.routed.caller.get()?.id()
    }

    fn line(&self) -> String {
        let took = self.began.elapsed();
        if self.log.is_json { self.json(took) } else { self.plain(took) }
    }

    fn json(&self, took: Duration) -> String {
        let line = json!({
            "time": self.time.to_string(),
            "request_id": self.request_id.to_str().ok(),
            "trace_id": self.trace.map(|trace| trace.to_string()),
            "address": self.address.map(|address| address.to_string()),
            "caller": self.caller(),
            "method": self.method.as_str(),
            "path": self.path,
            "status": self.status.map(|status| status.as_u16()),
            "bytes": self.bytes,
            "duration_seconds": took.as_secs_f64(),
        });
        format!("{line}\n")
    }

    fn plain(&self, took: Duration) -> String {
        let known = |known: Option<String>| known.unwrap_or_else(|| "-".to_owned());
        let request = format!("{} {} {:?}", self.method, self.path, self.version);
        let bytes = self.bytes.filter(|bytes| *bytes > 0);
        format!(
            "{} - {} [{}] \"{}\" {} {} {:.6} {}\n",
            known(self.address.map(|address| address.to_string())),
            // Not in quotes: a space would end it.
            known(self.caller().map(|caller| escaped(caller).replace(' ', "\\x20"))),
            self.time.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            escaped(&request),
            known(self.status.map(|status| status.as_u16().to_string())),
            known(bytes.map(|bytes| bytes.to_string())),
            took.as_secs_f64(),
            self.request_id.to_str().unwrap_or("-"),
        )
    }
}

/// Escapes a string as Apache's HTTP server does in its logs, so that nothing in it ends a field or a line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => escaped.extend(['\\', char::from(byte)]),
            0x08 => escaped.push_str("\\b"),
            b'\n' => escaped.push_str("\\n"),
            b'\r' => escaped.push_str("\\r"),
            b'\t' => escaped.push_str("\\t"),
            0x0b => escaped.push_str("\\v"),
            b' '..=b'~' => escaped.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(escaped, "\\x{byte:02x}")),
        }
    }
    escaped
}

impl Drop for LoggedRequest {
    fn drop(&mut self) {
        // A line for which there is no room is counted by the queue.
        let _ = self.log.lines.clone().write_all(self.line().as_bytes());
    }
}
