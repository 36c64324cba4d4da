//! Queue of finished spans. The producer never waits: spans that do not fit are dropped and
//! counted.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter as _, SpanProcessor};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const QUEUE_FULL: &str = "queue_full";
const EXPORT_FAILED: &str = "export_failed";

const QUEUE: usize = 2048;

const BATCH: usize = 512;

/// Maximum delay of a span for batching.
const DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Counts {
    exported: Counter,
    dropped: Family<[(&'static str, &'static str); 1], Counter>,
    failures: Counter,
}

impl Counts {
    pub fn register(&self, registry: &mut Registry) {
        for reason in [QUEUE_FULL, EXPORT_FAILED] {
            drop(self.dropped.get_or_create(&[("reason", reason)]));
        }
        let help = "Spans accepted by the trace collector";
        registry.register("proposal_service_trace_spans_exported", help, self.exported.clone());
        let help = "Lost spans: `queue_full` if the queue was full, `export_failed` if the collector did not accept the batch";
        registry.register("proposal_service_trace_spans_dropped", help, self.dropped.clone());
        let help = "Batches of spans that the trace collector did not accept";
        registry.register("proposal_service_trace_export_failures", help, self.failures.clone());
    }

    fn drop_spans(&self, reason: &'static str, spans: u64) {
        self.dropped.get_or_create(&[("reason", reason)]).inc_by(spans);
    }
}

#[derive(Debug)]
pub struct Finished {
    spans: mpsc::Sender<SpanData>,
    counts: Arc<Counts>,
}

impl SpanProcessor for Finished {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.spans.try_send(span).is_err() {
            self.counts.drop_spans(QUEUE_FULL, 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

pub struct Queue {
    counts: Arc<Counts>,
    closing: Arc<Notify>,
    sending: Mutex<Sending>,
}

enum Sending {
    NotYet(Box<Sender>),
    Now(JoinHandle<()>),
    NoMore,
}

impl Queue {
    pub fn new(exporter: SpanExporter) -> (Self, Finished) {
        let (counts, closing) = (Arc::<Counts>::default(), Arc::<Notify>::default());
        let (spans, finished) = mpsc::channel(QUEUE);
        let sender = Sender {
            spans: finished,
            exporter,
            counts: Arc::clone(&counts),
            closing: Arc::clone(&closing),
            is_failing: false,
        };
        let sending = Mutex::new(Sending::NotYet(Box::new(sender)));
        let finished = Finished { spans, counts: Arc::clone(&counts) };
        (Self { counts, closing, sending }, finished)
    }

    pub const fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    pub fn start(&self) {
        let mut sending = self.sending.lock();
        *sending = match std::mem::replace(&mut *sending, Sending::NoMore) {
            Sending::NotYet(sender) => Sending::Now(tokio::spawn(sender.send_all())),
            other => other,
        };
    }

    pub async fn close(&self, time: Duration) {
        let sending = {
            let mut sending = self.sending.lock();
            std::mem::replace(&mut *sending, Sending::NoMore)
        };
        let Sending::Now(mut task) = sending else { return };
        self.closing.notify_one();
        if timeout(time, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the last spans were not exported within the time limit");
        }
    }
}

struct Sender {
    spans: mpsc::Receiver<SpanData>,
    exporter: SpanExporter,
    counts: Arc<Counts>,
    closing: Arc<Notify>,
    is_failing: bool,
}

impl Sender {
    async fn send_all(mut self: Box<Self>) {
        let closing = Arc::clone(&self.closing);
        loop {
            let mut batch = Vec::with_capacity(BATCH);
            let is_over = tokio::select! {
                () = self.collect(&mut batch) => batch.is_empty(),
                () = closing.notified() => {
                    self.spans.close();
                    false
                }
            };
            if is_over {
                return;
            }
            if !batch.is_empty() {
                self.send(batch).await;
            }
        }
    }

    /// Waits for a span, then collects more for a while. Returns immediately when the queue is
    /// closed.
    async fn collect(&mut self, batch: &mut Vec<SpanData>) {
        self.spans.recv_many(batch, BATCH).await;
        let others = async {
            while (1..BATCH).contains(&batch.len()) {
                let free = BATCH - batch.len();
                if self.spans.recv_many(batch, free).await == 0 {
                    return;
                }
            }
        };
        let _ = timeout(DELAY, others).await;
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let spans = batch.len() as u64;
        match self.exporter.export(batch).await {
            Ok(()) => {
                self.counts.exported.inc_by(spans);
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!("trace export works again");
                }
            }
            Err(error) => {
                self.counts.drop_spans(EXPORT_FAILED, spans);
                self.counts.failures.inc();
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(
                        reason = reason(&error),
                        "trace export failed; spans are dropped and counted"
                    );
                }
            }
        }
    }
}

fn reason(error: &OTelSdkError) -> String {
    match error {
        OTelSdkError::InternalFailure(reason) => reason.clone(),
        error => error.to_string(),
    }
}
