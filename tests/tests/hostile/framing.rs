//! Requests whose end is told in two ways, so that a proxy and the service could disagree about
//! where the next one begins (request smuggling): what hides in a body is never taken for a
//! request.

use tests::{Service, Store};

use crate::attack::{answer_to, statuses, withstands};

const FILES: &str = "/v1/files";

#[test]
fn no_request_is_smuggled_in_a_body() {
    let service = Service::start(Store::Sqlite);
    let victim = service.create(FILES, r#"{"is":"here"}"#);
    let hidden = format!("DELETE {} HTTP/1.1\r\nHost: localhost\r\n\r\n", victim.path);
    let length = hidden.len();
    withstands(&service, || {
        for framing in [
            // Two lengths.
            &format!("Content-Length: {length}\r\nContent-Length: 0"),
            &format!("Content-Length: 0\r\nContent-Length: {length}"),
            &format!("Content-Length: 0, {length}"),
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
            // Chunks that are none, or not last.
            "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: identity",
            "Transfer-Encoding: gzip",
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
        ] {
            let request = format!(
                "POST {FILES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n{hidden}"
            );
            let text = answer_to(&service, &request);
            // RFC 9112 section 6.1: a coding that is not known is 501.
            let expected = if framing.starts_with("Transfer-Encoding: ")
                && !framing.starts_with("Transfer-Encoding: chunked\r\nContent-Length")
                || framing.ends_with("gzip, chunked\r\n\r\n0\r\n")
            {
                501..=501
            } else {
                400..=499
            };
            let found = statuses(&text);
            assert!(
                matches!(found[..], [status] if expected.contains(&status)),
                "one refusal, and the end of {framing:?}: {text}"
            );
            let _ = service.get(&victim.path).send().expect(200);
        }
    });
    assert_eq!(service.get(FILES).send().expect(200).value()["total_items"], 1);
}

#[test]
fn what_follows_a_refused_body_is_no_request() {
    let service = Service::start(Store::Sqlite);
    let victim = service.create(FILES, r#"{"is":"here"}"#);
    let hidden = format!("DELETE {} HTTP/1.1\r\nHost: localhost\r\n\r\n", victim.path);
    let length = hidden.len();
    withstands(&service, || {
        for (what, head, status) in [
            (
                "a type that is not taken",
                format!("POST {FILES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"),
                415,
            ),
            (
                "a path that is none",
                "POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\n".to_owned(),
                404,
            ),
            (
                "a method that is not served",
                format!("PUT {FILES} HTTP/1.1\r\nHost: localhost\r\n"),
                405,
            ),
            ("no host", format!("POST {FILES} HTTP/1.1\r\n"), 400),
        ] {
            let text =
                answer_to(&service, format!("{head}Content-Length: {length}\r\n\r\n{hidden}"));
            assert_eq!(statuses(&text), [status], "{what}: {text}");
        }
        // An old client's chunks: HTTP/1.0 has none.
        let old = format!(
            "POST {FILES} HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
        );
        assert_eq!(statuses(&answer_to(&service, old)).len(), 1);
    });
    let _ = service.get(&victim.path).send().expect(200);
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
        let answered = statuses(&text);
        assert_eq!(
            (answered.len(), answered[..100].iter().all(|status| *status == 201), answered[100]),
            (101, true, 200),
            "{answered:?}"
        );
        let numbers = service.list(FILES, "page_size=250").each("n");
        assert_eq!(
            numbers,
            (0..100).map(serde_json::Value::from).collect::<Vec<_>>(),
            "what follows the last request is none"
        );
    });
}
