//! The server itself: limits, and nothing a client sends makes it panic, hang or tell of its
//! inside.

use std::collections::BTreeSet;
use std::io::Read as _;

use tests::{Answer, Service, Store, send_bytes};

use crate::PROPOSAL;

/// The limit of a request's body.
const LIMIT: usize = 8 << 20;

#[test]
fn a_body_of_8_mib_is_taken_and_one_byte_more_is_413() {
    tests::on_each_store(|service| {
        let at_limit = object_of(LIMIT);
        let answer = service.post("/v1/files").json(at_limit.clone()).send().expect(201);
        service
            .get(&format!("/v1/files/{}", answer.id()))
            .send()
            .expect(200)
            .with_members(&at_limit);
        let before = service.get("/v1/files").send().expect(200).etag();
        for too_large in [object_of(LIMIT + 1), object_of(LIMIT * 3)] {
            service.post("/v1/files").json(too_large.clone()).send().expect(413);
            service.post("/v1/files").json(too_large).chunked().send().expect(413);
        }
        assert_eq!(service.get("/v1/files").send().expect(200).etag(), before);
    });
}

#[test]
fn every_answer_has_a_request_id_of_its_own() {
    let service = Service::start(Store::Sqlite);
    let targets = ["/", "/v1/files", "/v1/nothing", "/v1/files/x", "/healthz", "/docs"];
    let ids: BTreeSet<_> = targets
        .map(|target| service.get(target).send().needed_header("x-request-id").to_owned())
        .into();
    assert_eq!(ids.len(), targets.len(), "{ids:?}");
}

#[test]
fn it_says_that_it_is_alive_and_ready() {
    tests::on_each_store(|service| {
        service.get("/healthz").send().expect(200);
        service.get("/readyz").send().expect(200);
    });
}

#[test]
fn larger_answers_are_compressed_for_those_who_ask() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/files", &object_of(20_000));
    let plain = service.get(&item.path).send().expect(200);
    assert_eq!(plain.header("content-encoding"), None, "{plain}");
    let gzipped = service.get(&item.path).header("accept-encoding", "gzip").send().expect(200);
    assert_eq!(gzipped.header("content-encoding"), Some("gzip"), "{gzipped}");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&gzipped.body[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain.text());
    assert!(gzipped.body.len() < plain.body.len());
    for answer in [&plain, &gzipped] {
        assert!(
            answer.needed_header("vary").to_lowercase().contains("accept-encoding"),
            "Vary of {answer}"
        );
    }
    for refusal in ["identity", "gzip;q=0", "br"] {
        let answer = service.get(&item.path).header("accept-encoding", refusal).send().expect(200);
        assert_eq!(answer.header("content-encoding"), None, "{answer}");
    }
    let small = service.create("/v1/files", "{}");
    let answer = service.get(&small.path).header("accept-encoding", "gzip").send().expect(200);
    assert_eq!(answer.header("content-encoding"), None, "{answer}");
}

#[test]
fn other_origins_are_served_only_if_configured() {
    let origin = "https://app.example.org";
    let closed = Service::start(Store::Sqlite);
    let open = Service::start_with(Store::Sqlite, &["--cors-origin", origin]);
    for (service, asking, allowed) in [
        (&closed, origin, None),
        (&open, origin, Some(origin)),
        (&open, "https://evil.example", None),
    ] {
        let simple = service.get("/v1/files").header("origin", asking).send().expect(200);
        assert_eq!(simple.header("access-control-allow-origin"), allowed, "{simple}");
        let preflight = service
            .request("OPTIONS", "/v1/files")
            .header("origin", asking)
            .header("access-control-request-method", "POST");
        let preflight = preflight.header("access-control-request-headers", "content-type").send();
        assert_eq!(preflight.header("access-control-allow-origin"), allowed, "{preflight}");
        let Some(_) = allowed else { continue };
        let lists = |answer: &Answer, header: &str, names: &[&str]| {
            let listed = answer.needed_header(header).to_lowercase();
            let listed: BTreeSet<_> = listed.split(", ").collect();
            for name in names {
                assert!(listed.contains(name), "{header} of {answer} lacks {name}");
            }
        };
        lists(
            &preflight,
            "access-control-allow-headers",
            &[
                "authorization",
                "content-type",
                "idempotency-key",
                "if-match",
                "last-event-id",
                "prefer",
            ],
        );
        lists(
            &simple,
            "access-control-expose-headers",
            &["etag", "link", "location", "preference-applied", "www-authenticate"],
        );
    }
    open.get("/v1/files").header("origin", b"\xff\xfe").send().expect(200);
}

