//! The metrics of this adapter, named by the conventions of OpenTelemetry if they have a name.
//!
//! Labels are mounted paths, known methods and status classes: clients cannot create series.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use application::traces::TraceId;
use poem::http::{Method, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::headers::METHODS;

/// The registry of the process: every adapter registers its metrics here.
pub type SharedRegistry = Arc<Mutex<Registry>>;

/// Buckets in seconds: those of OpenTelemetry, and shorter ones.
const SECONDS: [f64; 17] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0,
    7.5, 10.0,
];

const BYTES: [f64; 8] =
    [256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 8_388_608.0];

/// Statuses with a series from the start, so that the first response is an increase.
const SHOWN: [u16; 19] =
    [200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 428, 429, 500, 503];

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Labels unknown methods `_OTHER`, as OpenTelemetry does.
pub fn method_name(method: &Method) -> &'static str {
    METHODS.into_iter().find(|known| method == known).unwrap_or("_OTHER")
}

pub const TOO_SLOW: &str = "too_slow";
pub const CREDENTIALS: &str = "credentials";
pub const ANOTHER_HISTORY: &str = "another_history";

#[expect(clippy::struct_field_names, reason = "the names of the labels")]
#[derive(Clone, Debug, Eq, Hash, PartialEq, EncodeLabelSet)]
struct RequestLabels {
    http_request_method: &'static str,
    http_response_status_class: &'static str,
    http_route: Option<Arc<str>>,
}

type TracedHistogram = HistogramWithExemplars<[(&'static str, String); 1]>;

#[derive(Debug)]
pub struct HttpMetrics {
    registry: Option<SharedRegistry>,
    durations: Family<RequestLabels, TracedHistogram, fn() -> TracedHistogram>,
    responses: Family<[(&'static str, u16); 1], Counter>,
    active: Gauge,
    cancelled: Counter,
    request_bytes: Histogram,
    response_bytes: Histogram,
    pub connections: Gauge,
    accepted: Counter,
    pub over_limit: Counter,
    cut_off: Family<[(&'static str, &'static str); 1], Counter>,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        Self::new(None)
    }
}

impl HttpMetrics {
    pub fn new(registry: Option<SharedRegistry>) -> Self {
        let metrics = Self {
            registry,
            durations: Family::new_with_constructor(|| {
                HistogramWithExemplars::new(SECONDS.into_iter())
            }),
            responses: Family::default(),
            active: Gauge::default(),
            cancelled: Counter::default(),
            request_bytes: Histogram::new(BYTES),
            response_bytes: Histogram::new(BYTES),
            connections: Gauge::default(),
            accepted: Counter::default(),
            over_limit: Counter::default(),
            cut_off: Family::default(),
        };
        if let Some(registry) = &metrics.registry {
            metrics.register(&mut registry.lock());
        }
        metrics
    }

    fn register(&self, registry: &mut Registry) {
        for status in SHOWN {
            drop(self.responses.get_or_create(&[("http_response_status_code", status)]));
        }
        let help = "Time from the head of a request to the head of its response, by path, method and class of status; unknown paths have an empty route";
        registry.register("http_server_request_duration_seconds", help, self.durations.clone());
        let help = "Responses of all paths, by status";
        registry.register("http_server_responses", help, self.responses.clone());
        let help = "Requests in progress";
        registry.register("http_server_active_requests", help, self.active.clone());
        let help = "Requests whose client disconnected before the response began";
        registry.register("http_server_cancelled_requests", help, self.cancelled.clone());
        let help = "Request bodies with a known length";
        registry.register("http_server_request_body_size_bytes", help, self.request_bytes.clone());
        let help = "Response bodies with a length known at the start, as sent";
        registry.register(
            "http_server_response_body_size_bytes",
            help,
            self.response_bytes.clone(),
        );
        for reason in [TOO_SLOW, CREDENTIALS, ANOTHER_HISTORY] {
            drop(self.cut_off.get_or_create(&[("reason", reason)]));
        }
        let help = "Open client connections";
        registry.register("proposal_service_connections", help, self.connections.clone());
        let help = "Accepted connections";
        registry.register("proposal_service_connections_accepted", help, self.accepted.clone());
        let help =
            "Connections over --max-connections, which wait for another to end or are refused";
        registry.register("proposal_service_connections_over_limit", help, self.over_limit.clone());
        let help = "Change streams that the service closed early, by reason";
        registry.register("proposal_service_streams_cut_off", help, self.cut_off.clone());
    }

    pub fn add(&self, part: impl Collector) {
        if let Some(registry) = &self.registry {
            registry.lock().register_collector(Box::new(part));
        }
    }

    pub fn cut_off(&self, reason: &'static str) {
        self.cut_off.get_or_create(&[("reason", reason)]).inc();
    }

    pub(crate) const fn is_collected(&self) -> bool {
        self.registry.is_some()
    }

    /// Counts a connection as open until the result is dropped.
    pub(crate) fn accept(&self) -> OpenConnection {
        self.accepted.inc();
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }

    pub(crate) fn begin(self: &Arc<Self>, request_bytes: Option<u64>) -> ActiveRequest {
        if let Some(bytes) = request_bytes {
            self.request_bytes.observe(number(bytes));
        }
        self.active.inc();
        ActiveRequest { metrics: Arc::clone(self), is_answered: false }
    }
}

pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A request in progress. Dropped before its response, it counts as cancelled.
pub struct ActiveRequest {
    metrics: Arc<HttpMetrics>,
    is_answered: bool,
}

#[derive(Clone, Copy)]
pub struct Answer<'a> {
    pub route: Option<&'a Arc<str>>,
    pub method: &'a Method,
    pub status: StatusCode,
    pub time: Duration,
    pub bytes: Option<u64>,
    pub trace: Option<TraceId>,
}

impl ActiveRequest {
    pub fn answered(mut self, answer: Answer<'_>) {
        self.is_answered = true;
        let (metrics, status) = (&*self.metrics, answer.status.as_u16());
        metrics.responses.get_or_create(&[("http_response_status_code", status)]).inc();
        if let Some(class) = CLASSES.get(usize::from(status / 100).wrapping_sub(1)) {
            let labels = RequestLabels {
                http_request_method: method_name(answer.method),
                http_response_status_class: class,
                http_route: answer.route.cloned(),
            };
            let exemplar = answer.trace.map(|trace| [("trace_id", trace.to_string())]);
            let time = answer.time.as_secs_f64();
            metrics.durations.get_or_create(&labels).observe(time, exemplar, None);
        }
        if let Some(bytes) = answer.bytes {
            metrics.response_bytes.observe(number(bytes));
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.metrics.active.dec();
        if !self.is_answered {
            self.metrics.cancelled.inc();
        }
    }
}

fn number(bytes: u64) -> f64 {
    u32::try_from(bytes).unwrap_or(u32::MAX).into()
}

/// Converts to the notation of OpenAPI: `/v1/status/:id` becomes `/v1/status/{id}`.
pub fn template(path: &str) -> String {
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
            assert_eq!(&*template(path), expected);
        }
    }
}
