//! A disk that fills up under an SQLite file: writes are refused with 507 and leave nothing behind,
//! reads go on, and when there is room again so do the writes.
//!
//! The disk is a small tmpfs in a mount namespace of the service's own, which needs no rights; a
//! file takes most of it until the test removes a sign outside.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::{Request, binary, free_address};

const FILES: &str = "/v1/files";

/// `$1` where the disk is mounted, `$2` the sign, `$3` the binary, `$4` where it listens.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs -o size=24m tmpfs "$1"
head -c 16000000 /dev/zero > "$1/ballast"
{ while [ -e "$2" ]; do sleep 0.05; done; rm "$1/ballast"; } &
exec "$3" serve --listen "$4" --database-url "sqlite://$1/proposals.db?mode=rwc"
"#;

/// How long the service may take to start, and to find that there is room again.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn on_a_full_disk_reads_go_on_and_writes_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let sign = folder.path().join("full");
    std::fs::write(&sign, "").unwrap();
    let service = Limited::start(folder.path(), &sign);
    let mut stored = Vec::new();
    let body = json!({ "text": "x".repeat(100_000) }).to_string();
    let refused = (0..400).find_map(|_| {
        let answer = service.request("POST", FILES).json(body.as_str()).send_unchecked();
        if answer.status == 201 {
            stored.push(format!("{FILES}/{}", answer.id()));
        }
        (answer.status != 201).then_some(answer)
    });
    let refused = refused.expect("the disk fills up").expect(507);
    assert!(refused.text().contains("store-full"), "{refused}");
    assert!(stored.len() > 10, "{} items", stored.len());
    // A replacement writes to fewer pages than a creation, so one of the same size may still fit.
    let larger = json!({ "text": "x".repeat(200_000) }).to_string();
    for _ in 0..3 {
        let _ = service.request("POST", FILES).json(body.as_str()).send_unchecked().expect(507);
        let _ =
            service.request("PUT", &stored[0]).json(larger.as_str()).send_unchecked().expect(507);
    }
    all_are_there(&service, &stored, &body);
    let asked = Instant::now();
    let search = service.request("GET", "/v1/files?q=xylophone").send_unchecked().status;
    assert!(
        matches!(search, 200 | 503) && asked.elapsed() < Duration::from_secs(5),
        "{search} after {:?}",
        asked.elapsed()
    );
    std::fs::remove_file(&sign).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = service.request("POST", FILES).json(body.as_str()).send_unchecked();
        if answer.status == 201 {
            break;
        }
        let _ = answer.expect(507);
        assert!(Instant::now() < deadline, "there is room, and writes are still refused");
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = service.request("POST", FILES).json("{}").send().expect(201);
    let total =
        service.request("GET", FILES).send().expect(200).value()["total_items"].as_u64().unwrap();
    assert_eq!(total, stored.len() as u64 + 2, "what was refused left nothing behind");
    all_are_there(&service, &stored, &body);
}

fn all_are_there(service: &Limited, stored: &[String], body: &str) {
    for path in stored {
        let _ = service.request("GET", path).send().expect(200).with_members(body);
    }
    let _ = service.request("GET", "/readyz").send_unchecked().expect(200);
}

/// A service on a disk of its own.
struct Limited {
    process: Child,
    address: SocketAddr,
}

impl Limited {
    fn start(folder: &Path, sign: &Path) -> Self {
        let disk = folder.join("disk");
        std::fs::create_dir(&disk).unwrap();
        let address = free_address();
        let process = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"])
            .args([&disk, sign, binary::path().as_ref()])
            .arg(address.to_string())
            .stdin(Stdio::null())
            .spawn()
            .expect("unshare, of util-linux, is there");
        let service = Self { process, address };
        let deadline = Instant::now() + PATIENCE;
        while service.request("GET", "/readyz").try_send().is_none_or(|answer| answer.status != 200)
        {
            assert!(Instant::now() < deadline, "the service does not start on a disk of its own");
            std::thread::sleep(Duration::from_millis(20));
        }
        service
    }

    fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        self.process.kill().expect("the process can be stopped");
        self.process.wait().expect("the process ends");
    }
}
