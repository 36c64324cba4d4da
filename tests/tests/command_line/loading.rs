//! `load`: a file of items is sent to a running service.

use std::fs;
use std::process::Output;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::{Service, Store, free_address};

use crate::{command, folder};

fn load(folder: &TempDir, url: &str, name: &str, options: &[&str]) -> Output {
    let arguments = [&["load", name, "--group", "proposals", "--url", url], options].concat();
    command(folder, &arguments).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_file_is_loaded_checked_and_changed() {
    let service = Service::start(Store::Sqlite);
    let (folder, url) = (folder(), format!("http://{}", service.address()));
    fs::write(folder.path().join("new.csv"), "project_title,proposal_type\nA,B\nC,D\n").unwrap();
    let (code, out, _) = said(&load(&folder, &url, "new.csv", &["--dry-run"]));
    assert_eq!(
        (code, &*out),
        (Some(0), "would be created 2, replaced 0, unchanged 0, refused 0\n")
    );
    let (code, out, error) = said(&load(&folder, &url, "new.csv", &[]));
    assert_eq!(
        (code, &*out),
        (Some(0), "created 2, replaced 0, unchanged 0, refused 0\n"),
        "{error}"
    );
    let exported = service.get("/exports/proposals.csv").accept("*/*").send().expect(200);
    let changed = exported.text().replace(",A,", ",Z,");
    fs::write(folder.path().join("changed.csv"), changed).unwrap();
    let (_, out, _) = said(&load(&folder, &url, "changed.csv", &["--upsert"]));
    assert_eq!(out, "created 0, replaced 1, unchanged 1, refused 0\n");
    assert_eq!(service.list("/v1/proposals", "").each("project_title"), ["Z", "C"]);
}

#[test]
fn rows_that_are_refused_are_listed() {
    let service = Service::start(Store::Sqlite);
    let (folder, url) = (folder(), format!("http://{}", service.address()));
    fs::write(
        folder.path().join("x.ndjson"),
        "{\"project_title\":\"A\",\"proposal_type\":\"B\"}\n{}\n",
    )
    .unwrap();
    let (code, out, error) = said(&load(&folder, &url, "x.ndjson", &[]));
    assert_eq!(code, Some(1));
    assert!(out.starts_with("row 2, proposal_type: `proposal_type` is required"), "{out}");
    assert!(
        error.contains("nothing was stored, because the service refused it with status 422"),
        "{error}"
    );
    let (code, out, error) = said(&load(&folder, &url, "x.ndjson", &["--each"]));
    assert_eq!(code, Some(1));
    assert!(out.starts_with("created 1, replaced 0, unchanged 0, refused 1\nrow 2, "), "{out}");
    assert!(error.ends_with("1 rows were refused; the others are done\n"), "{error}");
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let (folder, nowhere) = (folder(), "http://127.0.0.1:1");
    fs::write(folder.path().join("x.pdf"), "").unwrap();
    let (code, _, error) = said(&load(&folder, nowhere, "x.pdf", &[]));
    assert_eq!(code, Some(2));
    assert!(error.contains("ends in .csv, .xlsx, .ndjson, .json"), "{error}");
    let (code, _, error) = said(&load(&folder, nowhere, "missing.csv", &[]));
    assert_eq!(code, Some(1));
    assert!(error.contains("cannot read missing.csv"), "{error}");
}

#[test]
fn a_load_fails_at_once_where_nothing_listens() {
    let folder = folder();
    fs::write(folder.path().join("a.csv"), "project_title,proposal_type\nA,B\n").unwrap();
    let nowhere = format!("http://{}", free_address());
    for (url, reason) in [
        (
            nowhere.as_str(),
            "nothing listens there; start the service, or give its address with --url",
        ),
        ("http://no-such-host.invalid", "there is no host of this name"),
    ] {
        let began = Instant::now();
        let (code, out, error) = said(&load(&folder, url, "a.csv", &[]));
        assert_eq!((code, &*out), (Some(1), ""));
        let line = format!("proposal-service: {url}/: {reason}");
        assert!(error.starts_with(&line) && error.lines().count() == 1, "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
