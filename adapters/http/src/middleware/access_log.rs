//! The access log: a line per request.
//!
//! A separate thread writes from a bounded queue. When it is full, lines are dropped and counted,
//! so a slow reader never delays requests. A line omits the query, which may hold personal data,
//! and all headers except the request id.

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

const QUEUE: usize = 16_384;

pub struct AccessLog {
    /// False for the Common Log Format, followed by the duration in seconds and the request id.
    is_json: bool,
    lines: NonBlocking,
    dropped: ErrorCounter,
    clock: Arc<dyn Clock>,
    trusted: Vec<IpNet>,
}

/// On drop, waits up to a second for the remaining lines.
#[derive(Debug)]
pub struct AccessLogWriter(#[expect(dead_code, reason = "it is dropped")] WorkerGuard);

impl AccessLog {
    pub fn start(
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

/// Writes its line on drop, with or without a response.
pub struct LoggedRequest {
    log: Arc<AccessLog>,
    time: Timestamp,
    began: Instant,
    request_id: HeaderValue,
    trace: Option<TraceId>,
    address: Option<IpAddr>,
    method: Method,
    path: String,
    version: Version,
    routed: Arc<Routed>,
    /// `None` if the client disconnected.
    pub status: Option<StatusCode>,
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
            // Without quotes, a space would end the field.
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

/// Escapes like Apache's HTTP server, so that text cannot end a field or a line.
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
        // The queue counts the lines that do not fit.
        let _ = self.log.lines.clone().write_all(self.line().as_bytes());
    }
}
