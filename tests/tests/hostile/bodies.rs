//! Bodies that come slowly, by halves, or in chunks that are none.

use std::thread;
use std::time::Duration;

use tests::{Service, Store};

use crate::attack::{Raw, answer_to, head_of_post, statuses, withstands};

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
            // More than the service keeps of a large body before it gives it a share of its own.
            format!("{large}{}", " ".repeat(2_000_000)),
        ];
        let halves: Vec<_> = (0..200)
            .map(|number| Raw::open(&service).send(&halves[number % halves.len()]))
            .collect();
        thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    let text = Raw::open(&service)
                        .send(&head)
                        .drip("{\"a\":1}", Duration::from_secs(1))
                        .rest();
                    assert!(statuses(&text).iter().all(|status| *status == 408), "{text}");
                });
            }
            for half in halves {
                let text = half.rest();
                assert!(matches!(statuses(&text)[..], [408 | 503]), "{text}");
            }
        });
    });
    assert_eq!(service.get(FILES).send().expect(200).value()["total_items"], 0);
}

#[test]
fn bodies_that_end_too_soon_are_400_and_leave_nothing() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        for framing in [
            "Content-Length: 1000\r\n\r\n{}",
            "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
            "Transfer-Encoding: chunked\r\n\r\n",
        ] {
            let head = head_of_post(FILES, framing);
            let text = answer_to(&service, head.trim_end());
            assert_eq!(statuses(&text), [400], "{framing:?}: {text}");
        }
        // Who hangs up at once is answered nothing.
        for _ in 0..500 {
            drop(Raw::open(&service).send(head_of_post(FILES, "Content-Length: 10") + "{"));
        }
    });
    assert_eq!(service.get(FILES).send().expect(200).value()["total_items"], 0);
}

#[test]
fn malformed_chunks_are_400_and_leave_nothing() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        for chunks in [
            "zz\r\n{}\r\n0\r\n\r\n",
            "-2\r\n{}\r\n0\r\n\r\n",
            "0x2\r\n{}\r\n0\r\n\r\n",
            "\r\n{}\r\n0\r\n\r\n",
            "2\r\n{}XX\r\n0\r\n\r\n",
            "2\n{}\n0\n\n",
            "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
            "2\u{0}\r\n{}\r\n0\r\n\r\n",
            &format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(100_000)),
            &format!("2\r\n{{}}\r\n0\r\n{}\r\n", "x: y\r\n".repeat(100_000)),
        ] {
            let text =
                answer_to(&service, head_of_post(FILES, "Transfer-Encoding: chunked") + chunks);
            assert_eq!(
                statuses(&text),
                [400],
                "{}: {text}",
                &chunks[..chunks.len().min(60)].escape_debug()
            );
        }
        let text = answer_to(
            &service,
            head_of_post(FILES, "Transfer-Encoding: chunked") + "ffffffffffffffff\r\n{}",
        );
        assert!(matches!(statuses(&text)[..], [400 | 413]), "{text}");
    });
    assert_eq!(service.get(FILES).send().expect(200).value()["total_items"], 0);
}
