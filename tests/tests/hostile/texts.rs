//! Texts that are too long, too many, or no texts: in paths, queries, headers and bodies.

use tests::{Service, Store};

use crate::attack::{answer_to, head_of_post, statuses, withstands};

/// A request with `Connection: close` for the target, with one more line in its head.
fn get(target: &[u8], line: &[u8]) -> Vec<u8> {
    [b"GET ", target, b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", line, b"\r\n\r\n"]
        .concat()
}

#[test]
fn what_is_too_long_is_414_or_431() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        let long = |bytes: usize| "a".repeat(bytes);
        for (what, request, status) in [
            ("a path", get(format!("/{}", long(70_000)).as_bytes(), b"a: b"), 414),
            ("a query", get(format!("/v1/files?q={}", long(70_000)).as_bytes(), b"a: b"), 414),
            (
                "a method",
                format!("{} / HTTP/1.1\r\nHost: localhost\r\n\r\n", long(200_000)).into_bytes(),
                414,
            ),
            ("a target without end", long(20_000_000).into_bytes(), 414),
            ("a header", get(b"/v1/files", format!("a: {}", long(200_000)).as_bytes()), 431),
            (
                "a name of a header",
                get(b"/v1/files", format!("{}: b", long(200_000)).as_bytes()),
                431,
            ),
            ("headers", get(b"/v1/files", "a: b\r\n".repeat(200).trim_end().as_bytes()), 431),
            (
                "headers without end",
                get(b"/v1/files", "a: b\r\n".repeat(2_000_000).as_bytes()),
                431,
            ),
            (
                "a path that is just taken",
                get(format!("/{}", long(60_000)).as_bytes(), b"a: b"),
                404,
            ),
        ] {
            let text = answer_to(&service, request);
            assert_eq!(statuses(&text), [status], "{what}: {}", &text[..text.len().min(500)]);
        }
    });
}

#[test]
fn huge_numbers_of_parameters_and_tags_are_refused_at_once() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        for (what, query) in [
            ("parameters", "a=1&".repeat(15_000)),
            ("filters", "filter[a]=1&".repeat(5_000)),
            ("operators", format!("filter[a]={{{}}}", "%22eq%22:1,".repeat(5_000))),
            ("values", format!("filter[a][in]={}", "1,".repeat(25_000))),
            ("fields", format!("fields={}", "a,".repeat(25_000))),
            ("keys", format!("sort={}", "a,".repeat(25_000))),
            ("relations", format!("embed={}", "lib,".repeat(15_000))),
            ("words", format!("q={}", "a+".repeat(25_000))),
            ("quotation marks", format!("q={}", "%22".repeat(20_001))),
            ("brackets", format!("filter{}=1", "[a]".repeat(15_000))),
            ("percent signs", format!("{}=1", "%25".repeat(20_000))),
            ("a cursor", format!("cursor={}", "A".repeat(60_000))),
            ("digits", format!("page={}", "9".repeat(60_000))),
        ] {
            let text = answer_to(&service, get(format!("/v1/files?{query}").as_bytes(), b"a: b"));
            assert_eq!(statuses(&text), [400], "{what}: {}", &text[..text.len().min(500)]);
        }
        for (name, element, expected) in [
            ("Accept", "a/b;q=0.1,", 406),
            ("Accept", "*/*;q=0.0,", 406),
            ("Accept-Encoding", "gzip;q=0,", 200),
            ("If-None-Match", "\"1\",", 200),
            ("If-Match", "W/\"1\",", 200),
            ("If-None-Match", "\"", 400),
            ("Range", "bytes=0-1,", 200),
            ("Cookie", "a=b;", 200),
            ("X-Forwarded-For", "1.1.1.1,", 200),
        ] {
            let line = format!("{name}: {}", element.repeat(60_000 / element.len()));
            let text = answer_to(&service, get(b"/v1/files", line.as_bytes()));
            assert_eq!(statuses(&text), [expected], "{name}: {}", &text[..text.len().min(500)]);
        }
    });
}

#[test]
fn bytes_that_are_no_text_are_refused_wherever_they_stand() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/files", r#"{"a":1}"#);
    withstands(&service, || {
        for (target, status) in [
            (&b"/v1/files/\x00"[..], 400),
            (b"/v1/\xff\xfe", 404),
            (b"/v1/files/%00", 404),
            (b"/v1/files/%ff%fe", 404),
            (b"/v1/files/%c0%af", 404),
            (b"/v1/files/%ed%a0%80", 404),
            (b"/v1/files?q=\x00", 400),
            (b"/v1/files?q=%00", 400),
            (b"/v1/files?q=%ff", 400),
            (b"/v1/files?%00=1", 400),
            (b"/v1/files?filter[%00]=1", 400),
            (b"/v1/files?filter[a]=%00", 400),
            (b"/v1/files?filter[a]=%ed%a0%80", 400),
            (b"/v1/files?sort=%00", 400),
            (b"/v1/files?fields=%c0%80", 400),
            (b"/v1/files?cursor=%00", 400),
            (b"/v1/changes?after=%00", 400),
        ] {
            let text = answer_to(&service, get(target, b"a: b"));
            let found = statuses(&text);
            // Bytes beyond ASCII are no URI; whether the server says so or finds no such path, it
            // refuses.
            assert!(
                found == [status] || (target.contains(&0xff) && found == [400]),
                "{}: {text}",
                target.escape_ascii()
            );
        }
        for name in [
            "Accept",
            "Accept-Encoding",
            "Content-Type",
            "If-Match",
            "If-None-Match",
            "Origin",
            "X-Request-Id",
            "User-Agent",
        ] {
            for value in [&b"\xff\xfe"[..], b"\xed\xa0\x80", b"\x80\"", b"caf\xe9"] {
                let text = answer_to(
                    &service,
                    get(item.path.as_bytes(), &[name.as_bytes(), b": ", value].concat()),
                );
                assert!(matches!(statuses(&text)[..], [200 | 400 | 406]), "{name}: {text}");
            }
            for value in [&b"a\x00b"[..], b"a\x01b", b"a\x7fb", b"a\rb"] {
                let text = answer_to(
                    &service,
                    get(item.path.as_bytes(), &[name.as_bytes(), b": ", value].concat()),
                );
                assert_eq!(statuses(&text), [400], "{name}: {text}");
            }
        }
        for (body, status) in [
            (&b"{\"a\":\"\xff\"}"[..], 400),
            (b"{\"a\":\"\xc0\x80\"}", 400),
            (b"{\"a\":\"\xed\xa0\x80\"}", 400),
            (b"{\"a\":\"\x00\"}", 400),
            (b"\x00{}", 400),
            (b"{}\x00", 400),
            (b"\xef\xbb\xbf{}", 400),
            (b"\xff\xfe{\x00}\x00", 400),
            (b"{\"a\":\"\\u0000\"}", 422),
            (b"{\"\\u0000\":1}", 422),
            (b"{\"a\":\"\\ud800\"}", 400),
        ] {
            let head = head_of_post("/v1/files", &format!("Content-Length: {}", body.len()));
            let text = answer_to(&service, [head.as_bytes(), body].concat());
            assert_eq!(statuses(&text), [status], "{}: {text}", body.escape_ascii());
        }
    });
    assert_eq!(service.get("/v1/files").send().expect(200).value()["total_items"], 1);
}
