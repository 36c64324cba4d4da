//! Traces, as a collector receives them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::{Value, json};
use tests::{Answer, Request, Service, Store, wait_until};

use super::collector::{Collector, Manner, attributes, hex, named, names};
use super::{Monitored, on_both};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A service that samples this share of requests for a collector.
fn exporting(store: Store, endpoint: &str, share: &str, arguments: &[&str]) -> Monitored {
    let given = ["--otlp-endpoint", endpoint, "--trace-sample", share];
    Monitored::start(store, &[&given[..], arguments].concat())
}

/// Sends a request with a new trace, and returns the trace and the answer.
#[track_caller]
fn send(request: Request, number: u8, status: u16) -> (String, Answer) {
    let trace = format!("{number:032x}");
    let answer = request.header("traceparent", format!("00-{trace}-{PARENT}-01")).send();
    (trace, answer.expect(status))
}

/// The names of spans with the names of their parents.
fn tree(spans: &[Span]) -> Vec<(String, String)> {
    let by_id: BTreeMap<_, _> = spans.iter().map(|span| (&span.span_id, &span.name)).collect();
    let parent = |span: &Span| match by_id.get(&span.parent_span_id) {
        Some(name) => (*name).clone(),
        None => hex(&span.parent_span_id),
    };
    let mut tree: Vec<_> = spans.iter().map(|span| (span.name.clone(), parent(span))).collect();
    tree.sort();
    tree
}

fn expected(tree: &[(&str, &str)]) -> Vec<(String, String)> {
    let spans = tree.iter().map(|(name, parent)| ((*name).to_owned(), (*parent).to_owned()));
    let mut tree: Vec<_> = spans.collect();
    tree.sort();
    tree
}

