//! The server itself: its limits, and requests that must not make it panic, hang or reveal its
//! internals.

use std::collections::BTreeSet;
use std::io::Read as _;

use tests::{Answer, Service, Store, send_bytes};

use crate::PROPOSAL;

/// The limit of a request's body.
const LIMIT: usize = 8 << 20;

tests::cases![
    a_body_of_8_mib_is_taken_and_one_byte_more_is_413,
    every_answer_has_its_own_request_id,
    larger_answers_are_compressed_on_request,
    other_origins_are_refused_by_default,
    no_browser_guesses_types_or_runs_unnamed_scripts,
    hostile_paths_are_refused_politely,
    text_that_looks_like_sql_is_only_text,
    malformed_messages_are_refused,
    the_service_as_a_whole_has_options,
    patches_make_no_item_that_could_not_be_put_back,
    it_serves_many_at_once,
];

fn a_body_of_8_mib_is_taken_and_one_byte_more_is_413(service: &Service) {
    let at_limit = object_of(LIMIT);
    let answer = service.post("/v1/files").json(at_limit.clone()).expect(201);
    service.read(&format!("/v1/files/{}", answer.id())).with_members(&at_limit);
    let before = service.read("/v1/files").etag();
    for too_large in [object_of(LIMIT + 1), object_of(LIMIT * 3)] {
        service.post("/v1/files").json(too_large.clone()).expect(413);
        service.post("/v1/files").json(too_large).chunked().expect(413);
    }
    assert_eq!(service.read("/v1/files").etag(), before);
}

fn every_answer_has_its_own_request_id(service: &Service) {
    let targets = ["/", "/v1/files", "/healthz", "/readyz", "/docs", "/v1/nothing", "/v1/files/x"];
    let ids = targets.iter().enumerate().map(|(at, target)| {
        let answer = service.get(target).expect(if at < 5 { 200 } else { 404 });
        answer.needed_header("x-request-id").to_owned()
    });
    assert_eq!(ids.collect::<BTreeSet<_>>().len(), targets.len());
}

fn larger_answers_are_compressed_on_request(service: &Service) {
    let item = service.create("/v1/files", &object_of(20_000));
    let plain = service.read(&item.path);
    let read = |path: &str, accepted: &str| {
        service.get(path).header("accept-encoding", accepted).expect(200)
    };
    let gzipped = read(&item.path, "gzip");
    assert_eq!(gzipped.header("content-encoding"), Some("gzip"), "{gzipped}");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&gzipped.body[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, plain.text());
    assert!(gzipped.body.len() < plain.body.len());
    for answer in [&plain, &gzipped] {
        let vary = answer.needed_header("vary").to_lowercase();
        assert!(vary.contains("accept-encoding"), "Vary of {answer}");
    }
    let small = read(&service.create("/v1/files", "{}").path, "gzip");
    let refused = ["identity", "gzip;q=0", "br"].map(|accepted| read(&item.path, accepted));
    for answer in refused.iter().chain([&plain, &small]) {
        assert_eq!(answer.header("content-encoding"), None, "{answer}");
    }
}

/// The responses to a simple request and to a preflight of another origin.
fn asked_from(service: &Service, origin: &str, allowed: Option<&str>) -> [Answer; 2] {
    let preflight = service.request("OPTIONS", "/v1/files").header("origin", origin);
    let preflight = preflight.header("access-control-request-method", "POST");
    let preflight = preflight.header("access-control-request-headers", "content-type").send();
    let simple = service.get("/v1/files").header("origin", origin).expect(200);
    for answer in [&simple, &preflight] {
        assert_eq!(answer.header("access-control-allow-origin"), allowed, "{answer}");
    }
    [simple, preflight]
}

fn other_origins_are_refused_by_default(service: &Service) {
    asked_from(service, "https://app.example.org", None);
}

#[test]
fn a_configured_origin_is_allowed() {
    let origin = "https://app.example.org";
    let service = Service::start_with(Store::Sqlite, &["--cors-origin", origin]);
    asked_from(&service, "https://evil.example", None);
    service.get("/v1/files").header("origin", b"\xff\xfe").expect(200);
    let [simple, preflight] = asked_from(&service, origin, Some(origin));
    for (answer, header, names) in [
        (
            preflight,
            "allow",
            "authorization content-type idempotency-key if-match last-event-id prefer",
        ),
        (simple, "expose", "etag link location preference-applied www-authenticate"),
    ] {
        let listed = answer.needed_header(&format!("access-control-{header}-headers"));
        let listed: BTreeSet<_> = listed.to_lowercase().split(", ").map(str::to_owned).collect();
        for name in names.split(' ') {
            assert!(listed.contains(name), "{answer} lacks {name}");
        }
    }
}

fn no_browser_guesses_types_or_runs_unnamed_scripts(service: &Service) {
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
    let refused = raw(service, format!("GET / HTTP/9.9\r\nHost: localhost{CLOSE}")).to_lowercase();
    assert!(refused.contains("x-content-type-options: nosniff"), "{refused}");
}

/// Sends a request on a new connection, and returns the response.
fn raw(service: &Service, request: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(&send_bytes(service.address(), request.as_ref())).into_owned()
}

