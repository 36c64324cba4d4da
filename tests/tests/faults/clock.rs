//! A clock before 1970, from which no identifier can be made: the service does not start with one, and
//! answers while it has one.
//!
//! A library that is loaded before the others sets the clock back while a file exists.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tests::{Request, binary, free_address};

use crate::{FILES, until};

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    const char *is_set_back = getenv("CLOCK_IS_SET_BACK");
    if (clock == CLOCK_REALTIME && is_set_back && access(is_set_back, F_OK) == 0)
        time->tv_sec = -1;
    return result;
}
"#;

/// How long the service may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn before_1970_requests_are_answered_with_500_and_the_service_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let sign = folder.path().join("set-back");
    let library = compile(folder.path());
    let database = format!("sqlite://{}?mode=rwc", folder.path().join("proposals.db").display());
    let mut service = Command::new(binary::path());
    let _ = service
        .env("LD_PRELOAD", library)
        .env("CLOCK_IS_SET_BACK", &sign)
        // A thread that serves its first connection while the clock is set back closes it unanswered:
        // hyper writes down the date then. The only thread has served one before.
        .env("TOKIO_WORKER_THREADS", "1")
        .args(["serve", "--listen", &address.to_string(), "--database-url", &database])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let running = Running(service.spawn().unwrap());
    let create = || Request::new(address, "POST", FILES).json("{}");
    until("a start", PATIENCE, || create().try_send().is_some_and(|answer| answer.status == 201));
    fs::write(&sign, "").unwrap();
    for _ in 0..3 {
        let answer = create().send_unchecked().expect(500);
        assert!(answer.text().contains("problems/internal"), "{answer}");
    }
    fs::remove_file(&sign).unwrap();
    let _ = create().send_unchecked().expect(201);
    let list = Request::new(address, "GET", FILES).send_unchecked().expect(200);
    assert_eq!(list.value()["total_items"], 2);
    drop(running);
    fs::write(&sign, "").unwrap();
    let output = service.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("the system clock is before 1970; set it"), "{log}");
}

fn compile(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, LIBRARY).unwrap();
    let mut compiler = Command::new("cc");
    let _ = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status().unwrap().success(), "the C compiler that the build uses, too");
    library
}

/// A process that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
