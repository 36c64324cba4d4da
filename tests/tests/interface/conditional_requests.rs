//! Conditional requests (RFC 9110, section 13): no lost updates, no needless downloads.

use tests::{Service, Store, on_each_store};

use crate::{PROPOSAL, UNKNOWN_ID};

#[test]
fn every_item_answer_has_an_etag_of_its_version() {
    on_each_store(|service| {
        let created = service.post("/v1/proposals").json(PROPOSAL).send().expect(201);
        let path = format!("/v1/proposals/{}", created.id());
        let put = service.put(&path).json(PROPOSAL.replace("kit", "kits")).send().expect(200);
        let patched = service.patch(&path).json(r#"{"description":"x"}"#).send().expect(200);
        let got = service.get(&path).send().expect(200);
        assert_eq!(got.etag(), patched.etag());
        assert_ne!(created.etag(), put.etag());
        assert_ne!(put.etag(), patched.etag());
        for answer in [created, put, patched, got] {
            let modified = answer.needed_header("last-modified");
            assert!(modified.len() == 29 && modified.ends_with(" GMT"), "an HTTP date on {answer}");
        }
    });
}

#[test]
fn every_answer_says_how_long_it_may_be_kept() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"a":1}"#);
        let version = format!("{}/versions/1", item.path);
        for target in [
            "/",
            "/v1/files",
            item.path.as_str(),
            version.as_str(),
            "/v1/changes",
            "/rules",
            "/openapi.json",
            "/docs",
            "/explore/files",
            "/favicon.ico",
            "/healthz",
            "/v1/nothing",
        ] {
            for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
                let answer = service.request(method, target).send();
                assert_eq!(answer.header("cache-control"), Some("no-cache"), "{answer}");
            }
        }
        let known = service.get(&item.path).header("if-none-match", &item.etag).send().expect(304);
        assert_eq!(known.needed_header("cache-control"), "no-cache");
        let written = service.put(&item.path).json("{}").send().expect(200);
        assert_eq!(written.needed_header("cache-control"), "no-cache");
        let export = service.get("/exports/files.csv").send_unchecked();
        assert_eq!(export.needed_header("cache-control"), "no-store");
        let head = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(70_000));
        let refused = tests::send_bytes(service.address(), head.as_bytes());
        let refused = String::from_utf8_lossy(&refused).into_owned();
        assert!(refused.contains("cache-control: no-cache\r\n"), "{refused}");
    });
}

#[test]
fn the_date_of_the_last_write_is_304_once_it_is_settled() {
    const FUTURE: &str = "Fri, 31 Dec 2100 23:59:59 GMT";
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        let version = format!("{}/versions/1", item.path);
        let read =
            |target: &str, date: &str| service.get(target).header("if-modified-since", date).send();
        let date = service.get(&item.path).send().needed_header("last-modified").to_owned();
        read(&item.path, &date).expect(200);
        std::thread::sleep(std::time::Duration::from_millis(2100));
        for target in [&item.path, &version] {
            let known = read(target, &date).expect(304);
            assert!(!known.etag().is_empty() && known.body.is_empty(), "{known}");
            service.request("HEAD", target).header("if-modified-since", &date).send().expect(304);
            read(target, FUTURE).expect(304);
            read(target, "Thu, 01 Jan 1970 00:00:00 GMT").expect(200);
            read(target, "yesterday").expect(200);
            for (tag, status) in [("\"other\"", 200), ("*", 304)] {
                let both = service.get(target).header("if-none-match", tag);
                both.header("if-modified-since", &date).send().expect(status);
            }
        }
        // Embedded items change without a write of the item.
        let embedding = service.get(&format!("{}?embed=lib", item.path));
        let embedding = embedding.header("if-modified-since", FUTURE).send().expect(200);
        assert_eq!(embedding.header("last-modified"), None, "{embedding}");
        // Writes know no dates.
        let put = service.put(&item.path).header("if-modified-since", FUTURE).json(PROPOSAL);
        put.send().expect(200);
        read(&item.path, FUTURE).expect(200);
    });
}

