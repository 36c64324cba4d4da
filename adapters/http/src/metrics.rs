//! The metrics of this adapter, by the names of OpenTelemetry's conventions where they have one.
//!
//! Every series is of a path that is mounted, a method that HTTP has and a class of status: clients make none.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use application::metrics::{
    BYTES, Collector, Counter, Gauge, Histogram, Instrumented, Reading, SECONDS, SHORT_SECONDS,
    TraceId,
};
use poem::http::{Method, StatusCode};

application::metrics! {
    DURATION = histogram(
        "http_server_request_duration_seconds",
        "Time from the head of a request to the head of its response, by path, method and class of status; paths that are none have an empty route",
        SECONDS,
    );
    RESPONSES = counter("http_server_responses", "Responses, by status: those of all paths");
    ACTIVE = gauge("http_server_active_requests", "Requests that are being answered");
    CANCELLED = counter(
        "http_server_cancelled_requests",
        "Requests whose client went away before the response began",
    );
    REQUEST_BYTES = histogram(
        "http_server_request_body_size_bytes",
        "Bodies of requests that say their length",
        BYTES,
    );
    RESPONSE_BYTES = histogram(
        "http_server_response_body_size_bytes",
        "Bodies of responses whose length is known when they begin, as they are sent",
        BYTES,
    );
    CONNECTIONS = gauge("proposal_service_connections", "Connections of clients that are open");
    ACCEPTED = counter("proposal_service_connections_accepted", "Connections that were accepted");
    OVER_LIMIT = counter(
        "proposal_service_connections_over_limit",
        "Connections beyond --max-connections: they wait for another to end, or are refused",
    );
    /// Open streams of changes.
    pub LISTENERS = gauge("proposal_service_stream_listeners", "Streams of changes that are open");
    /// Streams that may be open.
    pub MOST_LISTENERS = gauge(
        "proposal_service_stream_listeners_limit",
        "Streams of changes that may be open",
    );
    /// The lag of the slowest stream.
    pub FEED_LAG = gauge(
        "proposal_service_stream_lag_changes",
        "Changes in memory that the slowest stream has still to be sent",
    );
    CUT_OFF = counter(
        "proposal_service_streams_cut_off",
        "Streams of changes that the service ended before their time, by reason",
    );
    /// Memory of a budget.
    pub MEMORY = gauge(
        "proposal_service_memory_budget_bytes",
        "Memory that requests may reserve, by budget: what is reserved now, and what is free",
    );
    /// Waits for memory.
    pub MEMORY_WAIT = histogram(
        "proposal_service_memory_wait_seconds",
        "Time that requests waited for memory, by budget",
        SHORT_SECONDS,
    );
    /// Refusals for want of memory.
    pub MEMORY_REFUSED = counter(
        "proposal_service_memory_refused",
        "Requests that were refused because a memory budget stayed used up, by budget",
    );
    /// Lines that the access log lacks.
    pub ACCESS_LOG_DROPPED = counter(
        "proposal_service_access_log_dropped_lines",
        "Lines of the access log that were dropped because its reader is too slow",
    );
}

/// Statuses that are shown from the start, so that the first of each is an increase.
const SHOWN: [u16; 19] =
    [200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 428, 429, 500, 503];

/// The lowest and the highest status.
const STATUSES: std::ops::Range<u16> = 100..600;

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Methods that any path is asked for with; all others are `_OTHER`, as in OpenTelemetry's conventions.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

const OTHER: &str = "_OTHER";

/// Returns the name of a method, as labels and attributes have it.
pub fn method_name(method: &Method) -> &str {
    if METHODS.contains(method) { method.as_str() } else { OTHER }
}

/// Reasons why a stream is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// The client reads too slowly.
    TooSlow,
    /// The credentials ended.
    Credentials,
    /// The store has another history.
    AnotherHistory,
}

const CUT_OFFS: [(CutOff, &str); 3] = [
    (CutOff::TooSlow, "too_slow"),
    (CutOff::Credentials, "credentials"),
    (CutOff::AnotherHistory, "another_history"),
];

/// The metrics of a service.
pub struct HttpMetrics {
    statuses: Vec<Counter>,
    active: Arc<Gauge>,
    cancelled: Counter,
    request_bytes: Histogram,
    response_bytes: Histogram,
    /// Open connections.
    pub connections: Arc<Gauge>,
    /// Accepted connections.
    pub accepted: Counter,
    /// Connections beyond the limit.
    pub over_limit: Counter,
    cut_off: [Counter; CUT_OFFS.len()],
    unrouted: Arc<RouteMetrics>,
    parts: Mutex<Vec<Arc<dyn Instrumented>>>,
}

impl std::fmt::Debug for HttpMetrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpMetrics").finish_non_exhaustive()
    }
}

impl Default for HttpMetrics {
    fn default() -> Self {
        let metrics = Self {
            statuses: STATUSES.map(|_| Counter::default()).collect(),
            active: Arc::default(),
            cancelled: Counter::default(),
            request_bytes: Histogram::default(),
            response_bytes: Histogram::default(),
            connections: Arc::default(),
            accepted: Counter::default(),
            over_limit: Counter::default(),
            cut_off: <[Counter; CUT_OFFS.len()]>::default(),
            unrouted: Arc::new(RouteMetrics::new("")),
            parts: Mutex::default(),
        };
        metrics.add(Arc::<RouteMetrics>::clone(&metrics.unrouted));
        metrics
    }
}

impl HttpMetrics {
    /// Adds those of a part.
    pub fn add(&self, part: Arc<dyn Instrumented>) {
        self.parts.lock().push(part);
    }

