//! Files of rules: they are read again when they change, and none of them stalls the service.

use std::thread;
use std::time::{Duration, Instant};

use tests::{Answer, Service, Store};

use crate::rules::{AMOUNT, RuleFile, errors, one, text};

/// A changed file is in force within this.
const RELOADED_WITHIN: Duration = Duration::from_secs(5);

/// Asks again and again until the answer is as expected.
fn soon(expected: u16, within: Duration, ask: impl Fn() -> Answer) {
    let start = Instant::now();
    loop {
        let answer = ask();
        if answer.status == expected {
            return;
        }
        assert!(start.elapsed() < within, "not in force yet: {answer}");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_changed_file_is_in_force_soon_and_a_bad_one_changes_nothing() {
    let file = RuleFile::new(AMOUNT);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let document = || service.get("/openapi.json").send().expect(200);
    let first = document();
    let post = || service.post("/v1/cashprogram").json(r#"{"amount":"5"}"#).send();
    post().expect(201);
    let stricter = AMOUNT.replace("decimal('0')", "decimal('10')");
    file.change(&stricter);
    soon(422, RELOADED_WITHIN, post);
    file.change("rules: [{id: broken");
    let start = Instant::now();
    while start.elapsed() < RELOADED_WITHIN && !service.log().contains("stay as they were") {
        thread::sleep(Duration::from_millis(100));
    }
    assert!(service.log().contains("rules.yaml:1"), "{}", service.log());
    post().expect(422);
    let log = service.log();
    thread::sleep(Duration::from_secs(3));
    assert_eq!(
        service.log().matches("stay as they were").count(),
        log.matches("stay as they were").count(),
        "a error is told once"
    );
    file.change(&AMOUNT.replace("amount_positive", "amount_not_zero"));
    soon(201, RELOADED_WITHIN, post);
    service.get("/rules/amount_positive").send().expect(404);
    let changed = document();
    assert_ne!(first.header("etag"), changed.header("etag"));
    assert!(
        changed.text().contains("amount_not_zero") && !changed.text().contains("amount_positive")
    );
}

#[test]
fn a_hang_up_reads_the_rules_again() {
    let file = RuleFile::new(AMOUNT);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    file.change(&AMOUNT.replace("decimal('0')", "decimal('10')"));
    service.hang_up();
    soon(422, RELOADED_WITHIN, || service.post("/v1/cashprogram").json(r#"{"amount":"5"}"#).send());
    service.hang_up();
    service.get("/healthz").send().expect(200);
}

const HOSTILE: &str = r#"
rules:
  - id: nested
    group: files
    check: self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))
    message: never
  - id: nested_cash
    group: cashprogram
    check: self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))
    message: never
  - id: exploding
    group: lib
    check: "[self.text].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).size() == 1"
    message: never
"#;

#[test]
fn what_costs_too_much_has_not_passed_and_stalls_nobody() {
    let file = RuleFile::new(HOSTILE);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let numbers = vec!["1"; 100_000].join(",");
    let list = format!(r#"{{"list":[{numbers}]}}"#);
    let letters = format!(r#"{{"text":"{}"}}"#, "x".repeat(4 << 20));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let refused = service.post("/v1/files").json(list.as_str()).send().expect(422);
                assert_eq!(errors(&refused), one("nested", ""));
                assert!(
                    text(&refused.value()["errors"][0]["detail"]).contains("could not be decided"),
                    "{refused}"
                );
                let refused = service.post("/lib").json(letters.as_str()).send().expect(422);
                assert_eq!(errors(&refused), one("exploding", ""));
            });
        }
        for _ in 0..20 {
            service.create("/v1/gadscores", "{}");
        }
    });
    assert!(service.peak_memory() < 200 << 20, "{} MiB", service.peak_memory() >> 20);
    assert!(service.log().contains("nested"), "the log tells of it");
    many_small_ones_stall_nobody(&service);
}

/// Small bodies that take the whole budget, more at a time than there are threads, and one body of
/// many of them.
fn many_small_ones_stall_nobody(service: &Service) {
    let list = format!(r#"{{"list":[{}]}}"#, vec!["1"; 5_000].join(","));
    let many = format!("[{}]", vec![list.as_str(); 40].join(","));
    thread::scope(|scope| {
        let single = (0..100).map(|_| {
            scope.spawn(|| service.post("/v1/files").json(list.as_str()).send().expect(422))
        });
        let mut asked: Vec<_> = single.collect();
        asked.push(
            scope.spawn(|| service.put("/v1/cashprogram").json(many.as_str()).send().expect(422)),
        );
        let mut slowest = Duration::ZERO;
        while !asked.iter().all(thread::ScopedJoinHandle::is_finished) {
            let start = Instant::now();
            service.get("/healthz").send().expect(200);
            slowest = slowest.max(start.elapsed());
        }
        assert!(slowest < Duration::from_secs(2), "others waited {slowest:?}");
    });
}
