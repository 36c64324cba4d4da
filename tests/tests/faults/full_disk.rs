//! A disk that fills up under an SQLite file: writes are refused with 507 and store nothing, reads
//! continue, and when there is room again so do the writes.
//!
//! The disk is a small tmpfs in a separate mount namespace, which needs no rights; a file takes most
//! of it until the test removes a sign outside.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::{Answer, Request, binary, free_address};

use crate::clock::Running;
use crate::{FILES, until};

/// `$1` where the disk is mounted, `$2` the sign, `$3` the binary, `$4` where it listens.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs -o size=24m tmpfs "$1"
head -c 16000000 /dev/zero > "$1/ballast"
{ while [ -e "$2" ]; do sleep 0.05; done; rm "$1/ballast"; } &
exec "$3" serve --listen "$4" --database-url "sqlite://$1/proposals.db?mode=rwc"
"#;

/// How long the service may take to start, and to notice free space.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn on_a_full_disk_reads_continue_and_writes_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let sign = folder.path().join("full");
    std::fs::write(&sign, "").unwrap();
    let (address, _running) = start(folder.path(), &sign);
    let mut stored = Vec::new();
    let body = json!({ "text": "x".repeat(100_000) }).to_string();
    let create = || send(address, "POST", FILES, &body);
    let refused = (0..400).find_map(|_| {
        let answer = create();
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
        let _ = create().expect(507);
        let _ = send(address, "PUT", &stored[0], &larger).expect(507);
    }
    let upload = send(address, "PUT", &format!("{}/content", stored[0]), &body);
    assert!(upload.expect(507).text().contains("store-full"));
    all_are_there(address, &stored, &body);
    let asked = Instant::now();
    let search = get(address, "/v1/files?q=xylophone").send_unchecked().status;
    let time = asked.elapsed();
    assert!(
        matches!(search, 200 | 503) && time < Duration::from_secs(5),
        "{search} after {time:?}"
    );
    std::fs::remove_file(&sign).unwrap();
    until("room for writes", PATIENCE, || {
        let answer = create();
        answer.status == 201 || answer.expect(507).status == 201
    });
    let _ = send(address, "POST", FILES, "{}").expect(201);
    let total = get(address, FILES).send().expect(200).value()["total_items"].as_u64().unwrap();
    assert_eq!(total, stored.len() as u64 + 2, "a refused write stored something");
    all_are_there(address, &stored, &body);
}

fn all_are_there(address: SocketAddr, stored: &[String], body: &str) {
    for path in stored {
        let _ = get(address, path).send().expect(200).with_members(body);
    }
    let _ = get(address, "/readyz").send_unchecked().expect(200);
}

fn start(folder: &Path, sign: &Path) -> (SocketAddr, Running) {
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
    let running = Running(process);
    let status = || get(address, "/readyz").try_send().map(|answer| answer.status);
    until("a start", PATIENCE, || status() == Some(200));
    (address, running)
}

fn get(address: SocketAddr, path: &str) -> Request {
    Request::new(address, "GET", path)
}

fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> Answer {
    Request::new(address, method, path).json(body).send_unchecked()
}
