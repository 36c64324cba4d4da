//! The audit log: a line for whoever was refused, and in audited groups for whoever read or wrote.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tests::tool::refused;
use tests::{Answer, Service, Store};

use crate::world::{Callers, agency_policies, on_each_store};

/// A folder with an audit log.
struct Log {
    folder: TempDir,
}

impl Log {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    /// A service with this log, that knows the callers.
    fn serve(&self, callers: &Callers, store: Store, more: &[&str]) -> Service {
        let path = self.path();
        let own = ["--audit-log", path.to_str().unwrap()];
        callers.serve(store, &[&own[..], more].concat())
    }

    fn lines(&self) -> Vec<Value> {
        lines_of(&self.path())
    }

    /// The lines once there are as many; those of refusals are not waited for by whoever is refused.
    #[track_caller]
    fn expect(&self, count: usize) -> Vec<Value> {
        soon(|| self.lines().len() >= count);
        let lines = self.lines();
        assert_eq!(lines.len(), count, "{lines:#?}");
        lines
    }
}

fn lines_of(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
pub fn soon(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "it takes too long");
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn expect_unrecorded(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer}");
    assert!(answer.text().contains("\"code\":\"unavailable\""), "{answer}");
}

#[test]
fn refusals_are_recorded_with_their_cause() {
    on_each_store(|store| {
        let log = Log::new();
        let callers = Callers::new(&[("ana", "auditor")]);
        let policies = agency_policies();
        let more = ["--policies", policies.as_str(), "--rate", "1/h,burst=3"];
        let service = log.serve(&callers, store, &more);
        service.get("/v1/gadscores?q=secret").header("x-request-id", "one").send().expect(401);
        let path = "/v1/gadscores/0198f0de-0000-7000-8000-000000000000";
        callers.sign("ana", service.delete(path)).send().expect(403);
        let unknown = service.get("/v1/files").header("authorization", "Bearer not.a.token");
        unknown.send().expect(401);
        for _ in 0..2 {
            callers.sign("ana", service.get("/v1/files")).send().expect(200);
        }
        callers.sign("ana", service.get("/v1/files")).send().expect(429);
        let refusals = |lines: Vec<Value>| {
            let told = lines.into_iter().map(|line| {
                let text = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
                let told = [text("caller"), text("operation"), text("group"), text("item")];
                (line["status"].as_u64().unwrap(), told.join(" "))
            });
            told.collect::<Vec<_>>()
        };
        soon(|| log.lines().iter().any(|line| line["status"] == 429));
        let found = refusals(log.lines());
        let item = "0198f0de-0000-7000-8000-000000000000";
        for (status, told) in [
            (401, "- read gadscores -".to_owned()),
            (403, format!("key:ana read,delete gadscores {item}")),
            (401, "- read files -".to_owned()),
            (429, "key:ana read files -".to_owned()),
        ] {
            assert!(found.contains(&(status, told.clone())), "{told}: {found:?}");
        }
        let lines = log.lines();
        let forbidden = lines.iter().find(|line| line["status"] == 403).unwrap();
        assert_eq!(forbidden["policies"][0], "auditors_change_nothing", "{forbidden}");
        let first = &lines[0];
        assert_eq!(
            (&first["request_id"], &first["path"]),
            (&"one".into(), &"/v1/gadscores".into())
        );
        assert!(first["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{first}");
        let file_mode = fs::metadata(log.path()).unwrap().permissions().mode();
        assert_eq!(file_mode & 0o777, 0o600);
    });
}

#[test]
fn reads_of_an_audited_group_name_who_read_by_whatever_path() {
    on_each_store(|store| {
        let log = Log::new();
        let callers = Callers::new(&[("ana", ""), ("ben", "")]);
        let service = log.serve(&callers, store, &["--audit", "lib=reads,files=writes"]);
        let post = |path: &str, body: &str| {
            callers.sign("ana", service.post(path).json(body)).send().expect(201).id()
        };
        let file = post("/v1/files", r#"{"a":"in a body"}"#);
        let lib = post("/lib", "{}");
        let before = log.expect(2).len();
        let paths = [
            format!("/lib/{lib}"),
            format!("/lib/{lib}/versions/1"),
            "/lib?q=secret".to_owned(),
            "/v1/proposals?embed=lib".to_owned(),
            "/exports/lib.csv".to_owned(),
            "/v1/changes".to_owned(),
            format!("/explore/lib/{lib}"),
        ];
        for path in &paths {
            callers.sign("ben", service.get(path)).send().expect(200);
        }
        // What is not audited has no line.
        callers.sign("ben", service.get(&format!("/v1/files/{file}"))).send().expect(200);
        callers.sign("ben", service.get("/v1/proposals")).send().expect(200);
        service.get("/healthz").send().expect(200);
        let lines = log.expect(before + paths.len());
        assert_eq!(
            (&lines[0]["caller"], &lines[0]["operation"], &lines[0]["status"]),
            (&"key:ana".into(), &"create".into(), &201.into())
        );
        for (line, path) in lines[before..].iter().zip(&paths) {
            assert_eq!(line["caller"], "key:ben", "{path}");
            assert_eq!(line["path"].as_str(), path.split('?').next(), "{path}");
            if path.contains(&lib) {
                assert_eq!(line["item"], lib.as_str(), "{path}");
            }
        }
        let text = fs::read_to_string(log.path()).unwrap();
        for hidden in ["in a body", "secret", "embed=", callers.key("ana"), callers.key("ben")] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    });
}

#[test]
fn a_hang_up_opens_the_file_again() {
    let log = Log::new();
    let callers = Callers::new(&[("ana", "")]);
    let service = log.serve(&callers, Store::Sqlite, &["--audit", "files=reads"]);
    let read = || callers.sign("ana", service.get("/v1/files")).send().expect(200);
    read();
    let old = log.folder.path().join("audit.jsonl.1");
    fs::rename(log.path(), &old).unwrap();
    read();
    assert_eq!(lines_of(&old).len(), 2);
    service.hang_up();
    soon(|| log.path().exists());
    read();
    assert_eq!((lines_of(&old).len(), log.lines().len()), (2, 1));
    // A file that cannot be opened again is no reason to lose lines.
    fs::remove_file(log.path()).unwrap();
    fs::create_dir(log.path()).unwrap();
    service.hang_up();
    soon(|| service.log().contains("could not be opened again"));
    read();
}

#[test]
fn a_full_disk_stops_audited_groups_alone() {
    let callers = Callers::new(&[("ana", "")]);
    let more = ["--audit-log", "/dev/full", "--audit", "files=writes,lib=reads"];
    let service = callers.serve(Store::Sqlite, &more);
    let send = |request| callers.sign("ana", request).send_unchecked();
    expect_unrecorded(&send(service.get("/lib")));
    // Nothing is written that cannot be recorded.
    expect_unrecorded(&send(service.post("/v1/files").json("{}")));
    assert_eq!(send(service.get("/v1/files")).expect(200).items().len(), 0);
    send(service.post("/v1/gadscores").json("{}")).expect(201);
    service.get("/v1/gadscores").send().expect(401);
    service.get("/readyz").send().expect(200);
    assert_eq!(service.log().matches("the audit log cannot be written").count(), 1);
}

#[test]
fn a_pipe_that_nobody_reads_delays_audited_groups_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opened, so that the service can start, and not read.
    let reader: File = OpenOptions::new().read(true).write(true).mode(0o600).open(&pipe).unwrap();
    let callers = Callers::new(&[("ana", "")]);
    let path = pipe.to_str().unwrap();
    let more = ["--audit-log", path, "--audit", "lib=reads", "--request-timeout", "1s"];
    let service = callers.serve(Store::Sqlite, &more);
    let read = |path: &str| callers.sign("ana", service.get(path)).send_unchecked();
    let long = format!("/lib/{}", "a".repeat(4000));
    let is_full = (0..100).any(|_| read(&long).status == 503);
    assert!(is_full, "a pipe takes 64 KiB");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| expect_unrecorded(&read("/lib")));
        }
        // Each of them would take a second if it waited.
        let began = Instant::now();
        for _ in 0..30 {
            read("/v1/files").expect(200);
            service.get("/v1/files").send().expect(401);
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    });
    // Somebody reads again, and the requests go on.
    let reading = thread::spawn(move || std::io::copy(&mut &reader, &mut std::io::sink()));
    soon(|| read("/lib").status == 200);
    drop(service);
    // The test's own descriptor keeps the pipe open.
    drop(reading);
}