#[test]
fn what_the_client_already_has_is_304() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        let collection = service.get("/v1/proposals").send().expect(200).etag();
        for (target, etag) in [(item.path.as_str(), &item.etag), ("/v1/proposals", &collection)] {
            for (condition, status) in [
                (etag.clone(), 304),
                (format!("W/{etag}"), 304),
                (format!("\"other\", {etag}"), 304),
                ("*".to_owned(), 304),
                ("\"other\"".to_owned(), 200),
            ] {
                for method in ["GET", "HEAD"] {
                    let answer = service
                        .request(method, target)
                        .header("if-none-match", &condition)
                        .send()
                        .expect(status);
                    assert_eq!(&answer.etag(), etag, "{answer}");
                }
            }
            let lines = service
                .get(target)
                .header("if-none-match", "\"other\"")
                .header("if-none-match", etag);
            lines.send().expect(304);
        }
        service
            .get(&format!("/v1/proposals/{UNKNOWN_ID}"))
            .header("if-none-match", "*")
            .send()
            .expect(404);
    });
}

#[test]
fn a_write_under_a_condition_that_does_not_hold_is_412() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        let current = service.put(&item.path).json(PROPOSAL).send().expect(200).etag();
        let before = service.contents("/v1/proposals");
        for condition in [
            item.etag.clone(),
            format!("{}, \"other\"", item.etag),
            format!("W/{current}"),
            "\"other\"".to_owned(),
        ] {
            for (method, body) in
                [("PUT", PROPOSAL), ("PATCH", "{\"description\":\"x\"}"), ("DELETE", "")]
            {
                let request = service.request(method, &item.path).header("if-match", &condition);
                let request = if body.is_empty() { request } else { request.json(body) };
                assert_eq!(
                    request.send().expect(412).etag(),
                    current,
                    "the current ETag comes with 412"
                );
            }
        }
        assert_eq!(service.contents("/v1/proposals"), before);
    });
}

#[test]
fn a_write_under_a_condition_that_holds_goes_through() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        let etag = service
            .put(&item.path)
            .header("if-match", &item.etag)
            .json(PROPOSAL)
            .send()
            .expect(200)
            .etag();
        let list = format!("\"other\", {etag}");
        let etag = service
            .patch(&item.path)
            .header("if-match", list)
            .json(r#"{"description":"x"}"#)
            .send()
            .expect(200)
            .etag();
        let lines = service
            .put(&item.path)
            .header("if-match", "\"other\"")
            .header("if-match", &etag)
            .json(PROPOSAL);
        lines.send().expect(200);
        service.put(&item.path).header("if-match", "*").json(PROPOSAL).send().expect(200);
        service.put(&item.path).json(PROPOSAL).send().expect(200);
        service.delete(&item.path).header("if-match", "*").send().expect(204);
        service.delete(&item.path).header("if-match", "*").send().expect(404);
    });
}

#[test]
fn if_none_match_protects_what_is_there() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        for condition in [
            "*".to_owned(),
            item.etag.clone(),
            format!("W/{}", item.etag),
            format!("\"9\", {}", item.etag),
        ] {
            for (method, body) in [
                ("PUT", PROPOSAL),
                ("PATCH", "{\"description\":\"x\"}"),
                ("DELETE", ""),
                ("POST", PROPOSAL),
            ] {
                let request =
                    service.request(method, &item.path).header("if-none-match", &condition);
                let request = if body.is_empty() { request } else { request.json(body) };
                assert_eq!(request.send().expect(412).etag(), item.etag, "{method} {condition}");
            }
        }
        service.put(&item.path).header("if-none-match", "9").json(PROPOSAL).send().expect(400);
        let both = service
            .put(&item.path)
            .header("if-match", &item.etag)
            .header("if-none-match", "\"9\"")
            .json(PROPOSAL);
        let etag = both.send().expect(200).etag();
        service
            .put(&item.path)
            .header("if-none-match", &item.etag)
            .json(PROPOSAL)
            .send()
            .expect(200);
        service.post(&item.path).header("if-match", &etag).json(PROPOSAL).send().expect(412);
        let cash = "/v1/cashprogram";
        let tag = service.get(cash).send().expect(200).etag();
        assert_eq!(
            service.put(cash).header("if-none-match", &tag).json("[]").send().expect(412).etag(),
            tag
        );
        service.put(cash).header("if-none-match", "*").json("[]").send().expect(412);
        service.put(cash).header("if-none-match", "\"r999\"").json("[{}]").send().expect(200);
    });
}

