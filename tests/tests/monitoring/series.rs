//! The series of the metrics.

use tests::Store;

use super::{Monitored, wait_until};

const DURATION: &str = "http_server_request_duration_seconds_count";

#[test]
fn requests_are_counted_by_path_method_and_class_of_status() {
    for store in [Store::Sqlite, Store::Postgres] {
        let monitored = Monitored::start(store, &[]);
        let service = &monitored.service;
        let item = service.create("/v1/files", r#"{"a":1}"#);
        service.get(&item.path).send().expect(200);
        service.get("/v1/files/unknown").send().expect(404);
        service.request("BREW", "/v1/files").send().expect(405);
        service.get("/nowhere").send().expect(404);
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
}

#[test]
fn clients_make_no_series() {
    let monitored = Monitored::start(Store::Sqlite, &[]);
    let send = |number: usize| {
        let service = &monitored.service;
        let id = format!("/v1/files/{number}");
        service.get(&id).header("x-request-id", number.to_string()).send().expect(404);
        service.get(&format!("/{number}?a={number}")).send().expect(404);
        let method = format!("M{number}");
        service.request(&method, "/v1/files").send().expect(405);
        service
            .post("/v1/files")
            .header("idempotency-key", format!("\"{number}\""))
            .json(r#"{"a":1}"#)
            .send()
            .expect(201);
    };
    send(0);
    let before = monitored.series().len();
    (1..30).for_each(send);
    assert_eq!(monitored.series().len(), before);
}

#[test]
fn exemplars_name_the_trace_of_a_request() {
    let monitored = Monitored::start(Store::Sqlite, &[]);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traced = |flags: &str| {
        let header = format!("00-{trace}-b7ad6b7169203331-{flags}");
        monitored.service.get("/v1/files").header("traceparent", header).send().expect(200);
        let request = monitored.ask("GET", "/metrics").accept("application/openmetrics-text");
        request.send_unchecked().expect(200).text().matches(trace).count()
    };
    assert_eq!((traced("00"), traced("01")), (0, 1));
    assert!(!monitored.metrics().text().contains(trace), "the text format has no exemplars");
}

#[test]
fn a_replayed_request_is_counted() {
    let monitored = Monitored::start(Store::Sqlite, &[]);
    let send = || {
        let request = monitored.service.post("/v1/files").header("idempotency-key", "\"k\"");
        request.json(r#"{"a":1}"#).send().expect(201);
    };
    let replays = || monitored.series()["proposal_service_idempotency_replays_total"].clone();
    send();
    assert_eq!(replays(), "0");
    send();
    assert_eq!(replays(), "1");
}

#[test]
fn the_time_of_rules_is_taken_also_after_they_were_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    let write = |id: &str| {
        let rule = format!(
            "rules:\n- {{id: {id}, group: files, on: [create], check: self.a > 0, message: no}}\n"
        );
        std::fs::write(&file, rule).unwrap();
    };
    write("one");
    let monitored = Monitored::start(Store::Sqlite, &["--rules", file.to_str().unwrap()]);
    let measured = |id: &str| {
        monitored.service.create("/v1/files", r#"{"a":1}"#);
        let name = format!("proposal_service_rule_evaluation_seconds_count{{rule=\"{id}\"}}");
        monitored.series().contains_key(&name)
    };
    wait_until(|| measured("one"));
    write("other");
    wait_until(|| measured("other") && !measured("one"));
}

#[test]
fn an_empty_list_of_rules_is_in_force_and_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    let rule = "rules: [{id: one, group: files, check: self.a > 0, message: no}]\n";
    std::fs::write(&file, rule).unwrap();
    for store in [Store::Sqlite, Store::Postgres] {
        let monitored = Monitored::start(store, &["--rules", file.to_str().unwrap()]);
        let is_empty = || monitored.series()["proposal_service_rules_empty"] == "1";
        let status = || monitored.service.post("/v1/files").json(r#"{"a":0}"#).send().status;
        assert_eq!((is_empty(), status()), (false, 422));
        // A file that was cut short leaves the rules in force.
        std::fs::write(&file, "members: {}\n").unwrap();
        wait_until(|| monitored.service.log().contains("write `rules: []`"));
        assert_eq!((is_empty(), status()), (false, 422));
        std::fs::write(&file, "rules: []\n").unwrap();
        wait_until(is_empty);
        assert_eq!(status(), 201);
        let log = monitored.service.log();
        assert!(log.contains("WARN") && log.contains("writes are not checked by rules"), "{log}");
        std::fs::write(&file, rule).unwrap();
        wait_until(|| !is_empty());
        assert_eq!(status(), 422);
    }
}

#[test]
fn a_refused_file_of_legal_holds_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("holds.yaml");
    std::fs::write(&file, "[]").unwrap();
    let monitored = Monitored::start(Store::Sqlite, &["--legal-holds", file.to_str().unwrap()]);
    let failed =
        || monitored.series()[r#"proposal_service_reload_failed{files="legal_holds"}"#].clone();
    assert_eq!(failed(), "0");
    std::fs::write(&file, "- nobody\n").unwrap();
    wait_until(|| failed() == "1");
    std::fs::write(&file, "[]\n").unwrap();
    wait_until(|| failed() == "0");
}