#[test]
fn no_browser_guesses_at_types_or_runs_what_a_page_does_not_name() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/files", "{}");
    for (target, accept) in [
        ("/", "*/*"),
        ("/", "text/html"),
        (item.path.as_str(), "*/*"),
        ("/v1/nothing", "*/*"),
        ("/v1/files/x", "text/html"),
        ("/healthz", "*/*"),
        ("/docs", "*/*"),
        ("/openapi.json", "*/*"),
        ("/favicon.ico", "*/*"),
        ("/problems/no-route", "text/html"),
        ("/rels/program", "text/html"),
    ] {
        let answer = service.get(target).header("accept", accept).send();
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        if answer.header("content-type").is_some_and(|media| media.starts_with("text/html")) {
            assert!(policy.starts_with("default-src 'none';"), "{policy}");
            assert!(!policy.contains("unsafe"), "{policy}");
        }
    }
    let refused = send_bytes(service.address(), b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n");
    let refused = String::from_utf8_lossy(&refused).to_lowercase();
    assert!(refused.contains("x-content-type-options: nosniff"), "{refused}");
}

#[test]
fn pages_have_an_icon() {
    let service = Service::start(Store::Sqlite);
    let icon = service.get("/favicon.ico").send().expect(200);
    assert_eq!(icon.header("content-type"), Some("image/x-icon"));
    assert!(icon.body.starts_with(&[0, 0, 1, 0]), "an icon file");
}

#[test]
fn hostile_paths_are_refused_politely() {
    let service = Service::start(Store::Sqlite);
    let long = format!("/v1/files/{}", "a".repeat(4000));
    for target in [
        "//",
        "/.",
        "/..",
        "/v1/../v1/files",
        "/v1/files/../statuses",
        "/v1/files/..%2f..%2f..%2fetc%2fpasswd",
        "/docs/../../etc/passwd",
        "/docs/..%2f..%2fCargo.toml",
        "/v1/files/%",
        "/v1/files/%zz",
        "/v1/files/%c0%ae%c0%ae",
        "/v1/files/%F0%9F%90%9F",
        "/v1/fil%65s%00",
        "/V1/FILES",
        "/%76%31",
        "/v1%2ffiles",
        "/v1/files;x=1",
        "/problems/%00",
        "/rels/%2e%2e",
        &long,
    ] {
        service.get(target).send().expect(404);
    }
    service.get("/v1/files?page=%ff").send().expect(400);
    service.get("/v1/files?&&&").send().expect(200);
}

#[test]
fn text_that_looks_like_sql_is_only_text() {
    tests::on_each_store(|service| {
        let hostile = r#"{"proposal_type":"x'); DROP TABLE items; --","project_title":"\" OR 1=1; --","description":"${1} %s $1 ? :a"}"#;
        let item = service.create("/v1/proposals", hostile);
        for id in [
            "'%20OR%20'1'='1",
            "1%3B%20DROP%20TABLE%20items",
            "%27%3B%20SELECT%20pg_sleep(10)--",
            "*",
            "%25",
        ] {
            service.get(&format!("/v1/proposals/{id}")).send().expect(404);
            service.delete(&format!("/v1/proposals/{id}")).send().expect(404);
        }
        service.get("/v1/proposals?page=1;DROP%20TABLE%20items").send().expect(400);
        service.get(&item.path).send().expect(200).with_members(hostile);
    });
}

