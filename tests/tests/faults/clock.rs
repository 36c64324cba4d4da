//! A clock before 1970, of which no identifier can be made: the service does not start with one, and
//! answers while it has one.
//!
//! A library that is loaded before the others sets the clock back for as long as a file is there.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tests::{Request, binary, free_address};

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
fn before_1970_the_service_does_not_start() {
    let machine = Machine::new();
    machine.set_back();
    let output = machine.service(free_address()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the clock of this machine is before 1970; set it"), "{said}");
}

#[test]
fn while_the_clock_is_before_1970_requests_are_answered_with_500() {
    let machine = Machine::new();
    let address = free_address();
    let _service = Running(machine.service(address).spawn().unwrap());
    let create = || Request::new(address, "POST", "/v1/files").json("{}");
    let deadline = Instant::now() + PATIENCE;
    while create().try_send().is_none_or(|answer| answer.status != 201) {
        assert!(Instant::now() < deadline, "the service does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    machine.set_back();
    for _ in 0..3 {
        let answer = create().send_unchecked().expect(500);
        assert!(answer.text().contains("problems/internal"), "{answer}");
    }
    machine.set_right();
    let _ = create().send_unchecked().expect(201);
    let list = Request::new(address, "GET", "/v1/files").send_unchecked().expect(200);
    assert_eq!(list.value()["total_items"], 2);
}

/// A machine whose clock can be set back.
struct Machine {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("clock.c");
        let library = folder.path().join("clock.so");
        fs::write(&source, LIBRARY).unwrap();
        let mut compiler = Command::new("cc");
        let _ = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
        assert!(compiler.status().unwrap().success(), "the C compiler that the build uses, too");
        Self { folder, library }
    }

    fn sign(&self) -> PathBuf {
        self.folder.path().join("set-back")
    }

    fn set_back(&self) {
        fs::write(self.sign(), "").unwrap();
    }

    fn set_right(&self) {
        fs::remove_file(self.sign()).unwrap();
    }

    fn service(&self, address: SocketAddr) -> Command {
        let database = Path::new(self.folder.path()).join("proposals.db");
        let mut command = Command::new(binary::path());
        let _ = command
            .env("LD_PRELOAD", &self.library)
            .env("CLOCK_IS_SET_BACK", self.sign())
            // A thread that serves its first connection while the clock is set back closes it unanswered:
            // hyper writes down the date then. The only thread has served one before.
            .env("TOKIO_WORKER_THREADS", "1")
            .args(["serve", "--listen", &address.to_string(), "--database-url"])
            .arg(format!("sqlite://{}?mode=rwc", database.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
