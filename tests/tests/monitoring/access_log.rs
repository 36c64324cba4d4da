//! The access log.

use std::time::{Duration, Instant};

use serde_json::Value;
use tests::{Service, Store};

/// The line with a request id, once it is written.
fn line_of(service: &Service, id: &str) -> String {
    let began = Instant::now();
    loop {
        let log = service.log();
        if let Some(line) = log.lines().find(|line| line.contains(id)) {
            return line.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "no {id} in {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_request_has_a_line_without_its_query_and_its_token() {
    for (format, store) in [("json", Store::Sqlite), ("text", Store::Sqlite)] {
        let service = Service::start_with(
            store,
            &["--access-log", format, "--log", "off", "--trusted-proxies", "127.0.0.1/32"],
        );
        let answer = service
            .get("/v1/files?filter[secret]=4711")
            .header("x-request-id", "first-1")
            .header("x-forwarded-for", "192.0.2.7")
            .header("authorization", "Bearer hidden-token")
            .send()
            .expect(200);
        let line = line_of(&service, "first-1");
        assert!(!line.contains("4711") && !line.contains("hidden"), "{line}");
        let bytes = answer.text().len();
        if format == "json" {
            let line: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["address"], "192.0.2.7");
            assert_eq!(line["method"], "GET");
            assert_eq!(line["path"], "/v1/files");
            assert_eq!(line["status"], 200);
            assert_eq!(line["bytes"], bytes);
            assert_eq!(line["caller"], Value::Null);
            assert!(line["duration_seconds"].as_f64().unwrap() < 10.0);
        } else {
            assert!(line.starts_with("192.0.2.7 - - ["), "{line}");
            assert!(line.contains(&format!("\"GET /v1/files HTTP/1.1\" 200 {bytes} ")), "{line}");
        }
    }
}

#[test]
fn a_path_cannot_forge_a_line() {
    let service = Service::start_with(Store::Sqlite, &["--access-log", "text", "--log", "off"]);
    service.get("/a\"b%0A-%20-").header("x-request-id", "forged").send().expect(404);
    let line = line_of(&service, "forged");
    assert!(line.contains(r#""GET /a\"b%0A-%20- HTTP/1.1" 404"#), "{line}");
}
