//! Traces, as a collector gets them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::{Answer, Request, Service, Store};

use super::Monitored;
use super::collector::{Collector, Manner, attributes, hex, named, names};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector, and a service that sends it this share of requests.
fn traced(store: Store, share: &str, arguments: &[&str]) -> (Collector, Monitored) {
    let collector = Collector::start(Manner::Take);
    let monitored = exporting(store, &collector, share, arguments);
    (collector, monitored)
}

fn exporting(store: Store, collector: &Collector, share: &str, arguments: &[&str]) -> Monitored {
    let endpoint = collector.endpoint();
    let given = ["--otlp-endpoint", &endpoint, "--trace-sample", share];
    Monitored::start(store, &[&given[..], arguments].concat())
}

/// Sends a request with a trace of its own; the trace.
#[track_caller]
fn send(request: Request, number: u8, status: u16) -> (String, Answer) {
    let trace = format!("{number:032x}");
    let answer = request.header("traceparent", format!("00-{trace}-{PARENT}-01")).send();
    (trace, answer.expect(status))
}

/// The names of spans, each with that of its parent, in the order of their names.
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
    let own = |(name, parent): &(&str, &str)| ((*name).to_owned(), (*parent).to_owned());
    let mut tree: Vec<_> = tree.iter().map(own).collect();
    tree.sort();
    tree
}

#[test]
fn a_write_is_traced_to_the_commit_of_its_batch() {
    for (store, system) in [(Store::Sqlite, "sqlite"), (Store::Postgres, "postgresql")] {
        let (collector, monitored) = traced(store, "0", &["--access-log", "json"]);
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
        assert_eq!(collector.resource()["service.name"], "proposal-service");
        assert!(collector.headers().iter().any(|line| line == "post /v1/traces http/1.1"));
        let all = format!("{:?}", collector.spans());
        assert!(!all.contains("dry_run") && !all.contains("Rapid"), "{all}");
    }
}

