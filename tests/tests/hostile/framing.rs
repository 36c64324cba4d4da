//! Requests with two different ends, so that a proxy and the service could disagree about where the
//! next one begins (request smuggling): a request hidden in a body is never executed.

use tests::{Service, Store};

use crate::attack::{answer_to, expect_one, expect_total, statuses, withstands};

const FILES: &str = "/v1/files";

const FRAMINGS: [&str; 25] = [
    "Content-Length: 00x",
    "Content-Length: +0",
    "Content-Length: -0",
    "Content-Length: 0x10",
    "Content-Length: 99999999999999999999999",
    "Content-Length: ",
    "Content-Length : 0",
    " Content-Length: 0",
    "X: y\r\n Content-Length: 0",
    "Content-Length\t: 0",
    "Content-Length:\u{b}0",
    // Codings that are unknown, or not last.
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: identity",
    "Transfer-Encoding: gzip",
    "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\u{b}chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: \"chunked\"",
    // A length and chunks.
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n",
    "Content-Length: 5\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n",
    "Content-Length: 5\r\nTransfer-Encoding:\tchunked\r\n\r\n0\r\n",
    "Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n",
];

#[test]
fn no_request_is_smuggled_in_a_body() {
    let service = Service::start(Store::Sqlite);
    let victim = service.create(FILES, r#"{"is":"here"}"#);
    let hidden = format!("DELETE {} HTTP/1.1\r\nHost: localhost\r\n\r\n", victim.path);
    let length = hidden.len();
    withstands(&service, || {
        let lengths = [
            // Two lengths.
            format!("Content-Length: {length}\r\nContent-Length: 0"),
            format!("Content-Length: 0\r\nContent-Length: {length}"),
            format!("Content-Length: 0, {length}"),
        ];
        for framing in lengths.iter().map(String::as_str).chain(FRAMINGS) {
            let request = format!(
                "POST {FILES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n{hidden}"
            );
            // RFC 9112 section 6.1: an unknown coding is 501.
            let is_unknown = framing.starts_with("Transfer-Encoding: ")
                && !framing.starts_with("Transfer-Encoding: chunked\r\nContent-Length")
                || framing.ends_with("gzip, chunked\r\n\r\n0\r\n");
            let allowed = if is_unknown { vec![501] } else { (400..500).collect() };
            expect_one(&service, framing, request, &allowed);
            let _ = service.get(&victim.path).send().expect(200);
        }
        for (what, head, status) in [
            ("an unsupported type", "POST /v1/files HTTP/1.1\r\nContent-Type: text/plain\r\n", 415),
            ("an unknown path", "POST /v1/nothing HTTP/1.1\r\n", 404),
            ("an unsupported method", "PUT /v1/files HTTP/1.1\r\n", 405),
        ] {
            let head = head.replacen("\r\n", "\r\nHost: localhost\r\n", 1);
            let request = format!("{head}Content-Length: {length}\r\n\r\n{hidden}");
            expect_one(&service, what, request, &[status]);
        }
        let no_host = format!("POST {FILES} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{hidden}");
        expect_one(&service, "no host", no_host, &[400]);
        // An old client's chunks: HTTP/1.0 does not have them.
        let old = format!(
            "POST {FILES} HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
        );
        assert_eq!(statuses(&answer_to(&service, old)).len(), 1);
    });
    let _ = service.get(&victim.path).send().expect(200);
    expect_total(&service, FILES, 1);
}

#[test]
fn pipelined_requests_are_done_once_each_in_their_order() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        let post = |number: usize| {
            let body = format!("{{\"n\":{number}}}");
            let length = body.len();
            format!(
                "POST {FILES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        };
        let posts: String = (0..100).map(post).collect();
        let end = format!(
            "GET {FILES}?page_size=250 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n{}",
            post(100)
        );
        let text = answer_to(&service, posts + &end);
        assert_eq!(statuses(&text), [vec![201; 100], vec![200]].concat());
        // Bytes after the last request are not executed.
        let expected: Vec<_> = (0..100).map(serde_json::Value::from).collect();
        assert_eq!(service.list(FILES, "page_size=250").each("n"), expected);
    });
}
