//! Bodies of the largest size with only brackets, members or elements, many at once: parsed, they take
//! many times their size.

use std::thread;

use tests::{Service, Store};

use crate::attack::{alone, expect_total, withstands, withstands_alone};

const FILES: &str = "/v1/files";
const CASH_PROGRAM: &str = "/v1/cashprogram";

/// The limit of a request's body.
const LIMIT: usize = 8 << 20;

/// How many are sent at once.
const AT_ONCE: usize = 8;

/// `start`, as many parts as fit in `size` bytes, and `end`.
fn filled(size: usize, start: &str, part: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = start.to_owned();
    for number in 0.. {
        let part = part(number);
        if text.len() + part.len() + end.len() > size {
            break;
        }
        text += &part;
    }
    text + end
}

fn ones(size: usize) -> String {
    filled(size, "{\"a\":[1", |_| ",1".to_owned(), "]}")
}

fn members(size: usize) -> String {
    filled(size, "{\"\":0", |number| format!(",\"a{number}\":{number}"), "}")
}

/// Sends a body several times at once.
fn send(service: &Service, times: usize, request: (&str, &str, &str), expected: &[u16]) {
    withstands(service, || send_at_once(service, times, request, expected));
}

fn send_at_once(service: &Service, times: usize, request: (&str, &str, &str), expected: &[u16]) {
    let (method, path, body) = request;
    thread::scope(|scope| {
        for _ in 0..times {
            scope.spawn(|| {
                let answer = service.request(method, path).json(body).send_unchecked();
                let start = String::from_utf8_lossy(&answer.body[..answer.body.len().min(500)]);
                assert!(expected.contains(&answer.status), "{}: {start}", answer.status);
            });
        }
    });
}

#[test]
fn eight_wide_bodies_at_once_are_taken() {
    tests::on_each_store(|service| {
        let item = service.create(FILES, "{}").path;
        for (method, path, body, expected) in [
            ("POST", FILES, ones(LIMIT), &[201][..]),
            ("POST", FILES, members(LIMIT), &[201]),
            (
                "POST",
                FILES,
                filled(LIMIT, "{\"a\":{", |n| format!("\"a{n}\":0,"), "\"\":0}}"),
                &[201],
            ),
            ("POST", FILES, filled(LIMIT, "{\"a\":\"", |_| "a b ".to_owned(), "\"}"), &[201]),
            ("PUT", &item, members(LIMIT), &[200, 503]),
            ("PATCH", &item, ones(LIMIT / 2), &[422]),
        ] {
            send(service, AT_ONCE, (method, path, &body), expected);
        }
        // A search indexes them within the memory, too.
        assert_eq!(service.list(FILES, "q=nothing").value()["total_items"], 0);
    });
}

#[test]
fn wide_and_deep_bodies_are_refused_without_much_memory() {
    const PROPOSALS: &str = "/v1/proposals";
    let service = Service::start(Store::Sqlite);
    let repeated =
        |start: &str, part: &'static str, end| filled(LIMIT, start, |_| part.to_owned(), end);
    let array = repeated("[1", ",1", "]");
    let duplicate = filled(LIMIT, "{\"a0\":0", |number| format!(",\"a{number}\":0"), "}");
    let half = LIMIT / 2;
    let balanced = format!("{{\"a\":{}{}}}", "[".repeat(half - 10), "]".repeat(half - 10));
    for (method, path, body, status) in [
        ("POST", FILES, array.clone(), 400),
        ("POST", FILES, duplicate, 400),
        ("POST", FILES, repeated("{\"a\":[1e999999", ",1e999999", "]}"), 422),
        ("POST", FILES, members(LIMIT - 1) + "\u{7f}", 400),
        ("POST", PROPOSALS, members(LIMIT), 422),
        ("POST", PROPOSALS, ones(LIMIT), 422),
        ("PUT", CASH_PROGRAM, array, 422),
        ("PUT", CASH_PROGRAM, repeated("[{}", ",{}", "]"), 422),
        ("POST", FILES, "[".repeat(LIMIT), 400),
        ("PUT", CASH_PROGRAM, "[".repeat(LIMIT), 400),
        ("POST", FILES, "{\"a\":".repeat(LIMIT / 5), 400),
        ("PUT", CASH_PROGRAM, "{\"a\":".repeat(LIMIT / 5), 400),
        ("POST", FILES, balanced.clone(), 400),
        ("PUT", CASH_PROGRAM, balanced, 400),
        ("POST", FILES, "[{\"a\":".repeat(LIMIT / 7), 400),
        ("PUT", CASH_PROGRAM, "[{\"a\":".repeat(LIMIT / 7), 400),
    ] {
        println!("{method} {path} {}", &body[..20]);
        send(&service, AT_ONCE, (method, path, &body), &[status]);
    }
    for path in [FILES, PROPOSALS] {
        expect_total(&service, path, 0);
    }
}

#[test]
fn the_largest_collections_and_many_bodies_of_middle_size_are_taken() {
    let service = Service::start(Store::Sqlite);
    let collection = format!("[{}]", vec!["{}"; 50_000].join(","));
    let guard = alone();
    let request = ("PUT", CASH_PROGRAM, collection.as_str());
    withstands_alone(&service, || send_at_once(&service, AT_ONCE, request, &[200, 503]));
    drop(guard);
    expect_total(&service, CASH_PROGRAM, 50_000);
    send(&service, 64, ("POST", FILES, &members(1 << 20)), &[201]);
}
