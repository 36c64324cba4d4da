//! Bodies that come slowly, by halves, or in malformed chunks.

use tests::{Service, Store};

use crate::attack::{Raw, expect_one, expect_total, head_of_post, send_slowly, withstands};

const FILES: &str = "/v1/files";

#[test]
fn bodies_sent_by_halves_and_byte_by_byte_are_408_and_leave_nothing() {
    let service = Service::start_with(Store::Sqlite, &["--body-timeout", "2s"]);
    withstands(&service, || {
        let head = head_of_post(FILES, "Content-Length: 1000");
        let chunked = head_of_post(FILES, "Transfer-Encoding: chunked");
        let large = head_of_post(FILES, "Content-Length: 8000000");
        let halves = [
            format!("{head}{{\"a\":"),
            format!("{chunked}5\r\n{{\"a\""),
            format!("{chunked}3e8\r\n"),
            // More than the service keeps of a large body before it gives it a separate share.
            format!("{large}{}", " ".repeat(2_000_000)),
        ];
        let halves = halves.iter().cycle().take(200);
        send_slowly(&service, halves, &[408, 503], (&head, "{\"a\":1}"));
    });
    expect_total(&service, FILES, 0);
}

#[test]
fn bodies_that_end_too_soon_and_malformed_chunks_are_400_and_leave_nothing() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        let short = head_of_post(FILES, "Content-Length: 1000") + "{}";
        expect_one(&service, "a short body", short, &[400]);
        // A client that hangs up at once gets no answer.
        for _ in 0..500 {
            drop(Raw::open(&service).send(head_of_post(FILES, "Content-Length: 10") + "{"));
        }
        for (chunks, allowed) in [
            ("", &[400][..]),
            ("2\r\n{}\r\n", &[400]),
            ("zz\r\n{}\r\n0\r\n\r\n", &[400]),
            ("-2\r\n{}\r\n0\r\n\r\n", &[400]),
            ("0x2\r\n{}\r\n0\r\n\r\n", &[400]),
            ("\r\n{}\r\n0\r\n\r\n", &[400]),
            ("2\r\n{}XX\r\n0\r\n\r\n", &[400]),
            ("2\n{}\n0\n\n", &[400]),
            ("fffffffffffffffff\r\n{}\r\n0\r\n\r\n", &[400]),
            ("ffffffffffffffff\r\n{}", &[400, 413]),
            ("2\u{0}\r\n{}\r\n0\r\n\r\n", &[400]),
            (&format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(100_000)), &[400]),
            (&format!("2\r\n{{}}\r\n0\r\n{}\r\n", "x: y\r\n".repeat(100_000)), &[400]),
        ] {
            let what = chunks[..chunks.len().min(60)].escape_debug().to_string();
            let head = head_of_post(FILES, "Transfer-Encoding: chunked");
            expect_one(&service, &what, head + chunks, allowed);
        }
    });
    expect_total(&service, FILES, 0);
}
