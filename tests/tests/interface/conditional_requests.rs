//! Conditional requests (RFC 9110, section 13): no lost updates, no needless downloads.

use std::time::{Duration, Instant};

use tests::{Item, Request, Service, Store};

use crate::{PROPOSAL, UNKNOWN_ID};

const PROPOSALS: &str = "/v1/proposals";
const CASH: &str = "/v1/cashprogram";

/// Clients that read, add one and write under the tag they read, until it is theirs.
const CLIENTS: usize = 64;

tests::cases![
    every_item_answer_has_an_etag_of_its_version,
    every_answer_has_cache_control,
    the_date_of_the_last_write_is_304_once_it_is_settled,
    what_the_client_already_has_is_304,
    a_write_under_a_condition_that_does_not_hold_is_412,
    a_write_under_a_condition_that_holds_is_done,
    if_none_match_protects_what_is_there,
    no_increment_is_lost,
    of_many_writers_with_one_condition_one_wins,
    the_etag_of_a_collection_changes_with_every_member,
];

/// A write of a proposal, with the body that the method takes.
fn write(service: &Service, method: &str, item: &Item) -> Request {
    let request = service.request(method, &item.path);
    match method {
        "DELETE" => request,
        "PATCH" => request.json(r#"{"description":"x"}"#),
        _ => request.json(PROPOSAL),
    }
}

fn every_item_answer_has_an_etag_of_its_version(service: &Service) {
    let created = service.post(PROPOSALS).json(PROPOSAL).expect(201);
    let path = format!("{PROPOSALS}/{}", created.id());
    let put = service.replace(&path, PROPOSAL.replace("kit", "kits"));
    let patched = service.change(&path, r#"{"description":"x"}"#);
    let got = service.read(&path);
    assert_eq!(got.etag(), patched.etag());
    assert_ne!(created.etag(), put.etag());
    assert_ne!(put.etag(), patched.etag());
    for answer in [created, put, patched, got] {
        let modified = answer.needed_header("last-modified");
        assert!(modified.len() == 29 && modified.ends_with(" GMT"), "an HTTP date on {answer}");
    }
}

fn every_answer_has_cache_control(service: &Service) {
    let item = service.create("/v1/files", r#"{"a":1}"#);
    let known = service.get(&item.path).header("if-none-match", &item.etag).expect(304);
    let mut answers = vec![known, service.replace(&item.path, "{}")];
    for target in [
        "/",
        "/v1/files",
        &item.path,
        &format!("{}/versions/1", item.path),
        "/v1/changes",
        "/rules",
        "/openapi.json",
        "/docs",
        "/explore/files",
        "/favicon.ico",
        "/healthz",
        "/v1/nothing",
    ] {
        let methods = ["GET", "HEAD", "OPTIONS", "TRACE"];
        answers.extend(methods.map(|method| service.request(method, target).send()));
    }
    for answer in answers {
        assert_eq!(answer.header("cache-control"), Some("no-cache"), "{answer}");
    }
    let export = service.get("/exports/files.csv").send_unchecked();
    assert_eq!(export.needed_header("cache-control"), "no-store");
    let head = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(70_000));
    let refused = tests::send_bytes(service.address(), head.as_bytes());
    let refused = String::from_utf8_lossy(&refused).into_owned();
    assert!(refused.contains("cache-control: no-cache\r\n"), "{refused}");
}

fn the_date_of_the_last_write_is_304_once_it_is_settled(service: &Service) {
    const FUTURE: &str = "Fri, 31 Dec 2100 23:59:59 GMT";
    let item = service.create(PROPOSALS, PROPOSAL);
    let version = format!("{}/versions/1", item.path);
    let read =
        |target: &str, date: &str| service.get(target).header("if-modified-since", date).send();
    let date = service.read(&item.path).needed_header("last-modified").to_owned();
    read(&item.path, &date).expect(200);
    let deadline = Instant::now() + Duration::from_millis(2100);
    while read(&item.path, &date).status == 200 {
        assert!(Instant::now() < deadline, "the date is not settled");
        std::thread::sleep(Duration::from_millis(50));
    }
    for target in [&item.path, &version] {
        let known = read(target, &date).expect(304);
        assert!(!known.etag().is_empty() && known.body.is_empty(), "{known}");
        service.request("HEAD", target).header("if-modified-since", &date).expect(304);
        read(target, FUTURE).expect(304);
        read(target, "Thu, 01 Jan 1970 00:00:00 GMT").expect(200);
        read(target, "yesterday").expect(200);
        for (tag, status) in [("\"other\"", 200), ("*", 304)] {
            let both = service.get(target).header("if-none-match", tag);
            both.header("if-modified-since", &date).expect(status);
        }
    }
    // Embedded items change without a write of the item.
    let embedding = read(&format!("{}?embed=lib", item.path), FUTURE).expect(200);
    assert_eq!(embedding.header("last-modified"), None, "{embedding}");
    // Writes ignore dates.
    service.put(&item.path).header("if-modified-since", FUTURE).json(PROPOSAL).expect(200);
    read(&item.path, FUTURE).expect(200);
}

fn what_the_client_already_has_is_304(service: &Service) {
    let item = service.create(PROPOSALS, PROPOSAL);
    let collection = service.read(PROPOSALS).etag();
    for (target, etag) in [(&*item.path, &item.etag), (PROPOSALS, &collection)] {
        for (condition, status) in [
            (&**etag, 304),
            (&format!("W/{etag}"), 304),
            (&format!("\"other\", {etag}"), 304),
            ("*", 304),
            ("\"other\"", 200),
        ] {
            for method in ["GET", "HEAD"] {
                let request = service.request(method, target).header("if-none-match", condition);
                let answer = request.expect(status);
                assert_eq!(&answer.etag(), etag, "{answer}");
            }
        }
        let line = service.get(target).header("if-none-match", "\"other\"");
        line.header("if-none-match", etag).expect(304);
    }
    service.get(&format!("{PROPOSALS}/{UNKNOWN_ID}")).header("if-none-match", "*").expect(404);
}

fn a_write_under_a_condition_that_does_not_hold_is_412(service: &Service) {
    let item = service.create(PROPOSALS, PROPOSAL);
    let current = service.replace(&item.path, PROPOSAL).etag();
    let before = service.contents(PROPOSALS);
    let old = &*item.etag;
    for condition in [old, &format!("{old}, \"other\""), &format!("W/{current}"), "\"other\""] {
        for method in ["PUT", "PATCH", "DELETE"] {
            let refused = write(service, method, &item).header("if-match", condition).expect(412);
            assert_eq!(refused.etag(), current, "the current ETag comes with 412");
        }
    }
    assert_eq!(service.contents(PROPOSALS), before);
    service.put(CASH).header("if-match", "\"stale\"").json("[]").expect(412);
}

fn a_write_under_a_condition_that_holds_is_done(service: &Service) {
    let item = service.create(PROPOSALS, PROPOSAL);
    let under = |method: &str, etag: &str| write(service, method, &item).header("if-match", etag);
    let etag = under("PUT", &item.etag).expect(200).etag();
    let etag = under("PATCH", &format!("\"other\", {etag}")).expect(200).etag();
    under("PUT", "\"other\"").header("if-match", &etag).expect(200);
    under("PUT", "*").expect(200);
    write(service, "PUT", &item).expect(200);
    under("DELETE", "*").expect(204);
    under("DELETE", "*").expect(404);
}

fn if_none_match_protects_what_is_there(service: &Service) {
    let item = service.create(PROPOSALS, PROPOSAL);
    let unless =
        |method: &str, tag: &str| write(service, method, &item).header("if-none-match", tag);
    let etag = &*item.etag;
    for condition in ["*", etag, &format!("W/{etag}"), &format!("\"9\", {etag}")] {
        for method in ["PUT", "PATCH", "DELETE", "POST"] {
            let refused = unless(method, condition).expect(412);
            assert_eq!(refused.etag(), etag, "{method} {condition}");
        }
    }
    unless("PUT", "9").expect(400);
    let second = unless("PUT", "\"9\"").header("if-match", etag).expect(200).etag();
    unless("PUT", etag).expect(200);
    write(service, "POST", &item).header("if-match", &second).expect(412);
    let tag = service.read(CASH).etag();
    assert_eq!(service.put(CASH).header("if-none-match", &tag).json("[]").expect(412).etag(), tag);
    service.put(CASH).header("if-none-match", "*").json("[]").expect(412);
    service.put(CASH).header("if-none-match", "\"r999\"").json("[{}]").expect(200);
}

#[test]
fn a_condition_can_be_required() {
    for store in [Store::Sqlite, Store::Postgres] {
        let service = Service::start_with(store, &["--require-if-match"]);
        let item = service.create(PROPOSALS, PROPOSAL);
        for method in ["PUT", "PATCH", "DELETE"] {
            let refused = write(&service, method, &item).expect(428);
            assert!(refused.text().contains("If-Match"), "{refused}");
        }
        service.put(CASH).json("[]").expect(428);
        let etag = write(&service, "PUT", &item).header("if-match", &item.etag).expect(200).etag();
        service.patch(&item.path).header("if-none-match", "\"9\"").json("{}").expect(200);
        service.delete(&item.path).header("if-match", &item.etag).expect(412);
        service.delete(&item.path).header("if-match", &etag).expect(204);
        service.put(CASH).header("if-match", "*").json("[]").expect(200);
    }
}

fn no_increment_is_lost(service: &Service) {
    increments_are_all_counted(&[service]);
}

#[test]
fn no_increment_is_lost_on_two_instances() {
    let service = Service::start(Store::Postgres);
    increments_are_all_counted(&[&service, &service.start_another()]);
}

fn increments_are_all_counted(instances: &[&Service]) {
    let counter = instances[0].create("/v1/files", r#"{"n":0}"#);
    let increment = |service: &Service| {
        loop {
            let read = service.read(&counter.path);
            let next = format!(r#"{{"n":{}}}"#, read.value()["n"].as_u64().expect("a number") + 1);
            let request = service.put(&counter.path).header("if-match", read.etag());
            match request.json(next).send().status {
                412 => {}
                status => break assert_eq!(status, 200),
            }
        }
    };
    std::thread::scope(|scope| {
        for (_, service) in (0..CLIENTS).zip(instances.iter().cycle()) {
            scope.spawn(|| increment(service));
        }
    });
    for service in instances {
        assert_eq!(service.read(&counter.path).value()["n"], CLIENTS);
    }
}

fn of_many_writers_with_one_condition_one_wins(service: &Service) {
    let item = &service.create(PROPOSALS, PROPOSAL);
    let statuses = std::thread::scope(|scope| {
        let write = || write(service, "PUT", item).header("if-match", &item.etag).send().status;
        let writers = [(); 16].map(|()| scope.spawn(write));
        writers.map(|writer| writer.join().expect("a status"))
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(412)), (1, 15), "{statuses:?}");
}

fn the_etag_of_a_collection_changes_with_every_member(service: &Service) {
    let library = format!("{}/lib", service.create(PROPOSALS, PROPOSAL).path);
    for collection in ["/v1/files", "/lib", &library] {
        let etag = || service.read(collection).etag();
        let mut seen = vec![etag()];
        assert_eq!(etag(), seen[0], "{collection} did not change");
        let item = service.create(collection, "{}");
        seen.push(etag());
        service.replace(&item.path, r#"{"a":1}"#);
        seen.push(etag());
        service.change(&item.path, r#"{"a":2}"#);
        seen.push(etag());
        let other = service.create(collection, "{}");
        seen.push(etag());
        service.remove(&other.path);
        seen.push(etag());
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{collection}: {seen:?}");
    }
}
