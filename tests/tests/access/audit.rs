//! The audit log: a line for each refused caller, and in audited groups for each read or write.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::tool::refused;
use tests::{Answer, Store};

use crate::world::{AGENCY, Callers, World, on_each_store, soon};

const ITEM: &str = "0198f0de-0000-7000-8000-000000000000";

fn lines_of(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn expect_unrecorded(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer}");
    assert!(answer.text().contains("\"code\":\"unavailable\""), "{answer}");
}

#[test]
fn refusals_are_recorded_and_in_audited_groups_reads_and_writes() {
    on_each_store(|store| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.jsonl");
        let audit = ["--audit-log", log.to_str().unwrap(), "--audit", "lib=reads,files=writes"];
        let callers = [("ana", "secretariat"), ("ben", "secretariat"), ("cyd", "auditor")];
        let more = [&audit[..], &["--rate", "1/h,burst=12"]].concat();
        let world = World::new(store, &callers, AGENCY, &more);
        audits_reads_on_every_path(&world, &log);
        records_refusals_with_their_cause(&world, &log);
        let text = fs::read_to_string(&log).unwrap();
        let keys = ["ana", "ben", "cyd"].map(|name| world.callers.key(name));
        for hidden in ["in a body", "unspoken", "embed="].into_iter().chain(keys) {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    });
}

