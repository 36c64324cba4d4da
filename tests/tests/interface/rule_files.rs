//! Files of rules: they are read again when they change, and none of them stalls the service.

use std::thread;
use std::time::{Duration, Instant};

use tests::{Service, Store};

use crate::rules::{RULES, RuleFile, errors, one, text};

/// Asserts that a changed file is in force soon.
#[track_caller]
fn soon(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(5), "not in force yet");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_changed_file_is_in_force_soon_and_a_bad_one_changes_nothing() {
    let file = RuleFile::new(RULES);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let first = service.read("/openapi.json");
    let post = || service.post("/v1/cashprogram").json(r#"{"amount":"5"}"#).send();
    post().expect(201);
    let stricter = RULES.replace("decimal('0')", "decimal('10')");
    file.change(&stricter);
    soon(|| post().status == 422);
    file.change("rules: [{id: broken");
    let refusals = || service.log().matches("are not reloaded").count();
    soon(|| refusals() > 0);
    assert!(service.log().contains("rules.yaml:1"), "{}", service.log());
    post().expect(422);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(refusals(), 1, "an error is logged once");
    file.change(&RULES.replace("amount_positive", "amount_not_zero"));
    soon(|| post().status == 201);
    service.get("/rules/amount_positive").expect(404);
    let changed = service.read("/openapi.json");
    assert_ne!(first.header("etag"), changed.header("etag"));
    let names = ["amount_not_zero", "amount_positive"].map(|name| changed.text().contains(name));
    assert_eq!(names, [true, false]);
}

#[test]
fn a_hang_up_reads_the_rules_again() {
    let file = RuleFile::new(RULES);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    file.change(&RULES.replace("decimal('0')", "decimal('10')"));
    service.hang_up();
    soon(|| service.post("/v1/cashprogram").json(r#"{"amount":"5"}"#).send().status == 422);
    service.hang_up();
    service.read("/healthz");
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
fn a_rule_that_costs_too_much_fails_and_delays_no_other_request() {
    let file = RuleFile::new(HOSTILE);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let numbers = vec!["1"; 100_000].join(",");
    let list = format!(r#"{{"list":[{numbers}]}}"#);
    let letters = format!(r#"{{"text":"{}"}}"#, "x".repeat(4 << 20));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let refused = service.post("/v1/files").json(list.as_str()).expect(422);
                assert_eq!(errors(&refused), one("nested", ""));
                assert!(
                    text(&refused.value()["errors"][0]["detail"])
                        .contains("could not be evaluated"),
                    "{refused}"
                );
                let refused = service.post("/lib").json(letters.as_str()).expect(422);
                assert_eq!(errors(&refused), one("exploding", ""));
            });
        }
        for _ in 0..20 {
            service.create("/v1/gadscores", "{}");
        }
    });
    assert!(service.peak_memory() < 200 << 20, "{} MiB", service.peak_memory() >> 20);
    assert!(service.log().contains("nested"), "the log reports it");
    many_small_ones_delay_no_other_request(&service);
}

/// Small bodies that take the whole budget, more at a time than there are threads, and one body of
/// many of them.
fn many_small_ones_delay_no_other_request(service: &Service) {
    let list = format!(r#"{{"list":[{}]}}"#, vec!["1"; 5_000].join(","));
    let many = format!("[{}]", vec![list.as_str(); 40].join(","));
    thread::scope(|scope| {
        let single = (0..100)
            .map(|_| scope.spawn(|| service.post("/v1/files").json(list.as_str()).expect(422)));
        let mut asked: Vec<_> = single.collect();
        asked.push(scope.spawn(|| service.put("/v1/cashprogram").json(many.as_str()).expect(422)));
        let mut slowest = Duration::ZERO;
        while !asked.iter().all(thread::ScopedJoinHandle::is_finished) {
            let start = Instant::now();
            service.read("/healthz");
            slowest = slowest.max(start.elapsed());
        }
        assert!(slowest < Duration::from_secs(2), "others waited {slowest:?}");
    });
}