#[test]
fn bytes_that_are_no_request_do_no_harm() {
    let service = Service::start(Store::Sqlite);
    for bytes in [
        &b"\xff\xfe\x00\x01\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /v1/files HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET http://evil.example/v1/files HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n",
        b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\nConnection: close\r\n\r\n",
        b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\nConnection: close\r\n\r\n{}   ",
        b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
    ] {
        let answer = String::from_utf8_lossy(&send_bytes(service.address(), bytes)).into_owned();
        assert!(!answer.starts_with("HTTP/1.1 5"), "{} → {answer}", bytes.escape_ascii());
        service.get("/v1/files").send().expect(200);
    }
}

#[test]
fn what_is_wrong_with_the_message_itself_is_told() {
    let service = Service::start(Store::Sqlite);
    let post = "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
    for (request, status, code) in [
        ("GET /v1/files HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), 400, "malformed-host"),
        (
            "GET /v1/files HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n".to_owned(),
            400,
            "malformed-host",
        ),
        (
            "GET /v1/files HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n".to_owned(),
            400,
            "malformed-host",
        ),
        (
            "GET /v1/files HTTP/1.1\r\nHost: x:port\r\nAccept: application/json\r\nConnection: close\r\n\r\n".to_owned(),
            400,
            "content-type: application/json\r\n",
        ),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n"),
            400,
            "incomplete-body",
        ),
        (
            format!("{post}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{{}}"),
            415,
            "unsupported-media-type",
        ),
        (
            format!("{post}Content-Encoding: identity\r\nContent-Length: 2\r\n\r\n{{}}"),
            201,
            "\"version\":1",
        ),
    ] {
        let answer = String::from_utf8_lossy(&send_bytes(service.address(), request.as_bytes()))
            .into_owned();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(code),
            "{request} → {answer}"
        );
    }
}

#[test]
fn the_service_as_a_whole_has_options() {
    let service = Service::start(Store::Sqlite);
    for (method, status) in [("OPTIONS", 204), ("GET", 404)] {
        let request =
            format!("{method} * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = send_bytes(service.address(), request.as_bytes());
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{answer}");
        let methods = "allow: get, head, post, put, patch, delete, options\r\n";
        assert_eq!(answer.contains(methods), status == 204, "{answer}");
    }
}

#[test]
fn many_small_chunks_take_no_more_than_their_sum() {
    let service = Service::start(Store::Sqlite);
    let body = object_of(40_000);
    let chunks: Vec<_> = body.chars().map(|byte| format!("1\r\n{byte}\r\n")).collect();
    let head = "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let answer =
        send_bytes(service.address(), format!("{head}{}0\r\n\r\n", chunks.concat()).as_bytes());
    assert!(
        answer.starts_with(b"HTTP/1.1 201"),
        "{}",
        answer[..answer.len().min(300)].escape_ascii()
    );
}

#[test]
fn patches_make_no_item_that_could_not_be_put_back() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/files", &object_of(LIMIT / 2));
    let refused = service
        .patch(&item.path)
        .json(object_of(LIMIT / 2 + 100).replacen("text", "more", 1))
        .send()
        .expect(422);
    assert_eq!(refused.value()["errors"][0]["code"], "item_too_large", "{refused}");
    assert_eq!(service.get(&item.path).send().expect(200).etag(), item.etag);
}

#[test]
fn it_serves_many_at_once() {
    tests::on_each_store(|service| {
        std::thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let item = service.create("/v1/proposals", PROPOSAL);
                        service.get(&item.path).send().expect(200).with_members(PROPOSAL);
                    }
                });
            }
        });
        assert_eq!(service.get("/v1/proposals").send().expect(200).value()["total_items"], 160);
    });
}

/// A JSON object of exactly this many bytes.
fn object_of(bytes: usize) -> String {
    let (start, end) = (r#"{"text":""#, r#""}"#);
    format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()))
}