#[test]
fn requests_are_traced() {
    on_both(|store| {
        let system = if store == Store::Sqlite { "sqlite" } else { "postgresql" };
        let collector = Collector::start(Manner::Take);
        let endpoint = collector.endpoint();
        let logs = ["--access-log", "json", "--log-format", "json"];
        let mut monitored = exporting(store, &endpoint, "0", &logs);
        a_write_is_traced_to_the_commit_of_its_batch(&collector, &monitored, system);
        requests_that_are_not_sampled_are_not_exported(&collector, &monitored);
        logs_and_metrics_name_the_trace_and_the_log_filter_does_not_apply_to_traces(
            &collector, &monitored,
        );
        let path = monitored.service.create("/v1/files", r#"{"a":1}"#).path;
        pending_spans_are_sent_when_the_service_stops(&collector, &mut monitored);
        // A new instance reads the item from the store.
        let given = ["--otlp-endpoint", &endpoint, "--trace-sample", "0"];
        let service = monitored.service.start_another_with(&given);
        reads_are_traced_to_the_operations_of_the_store(&collector, &service, &path, store);
    });
}

fn a_write_is_traced_to_the_commit_of_its_batch(
    collector: &Collector,
    monitored: &Monitored,
    system: &str,
) {
    let body = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;
    let request = monitored.service.post("/v1/proposals?dry_run=false").json(body);
    let (trace, _) = send(request.header("tracestate", "vendor=1"), 1, 201);
    let spans = collector.wait_for(&trace, 4);
    let (request, case) = ("POST /v1/proposals", "Create proposals");
    assert_eq!(
        tree(&spans),
        expected(&[(case, request), (request, PARENT), ("rules", case), ("write queue", case)])
    );
    let span = named(&spans, request);
    assert_eq!((span.kind(), span.trace_state.as_str()), (SpanKind::Server, "vendor=1"));
    let mut found = attributes(&span.attributes);
    let port = monitored.service.address().port();
    assert!(found.remove("request_id").is_some_and(|id| id.as_str().unwrap().len() == 36));
    assert_eq!(
        json!(found),
        json!({
            "http.request.method": "POST",
            "http.response.status_code": 201,
            "http.route": "/v1/proposals",
            "network.protocol.version": "1.1",
            "server.address": "127.0.0.1",
            "server.port": port,
            "url.path": "/v1/proposals",
            "url.scheme": "http",
        })
    );
    assert_eq!(span.status.clone().unwrap_or_default().code(), StatusCode::Unset);
    let wait = named(&spans, "write queue");
    let batch_trace = hex(&wait.links[0].trace_id);
    let batch = collector.wait_for(&batch_trace, 2);
    assert_eq!(tree(&batch), expected(&[("commit", "write batch"), ("write batch", "")]));
    let batch = named(&batch, "write batch");
    assert_eq!(batch.span_id, wait.links[0].span_id);
    assert_eq!(
        (&batch.links[0].trace_id, &batch.links[0].span_id),
        (&wait.trace_id, &wait.span_id)
    );
    let of_batch = attributes(&batch.attributes);
    assert_eq!(
        json!(of_batch),
        json!({"db.system.name": system, "db.operation.name": "write", "db.operation.batch.size": 1})
    );
    assert_eq!(collector.taken().resource["service.name"], "proposal-service");
    assert!(collector.taken().headers.iter().any(|line| line == "post /v1/traces http/1.1"));
    let all = format!("{:?}", collector.spans());
    assert!(!all.contains("dry_run") && !all.contains("Rapid"), "{all}");
}

fn reads_are_traced_to_the_operations_of_the_store(
    collector: &Collector,
    service: &Service,
    path: &str,
    store: Store,
) {
    let (trace, _) = send(service.get(path), 11, 200);
    let (request, case, read) = ("GET /v1/files/{files_id}", "Get files", "read items");
    let spans = collector.wait_for(&trace, 3);
    assert_eq!(tree(&spans), expected(&[(case, request), (request, PARENT), (read, case)]));
    assert_eq!(named(&spans, read).kind(), SpanKind::Client);
    let attributes = attributes(&named(&spans, request).attributes);
    assert_eq!(
        [&attributes["url.path"], &attributes["http.route"]],
        [&json!(path), &json!("/v1/files/{files_id}")]
    );
    let (trace, _) = send(service.get("/v1/files?page_size=100"), 12, 200);
    let (request, case) = ("GET /v1/files", "List files");
    let mut whole = vec![(case, request), (request, PARENT), ("read page", case)];
    if store == Store::Postgres {
        // Another instance may have changed them.
        whole.push(("read totals", case));
    }
    let spans = collector.wait_for(&trace, whole.len());
    assert_eq!(tree(&spans), expected(&whole));
}

fn requests_that_are_not_sampled_are_not_exported(collector: &Collector, monitored: &Monitored) {
    let before = collector.spans().len();
    let item = monitored.service.create("/v1/files", r#"{"a":1}"#);
    for _ in 0..50 {
        monitored.service.get(&item.path).send().expect(200);
    }
    let (trace, _) = send(monitored.service.get("/v1/unknown?a=b"), 7, 404);
    let span = collector.wait_for(&trace, 1).remove(0);
    assert_eq!(
        (span.name.as_str(), span.status.is_none_or(|status| status.code() == StatusCode::Unset)),
        ("GET", true)
    );
    assert_eq!(collector.spans().len(), before + 1);
    let exported = (before + 1).to_string();
    wait_until(|| monitored.series()["proposal_service_trace_spans_exported_total"] == exported);
}

fn logs_and_metrics_name_the_trace_and_the_log_filter_does_not_apply_to_traces(
    collector: &Collector,
    monitored: &Monitored,
) {
    monitored.set_filter("debug");
    let request = monitored.service.get("/v1/files").header("x-request-id", "traced-1");
    let (trace, _) = send(request, 3, 200);
    let line = |needle: &str| -> Option<Value> {
        let log = monitored.service.log();
        let mut lines = log.lines().filter(|line| line.contains("traced-1"));
        serde_json::from_str(lines.find(|line| line.contains(needle))?).ok()
    };
    let [answered, timed] = ["\"answered\"", "duration_seconds"];
    wait_until(|| line(answered).is_some() && line(timed).is_some());
    let event = line(answered).unwrap();
    let is_traced = |trace: &str| names(&collector.spans_of(trace)).contains(&"GET /v1/files");
    wait_until(|| is_traced(&trace));
    let span = hex(&named(&collector.spans_of(&trace), "GET /v1/files").span_id);
    assert_eq!(
        [&event["span"]["trace_id"], &event["span"]["span_id"]],
        [trace.as_str(), &span],
        "{event}"
    );
    assert_eq!(event["spans"].as_array().unwrap().len(), 1, "{event}");
    assert_eq!(line(timed).unwrap()["trace_id"], trace.as_str());
    let exemplar = format!("# {{trace_id=\"{trace}\"}}");
    assert!(monitored.metrics_with_exemplars().contains(&exemplar));
    monitored.set_filter("off");
    let (trace, _) = send(monitored.service.get("/v1/files"), 4, 200);
    wait_until(|| is_traced(&trace));
}

fn pending_spans_are_sent_when_the_service_stops(collector: &Collector, monitored: &mut Monitored) {
    let (trace, _) = send(monitored.service.get("/v1/files"), 9, 200);
    let took = monitored.service.terminate();
    assert!(took < Duration::from_secs(3), "{took:?}");
    let spans = collector.spans_of(&trace);
    assert!(spans.len() >= 2, "{:?}", names(&spans));
}

#[test]
fn failing_collectors_do_not_affect_requests() {
    std::thread::scope(|threads| {
        threads.spawn(every_request_is_sampled);
        threads.spawn(spans_for_a_stalled_collector_stay_bounded);
        threads.spawn(an_endpoint_without_a_collector_does_not_affect_requests);
    });
}

fn every_request_is_sampled() {
    let collector = Collector::start(Manner::Take);
    let monitored = exporting(Store::Sqlite, &collector.endpoint(), "1", &[]);
    a_caller_with_a_trace_decides_and_a_malformed_one_is_ignored(&collector, &monitored);
    a_collector_that_fails_delays_no_request_and_is_logged_once(&collector, &monitored);
}

fn a_caller_with_a_trace_decides_and_a_malformed_one_is_ignored(
    collector: &Collector,
    monitored: &Monitored,
) {
    let trace = |flags: &str| format!("00-{TRACE}-{PARENT}-{flags}");
    let long = format!("{}-{}", trace("01"), "a".repeat(2000));
    let get = |header: &str| {
        monitored.service.get("/v1/files").header("traceparent", header).send().expect(200);
    };
    get(&trace("00"));
    for malformed in ["", "00", &long, &trace("0x"), &trace("01").to_uppercase(), "00-0-0-01"] {
        get(malformed);
    }
    send(monitored.service.get("/v1/files").header("tracestate", "\u{e9}, ===="), 1, 200);
    send(monitored.service.get("/v1/files").header("tracestate", "a".repeat(5000)), 2, 200);
    let none = collector.wait_for(&format!("{:032x}", 1), 2);
    assert!(none.iter().all(|span| span.trace_state.is_empty()));
    collector.wait_for(&format!("{:032x}", 2), 2);
    let spans = collector.spans();
    assert!(spans.iter().all(|span| hex(&span.trace_id) != TRACE), "{:?}", names(&spans));
    let roots =
        spans.iter().filter(|span| span.parent_span_id.is_empty() && span.name == "GET /v1/files");
    assert_eq!(roots.count(), 6, "{:?}", names(&spans));
}

fn a_collector_that_fails_delays_no_request_and_is_logged_once(
    collector: &Collector,
    monitored: &Monitored,
) {
    let manners = [Manner::Refuse(500), Manner::Refuse(503), Manner::Garbage];
    for (number, manner) in (1..).zip(manners) {
        fails(collector, monitored, manner, number);
        recovers(collector, monitored, number);
    }
}

/// Sends requests until exports failed, which is logged as the failure of this number.
#[track_caller]
fn fails(collector: &Collector, monitored: &Monitored, manner: Manner, number: usize) {
    let failures = || -> u64 {
        monitored.series()["proposal_service_trace_export_failures_total"].parse().unwrap()
    };
    collector.set(manner);
    let (lost, before) = (lost(monitored), failures());
    // A timeout takes 5 seconds.
    let expected = before + if manner == Manner::Slow { 1 } else { 2 };
    wait_until(|| {
        get(monitored);
        failures() >= expected
    });
    wait_until_lost(monitored, lost.0 + lost.1 + 2);
    assert_eq!(count(monitored, "trace export failed"), number, "{manner:?}");
}

#[track_caller]
fn recovers(collector: &Collector, monitored: &Monitored, number: usize) {
    let exported = collector.spans().len();
    collector.set(Manner::Take);
    wait_until(|| {
        get(monitored);
        count(monitored, "trace export works again") == number
    });
    assert!(collector.spans().len() > exported);
}

#[track_caller]
fn get(monitored: &Monitored) {
    let began = Instant::now();
    monitored.service.get("/v1/files?page_size=1").send().expect(200);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

fn spans_for_a_stalled_collector_stay_bounded() {
    let collector = Collector::start(Manner::Hang);
    let mut monitored = exporting(Store::Sqlite, &collector.endpoint(), "1", &[]);
    let send = |number: usize| (0..number).for_each(|_| get(&monitored));
    send(1500);
    let before = monitored.service.memory();
    std::thread::scope(|threads| (0..4).for_each(|_| drop(threads.spawn(|| send(1250)))));
    let after = monitored.service.memory();
    assert!(after < before + (24 << 20), "{before} bytes became {after}");
    assert!(wait_until_lost(&monitored, 5_000).0 >= 5_000);
    wait_until(|| count(&monitored, "trace export failed") > 0);
    recovers(&collector, &monitored, 1);
    fails(&collector, &monitored, Manner::Slow, 2);
    recovers(&collector, &monitored, 2);
    collector.set(Manner::Hang);
    get(&monitored);
    let took = monitored.service.terminate();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

fn an_endpoint_without_a_collector_does_not_affect_requests() {
    let endpoint = format!("http://{}", tests::free_address());
    let mut monitored = exporting(Store::Sqlite, &endpoint, "1", &[]);
    monitored.service.get("/v1/files").send().expect(200);
    let lost = wait_until_lost(&monitored, 2);
    assert!(lost.1 >= 2 && lost.0 == 0, "{lost:?}");
    assert_eq!(count(&monitored, "trace export failed"), 1);
    assert!(monitored.service.terminate() < Duration::from_secs(5));
}

/// The number of spans that were dropped because the queue was full, and with failed exports.
fn lost(monitored: &Monitored) -> (u64, u64) {
    let series = monitored.series();
    let dropped = |reason: &str| -> u64 {
        let labels = format!("{{reason=\"{reason}\"}}");
        series[&format!("proposal_service_trace_spans_dropped_total{labels}")].parse().unwrap()
    };
    (dropped("queue_full"), dropped("export_failed"))
}

#[track_caller]
fn wait_until_lost(monitored: &Monitored, least: u64) -> (u64, u64) {
    wait_until(|| {
        let lost = lost(monitored);
        lost.0 + lost.1 >= least
    });
    lost(monitored)
}

fn count(monitored: &Monitored, line: &str) -> usize {
    monitored.service.log().matches(line).count()
}