    /// Makes those of a path, as it is mounted.
    pub fn route(&self, path: &str) -> Arc<RouteMetrics> {
        let route = Arc::new(RouteMetrics::new(path));
        self.add(Arc::<RouteMetrics>::clone(&route));
        route
    }

    /// Counts a stream that was cut off.
    pub fn cut_off(&self, reason: CutOff) {
        let counter = CUT_OFFS.iter().position(|(known, _)| *known == reason);
        if let Some(counter) = counter.and_then(|index| self.cut_off.get(index)) {
            counter.increment();
        }
    }

    /// Returns whether anybody looks at the metrics.
    pub fn is_collected(&self) -> bool {
        self.request_bytes.is_attached()
    }

    /// Begins a request.
    pub fn begin(self: &Arc<Self>, request_bytes: Option<usize>) -> ActiveRequest {
        if let Some(bytes) = request_bytes {
            self.request_bytes.record_count(bytes);
        }
        let entered = self.active.enter();
        ActiveRequest { metrics: Arc::clone(self), is_answered: false, _entered: entered }
    }
}

/// A request that is being answered. Dropped before, it counts as cancelled.
pub struct ActiveRequest {
    metrics: Arc<HttpMetrics>,
    is_answered: bool,
    _entered: application::metrics::Entered,
}

/// The facts of a response.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// The path; none for what is no path.
    pub route: Option<&'a RouteMetrics>,
    /// The method of the request.
    pub method: &'a Method,
    /// The status.
    pub status: StatusCode,
    /// How long it took.
    pub time: Duration,
    /// The size of the body, if it is known.
    pub bytes: Option<u64>,
    /// The trace that the request belongs to.
    pub trace: Option<TraceId>,
}

impl ActiveRequest {
    /// Counts the response.
    pub fn answered(mut self, answer: Answer<'_>) {
        self.is_answered = true;
        let status = answer.status.as_u16();
        let metrics = &*self.metrics;
        if let Some(counter) =
            metrics.statuses.get(usize::from(status.saturating_sub(STATUSES.start)))
        {
            counter.increment();
        }
        let route = answer.route.unwrap_or(&metrics.unrouted);
        if let Some(histogram) = route.histogram(answer.method, status) {
            histogram.record_traced(answer.time.as_secs_f64(), answer.trace);
        }
        if let Some(bytes) = answer.bytes {
            metrics.response_bytes.record_count(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if !self.is_answered {
            self.metrics.cancelled.increment();
        }
    }
}

impl Instrumented for HttpMetrics {
    fn collect(&self, collector: &mut dyn Collector) {
        for (status, counter) in STATUSES.zip(&self.statuses) {
            if counter.count() > 0 || SHOWN.contains(&status) {
                let labels = [("http_response_status_code", &*status.to_string())];
                collector.take(&RESPONSES, &labels, counter.read());
            }
        }
        collector.take(&ACTIVE, &[], self.active.read());
        collector.take(&CANCELLED, &[], self.cancelled.read());
        collector.take(&REQUEST_BYTES, &[], Reading::Histogram(&self.request_bytes));
        collector.take(&RESPONSE_BYTES, &[], Reading::Histogram(&self.response_bytes));
        collector.take(&CONNECTIONS, &[], self.connections.read());
        collector.take(&ACCEPTED, &[], self.accepted.read());
        collector.take(&OVER_LIMIT, &[], self.over_limit.read());
        for ((_, reason), counter) in CUT_OFFS.iter().zip(&self.cut_off) {
            collector.take(&CUT_OFF, &[("reason", reason)], counter.read());
        }
        let parts = self.parts.lock();
        parts.iter().for_each(|part| part.collect(collector));
    }
}

/// The metrics of one path.
#[derive(Debug)]
pub struct RouteMetrics {
    /// The path with its parameters in braces.
    route: String,
    /// By method, then by class of status.
    histograms: [[Histogram; CLASSES.len()]; METHODS.len() + 1],
}

impl RouteMetrics {
    fn new(path: &str) -> Self {
        Self { route: template(path), histograms: Default::default() }
    }

    /// Returns the path with its parameters in braces; empty for what is no path.
    pub fn route(&self) -> &str {
        &self.route
    }

    fn histogram(&self, method: &Method, status: u16) -> Option<&Histogram> {
        let method = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        self.histograms.get(method)?.get(usize::from(status / 100).checked_sub(1)?)
    }
}

impl Instrumented for RouteMetrics {
    fn collect(&self, collector: &mut dyn Collector) {
        let names = METHODS.iter().map(Method::as_str).chain([OTHER]);
        for (method, classes) in names.zip(&self.histograms) {
            for (class, histogram) in CLASSES.iter().zip(classes) {
                let labels = [
                    ("http_request_method", method),
                    ("http_response_status_class", *class),
                    ("http_route", self.route.as_str()),
                ];
                collector.take(&DURATION, &labels, Reading::HistogramIfUsed(histogram));
            }
        }
    }
}

/// Writes a path as OpenAPI does: `/v1/status/:id` is `/v1/status/{id}`.
fn template(path: &str) -> String {
    let part = |part: &str| match part.strip_prefix([':', '*']) {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn a_route_is_a_template() {
        for (path, expected) in [
            ("/", "/"),
            ("/v1/proposals", "/v1/proposals"),
            ("/v1/proposals/:proposal_id/lib", "/v1/proposals/{proposal_id}/lib"),
            ("/assets/*file", "/assets/{file}"),
            ("", ""),
        ] {
            assert_eq!(template(path), expected);
        }
    }
}