#[test]
fn reads_are_traced_to_what_they_wait_for() {
    let database = TestDatabase::sqlite();
    let path = Service::start_on(&database).create("/v1/files", r#"{"a":1}"#).path;
    for (store, number) in [(Store::Sqlite, 1), (Store::Postgres, 2)] {
        let (collector, monitored) = match store {
            Store::Sqlite => {
                let collector = Collector::start(Manner::Take);
                let endpoint = collector.endpoint();
                let given = ["--otlp-endpoint", &endpoint, "--trace-sample", "0"];
                let service = Service::start_on_with(&database, &given);
                (collector, Monitored { service, admin: tests::free_address() })
            }
            Store::Postgres => traced(store, "0", &[]),
        };
        let service = &monitored.service;
        let path = match store {
            Store::Sqlite => path.clone(),
            Store::Postgres => service.create("/v1/files", r#"{"a":1}"#).path,
        };
        let (trace, _) = send(service.get(&path), number, 200);
        let (request, case, read) = ("GET /v1/files/{files_id}", "Get files", "read items");
        let spans = collector.wait_for(&trace, 3);
        assert_eq!(tree(&spans), expected(&[(case, request), (request, PARENT), (read, case)]));
        assert_eq!(named(&spans, read).kind(), SpanKind::Client);
        let attributes = attributes(&named(&spans, request).attributes);
        assert_eq!(
            [&attributes["url.path"], &attributes["http.route"]],
            [&json!(path), &json!("/v1/files/{files_id}")]
        );
        let (trace, _) = send(service.get("/v1/files?page_size=1"), number + 10, 200);
        let reads: &[_] = match store {
            Store::Sqlite => &["read page"],
            // Others may have written.
            Store::Postgres => &["read page", "read totals"],
        };
        let (request, case) = ("GET /v1/files", "List files");
        let spans = collector.wait_for(&trace, 2 + reads.len());
        let mut whole = vec![(case, request), (request, PARENT)];
        whole.extend(reads.iter().map(|read| (*read, case)));
        assert_eq!(tree(&spans), expected(&whole));
    }
}

#[test]
fn a_caller_with_a_trace_decides_and_a_malformed_one_is_none() {
    let trace = |flags: &str| format!("00-{TRACE}-{PARENT}-{flags}");
    let long = format!("{}-{}", trace("01"), "a".repeat(2000));
    let (collector, monitored) = traced(Store::Sqlite, "1", &[]);
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

#[test]
fn nothing_is_exported_of_requests_that_are_not_sampled() {
    let (collector, monitored) = traced(Store::Sqlite, "0", &[]);
    let item = monitored.service.create("/v1/files", r#"{"a":1}"#);
    for _ in 0..50 {
        monitored.service.get(&item.path).send().expect(200);
    }
    let (trace, _) = send(monitored.service.get("/v1/nowhere?a=b"), 7, 404);
    let span = collector.wait_for(&trace, 1).remove(0);
    assert_eq!(
        (span.name.as_str(), span.status.is_none_or(|status| status.code() == StatusCode::Unset)),
        ("GET", true)
    );
    assert_eq!(collector.spans().len(), 1, "the others are not sampled");
    let series = monitored.series();
    assert_eq!(series["proposal_service_trace_spans_exported_total"], "1");
    let off = Monitored::start(Store::Sqlite, &[]).series();
    for series in [
        "spans_exported_total",
        "spans_dropped_total{reason=\"queue_full\"}",
        "spans_dropped_total{reason=\"export_failed\"}",
        "export_failures_total",
    ] {
        assert_eq!(off[&format!("proposal_service_trace_{series}")], "0");
    }
}

#[test]
fn logs_and_metrics_name_the_trace_and_their_filter_is_not_that_of_traces() {
    let (collector, monitored) =
        traced(Store::Sqlite, "0", &["--log-format", "json", "--access-log", "json"]);
    let set =
        |filter: &str| monitored.ask("PUT", "/log").body("text/plain", filter).send_unchecked();
    set("debug").expect(204);
    send(monitored.service.get("/v1/files").header("x-request-id", "traced-1"), 3, 200);
    let trace = format!("{:032x}", 3);
    let began = Instant::now();
    let (event, access) = loop {
        let log = monitored.service.log();
        let line = |needle: &str| {
            log.lines()
                .find(|line| line.contains(needle) && line.contains("traced-1"))
                .map(str::to_owned)
        };
        if let (Some(event), Some(access)) = (line("\"answered\""), line("duration_seconds")) {
            break (event, access);
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{log}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let event: Value = serde_json::from_str(&event).unwrap();
    let span = hex(&named(&collector.wait_for(&trace, 3), "GET /v1/files").span_id);
    assert_eq!(
        (&event["span"]["trace_id"], &event["span"]["span_id"]),
        (&trace.clone().into(), &span.into()),
        "{event}"
    );
    assert_eq!(event["spans"].as_array().unwrap().len(), 1, "{event}");
    assert_eq!(serde_json::from_str::<Value>(&access).unwrap()["trace_id"], trace.as_str());
    let metrics =
        monitored.ask("GET", "/metrics").accept("application/openmetrics-text").send_unchecked();
    assert!(metrics.text().contains(&format!("# {{trace_id=\"{trace}\"}}")));
    set("off").expect(204);
    let (trace, _) = send(monitored.service.get("/v1/files"), 4, 200);
    collector.wait_for(&trace, 2);
}

#[test]
fn a_collector_that_fails_keeps_no_request_waiting_and_is_logged_once() {
    for manner in
        [Manner::Refuse(500), Manner::Refuse(503), Manner::Garbage, Manner::Hang, Manner::Slow]
    {
        let collector = Collector::start(manner);
        let monitored = exporting(Store::Sqlite, &collector, "1", &[]);
        let began = Instant::now();
        for _ in 0..3 {
            for _ in 0..20 {
                monitored.service.get("/v1/files").send().expect(200);
            }
            std::thread::sleep(Duration::from_millis(700));
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{manner:?}");
        wait_until_lost(&monitored, 20);
        assert_eq!(count(&monitored, "traces are not exported"), 1, "{manner:?}");
        // It works again.
        collector.set(Manner::Take);
        let began = Instant::now();
        while count(&monitored, "traces are exported again") == 0 {
            monitored.service.get("/v1/files").send().expect(200);
            assert!(began.elapsed() < Duration::from_secs(20), "{manner:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(!collector.spans().is_empty());
    }
}

#[test]
fn spans_for_a_stalled_collector_stay_bounded() {
    let collector = Collector::start(Manner::Hang);
    let mut monitored = exporting(Store::Sqlite, &collector, "1", &[]);
    let send = |number: usize| {
        for _ in 0..number {
            monitored.service.get("/v1/files?page_size=1").send().expect(200);
        }
    };
    send(1500);
    let before = monitored.service.memory();
    std::thread::scope(|threads| (0..4).for_each(|_| drop(threads.spawn(|| send(1250)))));
    let after = monitored.service.memory();
    assert!(after < before + (24 << 20), "{before} bytes became {after}");
    assert!(wait_until_lost(&monitored, 5_000).0 >= 5_000);
    let took = monitored.service.terminate();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn spans_that_wait_are_sent_when_the_service_stops() {
    let (collector, mut monitored) = traced(Store::Sqlite, "0", &[]);
    let (trace, _) = send(monitored.service.get("/v1/files"), 9, 200);
    let took = monitored.service.terminate();
    assert!(took < Duration::from_secs(3), "{took:?}");
    let mut spans = collector.spans();
    spans.retain(|span| hex(&span.trace_id) == trace);
    assert!(spans.len() >= 2, "{:?}", names(&spans));
}

#[test]
fn nobody_at_the_endpoint_is_no_matter_for_requests() {
    let nobody = format!("http://{}", tests::free_address());
    let given = ["--otlp-endpoint", &nobody, "--trace-sample", "1"];
    let mut monitored = Monitored::start(Store::Sqlite, &given);
    monitored.service.get("/v1/files").send().expect(200);
    let lost = wait_until_lost(&monitored, 2);
    assert!(lost.1 >= 2 && lost.0 == 0, "{lost:?}");
    assert_eq!(count(&monitored, "traces are not exported"), 1);
    assert!(monitored.service.terminate() < Duration::from_secs(5));
}

/// The spans that were dropped, once there are as many: for want of room, and with batches that failed.
#[track_caller]
fn wait_until_lost(monitored: &Monitored, least: u64) -> (u64, u64) {
    let began = Instant::now();
    loop {
        let series = monitored.series();
        let dropped = |reason: &str| -> u64 {
            let labels = format!("{{reason=\"{reason}\"}}");
            series[&format!("proposal_service_trace_spans_dropped_total{labels}")].parse().unwrap()
        };
        let lost = (dropped("queue_full"), dropped("export_failed"));
        if lost.0 + lost.1 >= least {
            return lost;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{lost:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn count(monitored: &Monitored, line: &str) -> usize {
    monitored.service.log().matches(line).count()
}
