//! Promises that hold when things break: the real binary, killed and cut off during its work.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::process::Command;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use tests::{Service, binary};

mod abandoned;
mod cancelled;
mod clock;
mod clock_ahead;
mod compacted;
mod database_file;
mod deleted;
mod full_disk;
mod histories;
mod indexing;
mod killed;
mod load;
mod lost_bucket;
mod pooler;
mod postgres_killed;
mod postgres_server;
mod replicas;
mod restored;
mod silent;
mod standby;
mod stopped;
mod too_old;
mod unsuitable;
mod uploads;

const FILES: &str = "/v1/files";

/// Runs parts of a test at once that mostly wait.
fn at_once(parts: [fn(); 2]) {
    scope(|scope| {
        for part in parts {
            scope.spawn(part);
        }
    });
}

#[track_caller]
fn until(what: &str, bound: Duration, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < bound, "not within {bound:?}: {what}");
        sleep(Duration::from_millis(20));
    }
    println!("{what} after {:?}", since.elapsed());
}

/// The status of the response to a request. A POST sends an empty item.
#[track_caller]
fn status(service: &Service, method: &str, path: &str) -> u16 {
    let request = service.request(method, path);
    if method == "POST" { request.json("{}") } else { request }.send_unchecked().status
}

#[track_caller]
fn await_status(service: &Service, method: &str, path: &str, wanted: u16, bound: Duration) {
    until(&format!("{method} {path}: {wanted}"), bound, || status(service, method, path) == wanted);
}

/// Starts a service that must refuse to start, with a line that contains the reason; returns its log.
#[track_caller]
fn refused_start(url: &str, reason: &str) -> String {
    // A service that is not refused serves until it is ended.
    let output = Command::new("timeout")
        .arg("60")
        .arg(binary::path())
        .args(["serve", "--listen", "127.0.0.1:0", "--database-url", url])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.lines().any(|line| line.contains(reason)), "no `{reason}` in {log}");
    log
}
