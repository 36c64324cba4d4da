//! Stopping by a signal.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::{Request, free_address, wait_until};

use super::{Running, folder, lines_to};

#[test]
fn sigterm_lets_a_request_finish_and_ends_a_stream() {
    let folder = folder();
    let mut running = Running::start(&folder, &["serve", "--drain-timeout", "1h"]);
    let mut client = running.begin_request();
    let head = "GET /v1/changes/stream HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut stream = BufReader::new(running.connect(head));
    lines_to(&mut stream, "retry: 2000");
    running.signal("TERM");
    lines_to(&mut running.log, "SIGTERM");
    wait_until(|| TcpStream::connect(running.address).is_err());
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the end of the last chunk: {rest}");
    client.write_all(br#"{"a":"bc"}"#).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 201 ") && answer.contains("connection: close"),
        "{answer}"
    );
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopped") && !log.contains("did not finish in time"), "{log}");
}

/// The pending lines exceed the buffer of a pipe.
#[test]
fn the_access_log_is_written_completely() {
    let folder = folder();
    let admin = free_address();
    let address = admin.to_string();
    let mut running =
        Running::start(&folder, &["--access-log", "json", "--admin-listen", &address]);
    // Other log lines would wait for the reader.
    Request::new(admin, "PUT", "/log").body("text/plain", "off").send_unchecked().expect(204);
    let path = format!("/{}", "a".repeat(4096));
    for _ in 0..100 {
        assert_eq!(running.ask("GET", &path, "")["status"], 404);
    }
    running.signal("TERM");
    sleep(Duration::from_millis(300));
    let mut log = String::new();
    running.log.read_to_string(&mut log).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains(&path)).count(), 100);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_request_that_does_not_finish_is_cut_off() {
    let folder = folder();
    let running = Running::start(&folder, &["--drain-timeout", "300ms"]);
    let _client = running.begin_request();
    let start = Instant::now();
    running.signal("TERM");
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("did not finish in time"), "{log}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn sigint_stops_an_idle_service_immediately_and_each_line_of_a_json_log_is_an_object() {
    let folder = folder();
    let running = Running::start(&folder, &["--drain-timeout", "1h", "--log-format", "json"]);
    let _idle = TcpStream::connect(running.address).unwrap();
    running.signal("INT");
    let started = running.started.clone();
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("SIGINT"), "{log}");
    for line in started.lines().chain(log.lines()) {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["message"].is_string() && entry["level"].is_string(), "{line}");
    }
}

#[test]
fn requests_are_served_during_the_drain_delay_but_the_service_is_not_ready() {
    let folder = folder();
    let mut running = Running::start(&folder, &["--drain-delay", "2s"]);
    assert_eq!(running.ask("GET", "/readyz", "")["status"], "ready");
    let start = Instant::now();
    running.signal("TERM");
    lines_to(&mut running.log, "SIGTERM");
    // Each request has a new connection.
    assert_eq!(running.ask("GET", "/readyz", "")["status"], 503);
    assert_eq!(running.ask("GET", "/healthz", "")["status"], "ok");
    assert_eq!(running.ask("POST", "/v1/files", "{}")["_meta"]["version"], 1);
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(start.elapsed() >= Duration::from_secs(2), "it ended after {:?}", start.elapsed());
}

#[test]
fn a_second_signal_ends_the_service_without_a_delay() {
    for option in ["--drain-delay", "--drain-timeout"] {
        let folder = folder();
        let mut running = Running::start(&folder, &[option, "1h"]);
        let _client = running.begin_request();
        running.signal("TERM");
        lines_to(&mut running.log, "SIGTERM");
        running.signal("INT");
        assert_eq!(running.end().0, Some(1), "{option}");
    }
}
