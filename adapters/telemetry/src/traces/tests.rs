use std::time::Duration;

use application::traces::{RemoteSpan, SpanIds, TARGET, TraceId, Tracer as _};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tracing::info_span;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use super::{HeadTracer, Traces, client};

/// A port without a listener.
const UNREACHABLE: &str = "http://127.0.0.1:9/v1/traces";

#[test]
fn a_share_of_requests_is_sampled() {
    for (share, least, most) in [(0.0, 0, 0), (1.0, 10_000, 10_000), (0.25, 2_000, 3_000)] {
        let tracer = HeadTracer { share };
        let sampled = (0..10_000).filter(|_| tracer.samples()).count();
        assert!((least..=most).contains(&sampled), "{share}: {sampled}");
    }
}

#[test]
fn a_span_continues_the_trace_of_its_caller_and_others_are_disabled() {
    let (opened, layer) = Traces::new(client::exporter(UNREACHABLE).unwrap(), 1.0);
    let tracer = &opened.tracer;
    tracing::subscriber::with_default(registry().with(layer), || {
        let parent = RemoteSpan { trace: TraceId(0xab), span: 0xcd, is_sampled: true };
        for state in ["a=1", "===", "é"] {
            let span = info_span!(target: TARGET, "request");
            let SpanIds { trace, span } = tracer.start(&span, Some(&parent), state);
            assert_eq!(trace, parent.trace);
            assert!(span != 0 && span != parent.span);
        }
        let own = || tracer.start(&info_span!(target: TARGET, "request"), None, "").trace;
        assert!(own() != own() && own() != TraceId(0));
        let others = tracer.start(&info_span!("request"), None, "");
        assert_eq!(others, SpanIds { trace: TraceId(0), span: 0 }, "it is not of a trace");
    });
}

#[tokio::test]
async fn spans_beyond_the_queue_are_dropped_and_the_others_are_counted_as_lost() {
    let (opened, layer) = Traces::new(client::exporter(UNREACHABLE).unwrap(), 1.0);
    tracing::subscriber::with_default(registry().with(layer), || {
        (0..3000).for_each(|_| drop(info_span!(target: TARGET, "work").entered()));
    });
    let mut metrics = Registry::default();
    opened.queue.counts().register(&mut metrics);
    let assert_counts = |lost: u64, failures: u64| {
        let mut text = String::new();
        encode(&mut text, &metrics).unwrap();
        for (series, count) in [
            ("spans_exported_total", 0),
            ("spans_dropped_total{reason=\"queue_full\"}", 952),
            ("spans_dropped_total{reason=\"export_failed\"}", lost),
            ("export_failures_total", failures),
        ] {
            let line = format!("proposal_service_trace_{series} {count}\n");
            assert!(text.contains(&line), "{line} of {text}");
        }
    };
    assert_counts(0, 0);
    opened.queue.start();
    opened.queue.close(Duration::from_secs(20)).await;
    assert_counts(2048, 4);
}
