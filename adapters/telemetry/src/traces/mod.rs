//! Traces: spans of sampled requests, sent to an OpenTelemetry collector by OTLP over HTTP.
//!
//! [`queue`] buffers and sends finished spans. It drops and counts those that do not fit. The layer
//! exports only spans of the target [`TARGET`]. The subscriber is global, and so are the traces:
//! call [`open`] once, before the subscriber is set.

mod client;
mod queue;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use application::traces::{RemoteSpan, SpanIds, TARGET, TraceId, Tracer};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceState, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use prometheus_client::registry::Registry;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;

use queue::Queue;

pub type TraceLayer = Box<dyn Layer<tracing_subscriber::Registry> + Send + Sync>;

/// Maximum time to flush spans at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum links of a span: the largest group commit.
const MOST_LINKS: u32 = 256;

/// Default, which `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` replaces.
const SERVICE_NAME: &str = "proposal-service";

static TRACES: OnceLock<Traces> = OnceLock::new();

struct Traces {
    tracer: Arc<HeadTracer>,
    queue: Queue,
    _provider: SdkTracerProvider,
}

/// Opens the traces of the process. `share` is the sampled fraction, from 0 to 1. Sending starts
/// with [`tracer`]. The error does not repeat the URL.
pub fn open(url: &str, share: f64) -> Result<TraceLayer, String> {
    let (traces, layer) = Traces::new(client::exporter(url)?, share);
    TRACES.set(traces).map_err(|_| "traces were opened before".to_owned())?;
    Ok(layer)
}

/// Starts the sender, if traces are open. MUST be called within the runtime that sends.
pub fn tracer() -> Option<Arc<dyn Tracer>> {
    let traces = TRACES.get()?;
    traces.queue.start();
    Some(Arc::<HeadTracer>::clone(&traces.tracer))
}

pub async fn close() {
    if let Some(traces) = TRACES.get() {
        traces.queue.close(FLUSH_TIMEOUT).await;
    }
}

/// Registers the metrics of the traces, which are 0 without an endpoint.
pub fn register(registry: &mut Registry) {
    let counts = TRACES.get().map(|traces| Arc::clone(traces.queue.counts()));
    counts.unwrap_or_default().register(registry);
}

impl Traces {
    fn new(mut exporter: SpanExporter, share: f64) -> (Self, TraceLayer) {
        let resource = resource();
        opentelemetry_sdk::trace::SpanExporter::set_resource(&mut exporter, &resource);
        let (queue, processor) = Queue::new(exporter);
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            // The head sampler has already decided.
            .with_sampler(Sampler::AlwaysOn)
            .with_max_links_per_span(MOST_LINKS)
            .with_resource(resource)
            .build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(SERVICE_NAME))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|about| about.is_span() && about.target() == TARGET));
        let tracer = Arc::new(HeadTracer { share });
        (Self { tracer, queue, _provider: provider }, Box::new(layer))
    }
}

fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    // The environment overrides the built-in attributes.
    let given = Resource::builder().build();
    let name = given
        .get(&"service.name".into())
        .filter(|name| !name.as_str().starts_with("unknown_service"));
    let name = name.map_or_else(|| SERVICE_NAME.into(), |name| name.to_string());
    Resource::builder().with_attribute(version).with_service_name(name).build()
}

#[derive(Debug)]
struct HeadTracer {
    share: f64,
}

impl Tracer for HeadTracer {
    fn samples(&self) -> bool {
        fastrand::f64() < self.share
    }

    fn start(&self, span: &Span, parent: Option<&RemoteSpan>, state: &str) -> SpanIds {
        if let Some(RemoteSpan { trace: TraceId(trace), span: id, .. }) = parent {
            let state = state.parse().unwrap_or(TraceState::NONE);
            let (trace, id) = ((*trace).into(), SpanId::from(*id));
            let caller = SpanContext::new(trace, id, TraceFlags::SAMPLED, true, state);
            // Cannot fail: the span is not started and has a traced target.
            let _ = span.set_parent(Context::new().with_remote_span_context(caller));
        }
        let context = span.context();
        let context = context.span().span_context().clone();
        let number = |bytes: [u8; 16]| u128::from_be_bytes(bytes);
        SpanIds {
            trace: TraceId(number(context.trace_id().to_bytes())),
            span: u64::from_be_bytes(context.span_id().to_bytes()),
        }
    }

    fn rename(&self, span: &Span, name: String) {
        span.context().span().update_name(name);
    }
}

#[cfg(test)]
mod tests;