fn audits_reads_on_every_path(world: &World, log: &Path) {
    let service = &world.service;
    let file = world.create("ana", "/v1/files", r#"{"a":"in a body"}"#).id();
    let lib = world.create("ana", "/lib", "{}").id();
    let paths = [
        format!("/lib/{lib}"),
        format!("/lib/{lib}/versions/1"),
        "/lib?q=unspoken".to_owned(),
        "/v1/proposals?embed=lib".to_owned(),
        "/exports/lib.csv".to_owned(),
        "/v1/changes".to_owned(),
        format!("/explore/lib/{lib}"),
    ];
    for path in &paths {
        world.get("ben", path);
    }
    // Requests that are not audited have no line.
    world.get("ben", &format!("/v1/files/{file}"));
    world.get("ben", "/v1/proposals");
    service.get("/healthz").send().expect(200);
    let lines = lines_of(log);
    assert_eq!(lines.len(), 2 + paths.len(), "{lines:#?}");
    let first = (&lines[0]["caller"], &lines[0]["operation"], &lines[0]["status"]);
    assert_eq!(first, (&"key:ana".into(), &"create".into(), &201.into()));
    for (line, path) in lines[2..].iter().zip(&paths) {
        assert_eq!(line["caller"], "key:ben", "{path}");
        assert_eq!(line["path"].as_str(), path.split('?').next(), "{path}");
        if path.contains(&*lib) {
            assert_eq!(line["item"], *lib, "{path}");
        }
    }
}

fn records_refusals_with_their_cause(world: &World, log: &Path) {
    let service = &world.service;
    service.get("/v1/gadscores?q=unspoken").header("x-request-id", "one").send().expect(401);
    world.send("cyd", service.delete(&format!("/v1/gadscores/{ITEM}"))).expect(403);
    let unknown = service.get("/v1/files").header("authorization", "Bearer not.a.token");
    unknown.send().expect(401);
    for _ in 0..11 {
        world.get("cyd", "/v1/files");
    }
    world.send("cyd", service.get("/v1/files")).expect(429);
    // A refused caller does not wait for the line.
    soon("the line of the last refusal", || lines_of(log).iter().any(|it| it["status"] == 429));
    let lines = lines_of(log);
    let found = lines.iter().map(|line| {
        let text = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
        let parts = [text("caller"), text("operation"), text("group"), text("item")];
        format!("{} {}", line["status"], parts.join(" "))
    });
    let found: Vec<_> = found.collect();
    for expected in [
        "401 - read gadscores -".to_owned(),
        format!("403 key:cyd read,delete gadscores {ITEM}"),
        "401 - read files -".to_owned(),
        "429 key:cyd read files -".to_owned(),
    ] {
        assert!(found.contains(&expected), "{expected}: {found:?}");
    }
    let forbidden = lines.iter().find(|line| line["status"] == 403).unwrap();
    assert_eq!(forbidden["policies"][0], "auditors_change_nothing", "{forbidden}");
    let first = lines.iter().find(|line| line["status"] == 401).unwrap();
    let named = (&first["request_id"], &first["path"]);
    assert_eq!(named, (&"one".into(), &"/v1/gadscores".into()));
    assert!(first["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{first}");
}

#[test]
fn a_thousand_requests_at_once_leave_a_thousand_lines_and_a_hang_up_opens_the_file_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let callers = Callers::new(&[("ana", "")]);
    let more = ["--audit-log", log.to_str().unwrap(), "--audit", "files=reads"];
    let service = callers.serve(Store::Sqlite, &more);
    let read = |id: String| {
        let request = service.get("/v1/files").header("x-request-id", id);
        callers.sign("ana", request).send().expect(200);
    };
    thread::scope(|scope| {
        for client in 0..50 {
            scope.spawn(move || (0..20).for_each(|count| read(format!("{client}-{count}"))));
        }
    });
    let mut ids: Vec<_> =
        lines_of(&log).iter().map(|line| line["request_id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
    let old = folder.path().join("audit.jsonl.1");
    fs::rename(&log, &old).unwrap();
    read("old".to_owned());
    assert_eq!(lines_of(&old).len(), 1001);
    service.hang_up();
    soon("a new file", || log.exists());
    read("new".to_owned());
    assert_eq!((lines_of(&old).len(), lines_of(&log).len()), (1001, 1));
    // When the file cannot be opened again, no lines are lost.
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    service.hang_up();
    soon("a message", || service.log().contains("cannot reopen the audit log"));
    read("kept".to_owned());
}

#[test]
fn a_full_disk_stops_audited_groups_alone() {
    let callers = Callers::new(&[("ana", "")]);
    let more = ["--audit-log", "/dev/full", "--audit", "files=writes,lib=reads"];
    let service = callers.serve(Store::Sqlite, &more);
    let send = |request| callers.sign("ana", request).send_unchecked();
    expect_unrecorded(&send(service.get("/lib")));
    // A write that cannot be recorded is not made.
    expect_unrecorded(&send(service.post("/v1/files").json("{}")));
    assert_eq!(send(service.get("/v1/files")).expect(200).items().len(), 0);
    send(service.post("/v1/gadscores").json("{}")).expect(201);
    service.get("/v1/gadscores").send().expect(401);
    service.get("/readyz").send().expect(200);
    assert_eq!(service.log().matches("cannot write the audit log").count(), 1);
}

#[test]
fn a_pipe_without_a_reader_delays_audited_groups_alone() {
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
    // When the pipe is read again, requests are answered again.
    let reading = thread::spawn(move || std::io::copy(&mut &reader, &mut std::io::sink()));
    soon("an answer", || read("/lib").status == 200);
    drop(service);
    // The test's own descriptor keeps the pipe open.
    drop(reading);
}

#[test]
fn invalid_audit_options_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("proposals.db").display());
    let own = ["serve", "--listen", "127.0.0.1:0", "--database-url", &url];
    let levels = "one of the levels denied, writes, reads";
    for (arguments, status, said) in [
        (&["--audit", "files=reads"][..], 2, "--audit-log"),
        (&["--audit-log", "a", "--audit", "file=reads"], 2, "one of the groups proposedprograms"),
        (&["--audit-log", "a", "--audit", "files=all"], 2, levels),
        (&["--audit-log", "/nonexistent/audit"], 1, "the audit log /nonexistent/audit cannot"),
    ] {
        let text = refused(&[&own[..], arguments].concat(), status);
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}