#[test]
fn a_condition_can_be_required() {
    for store in [Store::Sqlite, Store::Postgres] {
        let service = Service::start_with(store, &["--require-if-match"]);
        let item = service.create("/v1/proposals", PROPOSAL);
        for (method, body) in [("PUT", PROPOSAL), ("PATCH", "{}"), ("DELETE", "")] {
            let request = || service.request(method, &item.path);
            let refused =
                if body.is_empty() { request().send() } else { request().json(body).send() };
            let refused = refused.expect(428);
            assert!(refused.text().contains("If-Match"), "{refused}");
        }
        service.put("/v1/cashprogram").json("[]").send().expect(428);
        let etag = service
            .put(&item.path)
            .header("if-match", &item.etag)
            .json(PROPOSAL)
            .send()
            .expect(200)
            .etag();
        service.patch(&item.path).header("if-none-match", "\"9\"").json("{}").send().expect(200);
        service.delete(&item.path).header("if-match", &item.etag).send().expect(412);
        service.delete(&item.path).header("if-match", &etag).send().expect(204);
        service.put("/v1/cashprogram").header("if-match", "*").json("[]").send().expect(200);
    }
}

/// Clients that read, add one and write under the tag they read, until it is theirs.
const CLIENTS: usize = 64;

#[test]
fn no_increment_is_lost_on_one_instance_or_on_two() {
    on_each_store(|service| increments_are_all_counted(&[service]));
    let service = Service::start(Store::Postgres);
    let another = service.start_another();
    increments_are_all_counted(&[&service, &another]);
}

fn increments_are_all_counted(instances: &[&Service]) {
    let counter = instances[0].create("/v1/files", r#"{"n":0}"#);
    let increment = |service: &Service| {
        loop {
            let read = service.get(&counter.path).send().expect(200);
            let next = format!(r#"{{"n":{}}}"#, read.value()["n"].as_u64().expect("a number") + 1);
            match service
                .put(&counter.path)
                .header("if-match", read.etag())
                .json(next)
                .send()
                .status
            {
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
        assert_eq!(service.get(&counter.path).send().expect(200).value()["n"], CLIENTS);
    }
}

#[test]
fn of_many_writers_with_one_condition_one_wins() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        let statuses: Vec<_> = std::thread::scope(|scope| {
            let write = |number: usize| {
                let body = PROPOSAL.replace("kit", &format!("kit {number}"));
                let (path, etag) = (&item.path, &item.etag);
                scope.spawn(move || {
                    service.put(path).header("if-match", etag).json(body).send().status
                })
            };
            let writers: Vec<_> = (0..16).map(write).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((count(200), count(412)), (1, 15), "{statuses:?}");
    });
}

#[test]
fn the_etag_of_a_collection_changes_with_every_member() {
    on_each_store(|service| {
        let library = format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path);
        for collection in ["/v1/files", "/lib", &library] {
            let etag = || service.get(collection).send().expect(200).etag();
            let mut seen = vec![etag()];
            assert_eq!(etag(), seen[0], "{collection} did not change");
            let item = service.create(collection, "{}");
            seen.push(etag());
            service.put(&item.path).json(r#"{"a":1}"#).send().expect(200);
            seen.push(etag());
            service.patch(&item.path).json(r#"{"a":2}"#).send().expect(200);
            seen.push(etag());
            let other = service.create(collection, "{}");
            seen.push(etag());
            service.delete(&other.path).send().expect(204);
            seen.push(etag());
            assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{collection}: {seen:?}");
        }
    });
}