#[test]
fn a_thousand_requests_at_once_leave_a_thousand_lines() {
    let log = Log::new();
    let callers = Callers::new(&[("ana", "")]);
    let service = log.serve(&callers, Store::Sqlite, &["--audit", "files=reads"]);
    thread::scope(|scope| {
        for client in 0..50 {
            let (callers, service) = (&callers, &service);
            scope.spawn(move || {
                for count in 0..20 {
                    let request = service.get("/v1/files");
                    let request = request.header("x-request-id", format!("{client}-{count}"));
                    callers.sign("ana", request).send().expect(200);
                }
            });
        }
    });
    let mut ids: Vec<_> = log.lines().iter().map(|line| line["request_id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

#[test]
fn what_cannot_be_audited_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("proposals.db").display());
    let own = ["serve", "--listen", "127.0.0.1:0", "--database-url", &url];
    for (arguments, status, said) in [
        (&["--audit", "files=reads"][..], 2, "--audit-log"),
        (&["--audit-log", "a", "--audit", "file=reads"], 2, "one of the groups proposedprograms"),
        (
            &["--audit-log", "a", "--audit", "files=all"],
            2,
            "one of the levels denied, writes, reads",
        ),
        (&["--audit-log", "/nonexistent/audit"], 1, "the audit log /nonexistent/audit cannot"),
    ] {
        let text = refused(&[&own[..], arguments].concat(), status);
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}