fn hostile_paths_are_refused_politely(service: &Service) {
    let long = format!("/v1/files/{}", "a".repeat(4000));
    let hostile = "// /. /.. /v1/../v1/files /v1/files/../statuses \
        /v1/files/..%2f..%2f..%2fetc%2fpasswd /docs/../../etc/passwd /docs/..%2f..%2fCargo.toml \
        /v1/files/% /v1/files/%zz /v1/files/%c0%ae%c0%ae /v1/files/%F0%9F%90%9F /v1/fil%65s%00 \
        /V1/FILES /%76%31 /v1%2ffiles /v1/files;x=1 /problems/%00 /rels/%2e%2e";
    for target in hostile.split(' ').chain([&*long]) {
        service.get(target).expect(404);
    }
    let icon = service.read("/favicon.ico").of_type("image/x-icon");
    assert!(icon.body.starts_with(&[0, 0, 1, 0]), "an icon file");
}

fn text_that_looks_like_sql_is_only_text(service: &Service) {
    let hostile = r#"{"proposal_type":"x'); DROP TABLE items; --","project_title":"\" OR 1=1; --","description":"${1} %s $1 ? :a"}"#;
    let item = service.create("/v1/proposals", hostile);
    for id in [
        "'%20OR%20'1'='1",
        "1%3B%20DROP%20TABLE%20items",
        "%27%3B%20SELECT%20pg_sleep(10)--",
        "*",
        "%25",
    ] {
        service.get(&format!("/v1/proposals/{id}")).expect(404);
        service.delete(&format!("/v1/proposals/{id}")).expect(404);
    }
    service.get("/v1/proposals?page=1;DROP%20TABLE%20items").expect(400);
    service.read(&item.path).with_members(hostile);
}

/// The end of a head that asks to close the connection.
const CLOSE: &str = "\r\nConnection: close\r\n\r\n";

fn malformed_messages_are_refused(service: &Service) {
    for request in [
        &b"\xff\xfe\x00\x01"[..],
        b"GET / HTTP/9.9\r\nHost: localhost",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost",
        b"GET /a b HTTP/1.1\r\nHost: localhost",
        b"GET http://evil.example/v1/files HTTP/1.1\r\nHost: evil.example",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443",
        b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1",
    ] {
        let answer = raw(service, [request, CLOSE.as_bytes()].concat());
        assert!(!answer.starts_with("HTTP/1.1 5"), "{} → {answer}", request.escape_ascii());
        service.read("/v1/files");
    }
    let body = object_of(40_000);
    let chunks: Vec<_> = body.chars().map(|byte| format!("1\r\n{byte}\r\n")).collect();
    let post = "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    let chunked = format!("{post}\r\nTransfer-Encoding: chunked{CLOSE}");
    let coded = |coding: &str| {
        format!("{post}\r\nContent-Encoding: {coding}\r\nContent-Length: 2{CLOSE}{{}}")
    };
    let get = |head: &str| format!("GET /v1/files HTTP/1.1{head}{CLOSE}");
    let as_json = "content-type: application/json\r\n";
    for (request, status, part) in [
        (get(""), 400, "malformed-host"),
        (get("\r\nHost: a\r\nHost: b"), 400, "malformed-host"),
        (get("\r\nHost: a b"), 400, "malformed-host"),
        (get("\r\nHost: x:port\r\nAccept: application/json"), 400, as_json),
        (format!("{chunked}zz\r\n{{}}\r\n0\r\n\r\n"), 400, "incomplete-body"),
        (
            format!("{post}\r\nContent-Length: 5\r\nContent-Length: 6{CLOSE}"),
            400,
            "connection: close",
        ),
        (coded("gzip"), 415, "unsupported-media-type"),
        (coded("identity"), 201, "\"version\":1"),
        // Many small chunks take no more than their sum.
        (format!("{chunked}{}0\r\n\r\n", chunks.concat()), 201, "\"version\":1"),
    ] {
        let answer = raw(service, &request);
        let is_so = answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(part);
        assert!(is_so, "{} → {answer}", &request[..request.len().min(300)]);
    }
}

fn the_service_as_a_whole_has_options(service: &Service) {
    for (method, status) in [("OPTIONS", 204), ("GET", 404)] {
        let request = format!("{method} * HTTP/1.1\r\nHost: localhost{CLOSE}");
        let answer = raw(service, &request).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{answer}");
        let methods = "allow: get, head, post, put, patch, delete, options\r\n";
        assert_eq!(answer.contains(methods), status == 204, "{answer}");
    }
}

fn patches_make_no_item_that_could_not_be_put_back(service: &Service) {
    let item = service.create("/v1/files", &object_of(LIMIT / 2));
    let more = object_of(LIMIT / 2 + 100).replacen("text", "more", 1);
    let refused = service.patch(&item.path).json(more).expect(422);
    assert_eq!(refused.value()["errors"][0]["code"], "item_too_large", "{refused}");
    assert_eq!(service.read(&item.path).etag(), item.etag);
}

fn it_serves_many_at_once(service: &Service) {
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let item = service.create("/v1/proposals", PROPOSAL);
                    service.read(&item.path).with_members(PROPOSAL);
                }
            });
        }
    });
    assert_eq!(service.read("/v1/proposals").value()["total_items"], 160);
}

/// A JSON object of exactly this many bytes.
fn object_of(bytes: usize) -> String {
    let (start, end) = (r#"{"text":""#, r#""}"#);
    format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()))
}
