//! The series of the metrics.

use std::path::Path;

use tests::wait_until;

use super::{Monitored, on_both};

const DURATION: &str = "http_server_request_duration_seconds_count";

#[test]
fn the_series_of_a_service() {
    on_both(|store| {
        let folder = tempfile::tempdir().unwrap();
        let [rules, holds] = ["rules.yaml", "holds.yaml"].map(|name| folder.path().join(name));
        std::fs::write(&rules, rule("one")).unwrap();
        std::fs::write(&holds, "[]").unwrap();
        let files = ["--rules", rules.to_str().unwrap(), "--legal-holds", holds.to_str().unwrap()];
        let monitored = Monitored::start(store, &files);
        requests_are_counted_by_path_method_and_class_of_status(&monitored);
        clients_make_no_series(&monitored);
        exemplars_name_the_trace_of_a_request(&monitored);
        a_replayed_request_is_counted(&monitored);
        without_a_collector_no_spans_are_counted(&monitored);
        a_refused_file_of_legal_holds_is_seen(&monitored, &holds);
        the_time_of_rules_is_measured_also_after_a_reload(&monitored, &rules);
        an_empty_list_of_rules_is_in_force_and_seen(&monitored, &rules);
    });
}

fn rule(id: &str) -> String {
    format!("rules: [{{id: {id}, group: files, on: [create], check: self.a > 0, message: no}}]\n")
}

fn requests_are_counted_by_path_method_and_class_of_status(monitored: &Monitored) {
    let service = &monitored.service;
    let item = service.create("/v1/files", r#"{"a":1}"#);
    service.get(&item.path).send().expect(200);
    service.get("/v1/files/unknown").send().expect(404);
    service.request("BREW", "/v1/files").send().expect(405);
    service.get("/elsewhere").send().expect(404);
    let series = monitored.series();
    for (method, class, route, count) in [
        ("POST", "2xx", "/v1/files", "1"),
        ("GET", "2xx", "/v1/files/{files_id}", "1"),
        ("GET", "4xx", "/v1/files/{files_id}", "1"),
        ("_OTHER", "4xx", "/v1/files", "1"),
        ("GET", "4xx", "", "1"),
    ] {
        let name = format!(
            "{DURATION}{{http_request_method=\"{method}\",http_response_status_class=\"{class}\",http_route=\"{route}\"}}"
        );
        let found: Vec<_> = series.keys().filter(|name| name.starts_with(DURATION)).collect();
        assert_eq!(series.get(&name).map(String::as_str), Some(count), "{name} of {found:#?}");
    }
    let status = |status: u16| {
        let labels = format!("{{http_response_status_code=\"{status}\"}}");
        series[&format!("http_server_responses_total{labels}")].as_str()
    };
    assert_eq!([status(201), status(405), status(404), status(503)], ["1", "1", "2", "0"]);
    assert_eq!(series["http_server_active_requests"], "0");
    assert_eq!(series["proposal_service_write_batch_rows_sum"], "1.0");
}

fn create_with_key(monitored: &Monitored, key: &str) {
    let request = monitored.service.post("/v1/files").header("idempotency-key", key);
    request.json(r#"{"a":1}"#).send().expect(201);
}

fn clients_make_no_series(monitored: &Monitored) {
    let send = |number: usize| {
        let service = &monitored.service;
        let id = format!("/v1/files/{number}");
        service.get(&id).header("x-request-id", number.to_string()).send().expect(404);
        service.get(&format!("/{number}?a={number}")).send().expect(404);
        service.request(&format!("M{number}"), "/v1/files").send().expect(405);
        create_with_key(monitored, &format!("\"{number}\""));
    };
    send(0);
    let before = monitored.series().len();
    (1..30).for_each(send);
    assert_eq!(monitored.series().len(), before);
}

fn exemplars_name_the_trace_of_a_request(monitored: &Monitored) {
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traced = |flags: &str| {
        let header = format!("00-{trace}-b7ad6b7169203331-{flags}");
        monitored.service.get("/v1/files").header("traceparent", header).send().expect(200);
        monitored.metrics_with_exemplars().matches(trace).count()
    };
    assert_eq!((traced("00"), traced("01")), (0, 1));
    assert!(!monitored.metrics().text().contains(trace), "the text format has no exemplars");
}

fn a_replayed_request_is_counted(monitored: &Monitored) {
    for replays in ["0", "1"] {
        create_with_key(monitored, "\"k\"");
        let found = &monitored.series()["proposal_service_idempotency_replays_total"];
        assert_eq!(found, replays);
    }
}

fn without_a_collector_no_spans_are_counted(monitored: &Monitored) {
    let series = monitored.series();
    for name in [
        "spans_exported_total",
        "spans_dropped_total{reason=\"queue_full\"}",
        "spans_dropped_total{reason=\"export_failed\"}",
        "export_failures_total",
    ] {
        assert_eq!(series[&format!("proposal_service_trace_{name}")], "0");
    }
}

fn the_time_of_rules_is_measured_also_after_a_reload(monitored: &Monitored, file: &Path) {
    let is_measured = |id: &str| {
        monitored.service.create("/v1/files", r#"{"a":1}"#);
        let name = format!("proposal_service_rule_evaluation_seconds_count{{rule=\"{id}\"}}");
        monitored.series().contains_key(&name)
    };
    wait_until(|| is_measured("one"));
    std::fs::write(file, rule("other")).unwrap();
    wait_until(|| is_measured("other") && !is_measured("one"));
}

fn an_empty_list_of_rules_is_in_force_and_seen(monitored: &Monitored, file: &Path) {
    let is_empty = || monitored.series()["proposal_service_rules_empty"] == "1";
    let status = || monitored.service.post("/v1/files").json(r#"{"a":0}"#).send().status;
    assert_eq!((is_empty(), status()), (false, 422));
    // A truncated file leaves the rules in force.
    std::fs::write(file, "members: {}\n").unwrap();
    wait_until(|| monitored.service.log().contains("write `rules: []`"));
    assert_eq!((is_empty(), status()), (false, 422));
    std::fs::write(file, "rules: []\n").unwrap();
    wait_until(is_empty);
    assert_eq!(status(), 201);
    let log = monitored.service.log();
    assert!(log.contains("WARN") && log.contains("writes are not checked by rules"), "{log}");
    std::fs::write(file, rule("one")).unwrap();
    wait_until(|| !is_empty());
    assert_eq!(status(), 422);
}

fn a_refused_file_of_legal_holds_is_seen(monitored: &Monitored, file: &Path) {
    let failed =
        || monitored.series()[r#"proposal_service_reload_failed{files="legal_holds"}"#].clone();
    assert_eq!(failed(), "0");
    for (content, expected) in [("- unknown\n", "1"), ("[]\n", "0")] {
        std::fs::write(file, content).unwrap();
        wait_until(|| failed() == expected);
    }
}
