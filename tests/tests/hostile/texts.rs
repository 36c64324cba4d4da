//! Texts that are too long, too many, or not UTF-8: in paths, queries, headers and bodies.

use tests::{Service, Store};

use crate::attack::{expect_one, expect_total, head_of_post, withstands};

/// A request with `Connection: close` for the target, with one more line in its head.
fn get(target: &[u8], line: &[u8]) -> Vec<u8> {
    [b"GET ", target, b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", line, b"\r\n\r\n"]
        .concat()
}

#[test]
fn texts_that_are_too_long_or_too_many_are_414_or_431_or_400() {
    let service = Service::start(Store::Sqlite);
    let long = |bytes: usize| "a".repeat(bytes);
    let with_line = |line: String| get(b"/v1/files", line.as_bytes());
    let to = |target: String| get(target.as_bytes(), b"a: b");
    withstands(&service, || {
        for (what, request, status) in [
            ("a path", to(format!("/{}", long(70_000))), 414),
            ("a query", to(format!("/v1/files?q={}", long(70_000))), 414),
            ("a method", (long(200_000) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n").into(), 414),
            ("a target without end", long(20_000_000).into_bytes(), 414),
            ("a header", with_line(format!("a: {}", long(200_000))), 431),
            ("a name of a header", with_line(format!("{}: b", long(200_000))), 431),
            ("headers", with_line("a: b\r\n".repeat(200).trim_end().to_owned()), 431),
            ("headers without end", with_line("a: b\r\n".repeat(2_000_000)), 431),
            ("a path that is just taken", to(format!("/{}", long(60_000))), 404),
        ] {
            expect_one(&service, what, request, &[status]);
        }
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
            expect_one(&service, what, to(format!("/v1/files?{query}")), &[400]);
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
            expect_one(&service, name, with_line(line), &[expected]);
        }
    });
}

/// Headers that the service reads.
const HEADERS: [&str; 8] = [
    "Accept",
    "Accept-Encoding",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "Origin",
    "X-Request-Id",
    "User-Agent",
];

/// Targets, and their statuses.
const TARGETS: [(&[u8], u16); 17] = [
    (b"/v1/files/\x00", 400),
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
];

#[test]
fn bytes_that_are_not_utf_8_and_nul_are_refused_everywhere() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/files", r#"{"a":1}"#);
    withstands(&service, || {
        for (target, status) in TARGETS {
            // Bytes beyond ASCII may also be refused as no URI.
            let allowed = [status, if target.contains(&0xff) { 400 } else { status }];
            let what = target.escape_ascii().to_string();
            expect_one(&service, &what, get(target, b"a: b"), &allowed);
        }
        for name in HEADERS {
            let not_utf_8 = [&b"\xff\xfe"[..], b"\xed\xa0\x80", b"\x80\"", b"caf\xe9"];
            let controls = [&b"a\x00b"[..], b"a\x01b", b"a\x7fb", b"a\rb"];
            for (values, allowed) in [(not_utf_8, &[200, 400, 406][..]), (controls, &[400])] {
                for value in values {
                    let line = [name.as_bytes(), b": ", value].concat();
                    expect_one(&service, name, get(item.path.as_bytes(), &line), allowed);
                }
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
            let what = body.escape_ascii().to_string();
            expect_one(&service, &what, [head.as_bytes(), body].concat(), &[status]);
        }
    });
    expect_total(&service, "/v1/files", 1);
}
