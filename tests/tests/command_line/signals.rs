//! Stopping by a signal.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::{Request, free_address};

use super::{PATIENCE, Running, folder, line_with, wait_until};

#[test]
fn sigterm_lets_a_request_finish() {
    let folder = folder();
    let mut running = Running::start(&folder, &["serve"]);
    let mut client = running.begin_request();
    running.signal("TERM");
    line_with(&mut running.log, "SIGTERM");
    wait_until(|| TcpStream::connect(running.address).is_err());
    client.write_all(br#"{"a":"bc"}"#).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 201 ") && answer.contains("connection: close"),
        "{answer}"
    );
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopped") && !log.contains("cut off"), "{log}");
}

/// More than a pipe holds wait to be written, also where metrics are collected.
#[test]
fn the_access_log_is_written_to_its_end() {
    let folder = folder();
    let admin = free_address();
    let address = admin.to_string();
    let mut running =
        Running::start(&folder, &["--access-log", "json", "--admin-listen", &address]);
    // Other lines would wait for the reader.
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
    assert!(log.contains("cut off"), "{log}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn sigint_stops_an_idle_service_at_once() {
    let folder = folder();
    let running = Running::start(&folder, &["--drain-timeout", "1h"]);
    let _idle = TcpStream::connect(running.address).unwrap();
    running.signal("INT");
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("SIGINT"), "{log}");
}

#[test]
fn a_stream_of_changes_ends_when_the_service_stops() {
    let folder = folder();
    let running = Running::start(&folder, &["--drain-timeout", "1h"]);
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(b"GET /v1/changes/stream HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(client);
    line_with(&mut lines, "retry: 2000");
    running.signal("TERM");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "it ends as chunked bodies do, not in the middle: {rest}");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn everything_is_served_for_a_while_after_a_signal_but_the_service_is_not_ready() {
    let folder = folder();
    let mut running = Running::start(&folder, &["--drain-delay", "4s"]);
    assert_eq!(running.ask("GET", "/readyz", "")["status"], "ready");
    let start = Instant::now();
    running.signal("TERM");
    line_with(&mut running.log, "SIGTERM");
    // Each on a connection of its own.
    assert_eq!(running.ask("GET", "/readyz", "")["status"], 503);
    assert_eq!(running.ask("GET", "/healthz", "")["status"], "ok");
    assert_eq!(running.ask("POST", "/v1/files", "{}")["_meta"]["version"], 1);
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(start.elapsed() >= Duration::from_secs(4), "it ended after {:?}", start.elapsed());
}

#[test]
fn a_second_signal_does_not_wait_for_the_load_balancer() {
    let folder = folder();
    let mut running = Running::start(&folder, &["--drain-delay", "1h"]);
    running.signal("TERM");
    line_with(&mut running.log, "SIGTERM");
    running.signal("INT");
    assert_eq!(running.end().0, Some(1));
}

#[test]
fn a_second_signal_does_not_wait() {
    let folder = folder();
    let mut running = Running::start(&folder, &["--drain-timeout", "1h"]);
    let _client = running.begin_request();
    running.signal("TERM");
    line_with(&mut running.log, "SIGTERM");
    running.signal("INT");
    assert_eq!(running.end().0, Some(1));
}
