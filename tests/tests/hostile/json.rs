//! Bodies of the largest size that are nothing but brackets, members or elements, many at once: in
//! work they take many times what they take on the wire, if anything does.

use std::thread;

use tests::{Service, Store};

use crate::attack::withstands;

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
fn at_once(
    service: &Service,
    method: &str,
    path: &str,
    body: &str,
    times: usize,
    expected: &[u16],
) {
    withstands(service, || {
        thread::scope(|scope| {
            for _ in 0..times {
                scope.spawn(|| {
                    let answer = service.request(method, path).json(body).send_unchecked();
                    let said = &answer.body[..answer.body.len().min(500)];
                    assert!(
                        expected.contains(&answer.status),
                        "{}: {}",
                        answer.status,
                        String::from_utf8_lossy(said)
                    );
                });
            }
        });
    });
}

#[test]
fn eight_wide_bodies_at_once_are_taken() {
    tests::on_each_store(|service| {
        let texts = filled(LIMIT, "{\"a\":\"", |_| "a b ".to_owned(), "\"}");
        for body in [
            ones(LIMIT),
            members(LIMIT),
            filled(LIMIT, "{\"a\":{", |n| format!("\"a{n}\":0,"), "\"\":0}}"),
            texts,
        ] {
            at_once(service, "POST", FILES, &body, AT_ONCE, &[201]);
        }
        // What was indexed of them, too, was within the memory.
        assert_eq!(service.list(FILES, "q=nothing").value()["total_items"], 0);
    });
}

#[test]
fn eight_wide_replacements_and_patches_at_once_are_done_one_after_the_other() {
    tests::on_each_store(|service| {
        let item = service.create(FILES, "{}");
        at_once(service, "PUT", &item.path, &members(LIMIT), AT_ONCE, &[200, 503]);
        at_once(service, "PATCH", &item.path, &ones(LIMIT / 2), AT_ONCE, &[422]);
    });
}

#[test]
fn wide_bodies_that_are_refused_are_refused_without_much_memory() {
    let service = Service::start(Store::Sqlite);
    let array = filled(LIMIT, "[1", |_| ",1".to_owned(), "]");
    let duplicate = filled(LIMIT, "{\"a0\":0", |number| format!(",\"a{number}\":0"), "}");
    let unstorable = filled(LIMIT, "{\"a\":[1e999999", |_| ",1e999999".to_owned(), "]}");
    let not_text = members(LIMIT - 1) + "\u{7f}";
    for (path, body, status) in [
        (FILES, array.as_str(), 400),
        (FILES, &duplicate, 400),
        (FILES, &unstorable, 422),
        (FILES, &not_text, 400),
        ("/v1/proposals", &members(LIMIT), 422),
        ("/v1/proposals", &ones(LIMIT), 422),
    ] {
        at_once(&service, "POST", path, body, AT_ONCE, &[status]);
    }
    at_once(&service, "PUT", CASH_PROGRAM, &array, AT_ONCE, &[422]);
    at_once(
        &service,
        "PUT",
        CASH_PROGRAM,
        &filled(LIMIT, "[{}", |_| ",{}".to_owned(), "]"),
        AT_ONCE,
        &[422],
    );
    for path in [FILES, "/v1/proposals"] {
        assert_eq!(service.get(path).send().expect(200).value()["total_items"], 0);
    }
}

#[test]
fn deep_bodies_are_400() {
    let service = Service::start(Store::Sqlite);
    let half = LIMIT / 2;
    for body in [
        "[".repeat(LIMIT),
        "{\"a\":".repeat(LIMIT / 5),
        format!("{{\"a\":{}{}}}", "[".repeat(half - 10), "]".repeat(half - 10)),
        "[{\"a\":".repeat(LIMIT / 7),
    ] {
        at_once(&service, "POST", FILES, &body, AT_ONCE, &[400]);
        at_once(&service, "PUT", CASH_PROGRAM, &body, AT_ONCE, &[400]);
    }
}

#[test]
fn as_many_elements_as_are_taken_at_once_are_done_or_told_to_wait() {
    let service = Service::start(Store::Sqlite);
    let collection = format!("[{}]", vec!["{}"; 50_000].join(","));
    at_once(&service, "PUT", CASH_PROGRAM, &collection, AT_ONCE, &[200, 503]);
    assert_eq!(service.get(CASH_PROGRAM).send().expect(200).value()["total_items"], 50_000);
}

#[test]
fn many_bodies_of_middle_size_are_taken_and_keep_no_small_one_waiting() {
    let service = Service::start(Store::Sqlite);
    at_once(&service, "POST", FILES, &members(1 << 20), 64, &[201]);
}
