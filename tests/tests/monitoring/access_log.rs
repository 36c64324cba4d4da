//! The access log.

use serde_json::Value;
use tests::{Service, Store, wait_until};

/// The line with a request id, once it is written.
fn line_of(service: &Service, id: &str) -> String {
    wait_until(|| service.log().lines().any(|line| line.contains(id)));
    service.log().lines().find(|line| line.contains(id)).unwrap().to_owned()
}

#[test]
fn each_request_has_a_line_without_its_query_and_its_token() {
    for format in ["json", "text"] {
        let service = Service::start_with(
            Store::Sqlite,
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
            for (member, expected) in [
                ("address", "192.0.2.7".into()),
                ("method", "GET".into()),
                ("path", "/v1/files".into()),
                ("status", 200.into()),
                ("bytes", bytes.into()),
                ("caller", Value::Null),
            ] {
                assert_eq!(line[member], expected, "{member}");
            }
            assert!(line["duration_seconds"].as_f64().unwrap() < 10.0);
        } else {
            assert!(line.starts_with("192.0.2.7 - - ["), "{line}");
            assert!(line.contains(&format!("\"GET /v1/files HTTP/1.1\" 200 {bytes} ")), "{line}");
            // A path cannot forge a line.
            service.get("/a\"b%0A-%20-").header("x-request-id", "forged").send().expect(404);
            let line = line_of(&service, "forged");
            assert!(line.contains(r#""GET /a\"b%0A-%20- HTTP/1.1" 404"#), "{line}");
        }
    }
}
