//! Clients that write and read without a pause, and whether the store agrees with their responses
//! afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::{Answer, End, Item, Request, Service};

use crate::{FILES, until};

/// Longer than the creation of a few items may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many clients create items, half of them with keys, and how many change one each.
const CREATORS: usize = 8;
const WRITERS: usize = 4;

/// Elements of the cash programme.
const ROWS: usize = 20;

const CASH_PROGRAM: &str = "/v1/cashprogram";

/// The clients' items, and the responses so far.
#[derive(Default)]
pub struct Load {
    /// The bodies of created items, by path.
    created: Mutex<BTreeMap<String, String>>,
    /// The paths of items that were created with keys, by key.
    keyed: Mutex<BTreeMap<String, String>>,
    /// The keys of requests without a response.
    unanswered: Mutex<Vec<String>>,
    /// The items that are counted up, each with the last acknowledged number.
    counters: Vec<(Item, Mutex<u64>)>,
    /// The last acknowledged number of the whole cash programme.
    cash: Mutex<u64>,
    /// How many requests were refused with 503 or 507.
    refused: AtomicU64,
    /// The texts of items without keys that were refused with 507, which a full disk alone may cause.
    without_space: Mutex<BTreeSet<String>>,
    pub has_small_disk: bool,
}

impl Load {
    /// Makes the items that are to be counted up.
    pub fn new(service: &Service) -> Self {
        let counters =
            (0..WRITERS).map(|_| (service.create(FILES, r#"{"n":0}"#), Mutex::default())).collect();
        Self { counters, ..Self::default() }
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub fn without_space(&self) -> usize {
        self.without_space.lock().unwrap().len()
    }

    /// Returns when that many more items were created, which takes long on a busy machine.
    pub fn wait_for_more(&self, more: usize) {
        let count = || self.created.lock().unwrap().len();
        let wanted = count() + more;
        until("more items", PATIENCE, || count() >= wanted);
    }

    /// Writes and reads at `address` with many clients, until `meanwhile` has ended or the service
    /// is gone. `name` distinguishes the items of this run from those of other runs.
    pub fn run(&self, address: SocketAddr, name: &str, meanwhile: impl FnOnce()) {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            for creator in 0..CREATORS {
                let (is_keyed, mut number) = (creator % 2 == 0, 0);
                scope.spawn(move || {
                    repeat(is_over, || {
                        let text = format!("{name} {creator} {number}");
                        let outcome = self.create(address, &text, is_keyed);
                        // A refused request with a key is sent again.
                        number += u64::from(!is_keyed || matches!(outcome, Outcome::Done));
                        outcome
                    });
                });
            }
            for (item, number) in &self.counters {
                scope.spawn(move || repeat(is_over, || self.count_up(address, item, number)));
                scope.spawn(move || repeat(is_over, || self.read_counter(address, item, number)));
            }
            scope.spawn(move || repeat(is_over, || self.replace_all(address)));
            scope.spawn(move || repeat(is_over, || self.read_created(address)));
            // The clients also end when `meanwhile` fails.
            let _end = End(is_over);
            meanwhile();
        });
    }

    fn create(&self, address: SocketAddr, text: &str, is_keyed: bool) -> Outcome {
        let body = json!({ "text": text, "more": noise(text) }).to_string();
        let mut request = Request::new(address, "POST", FILES).json(body.as_str());
        if is_keyed {
            request = request.header("idempotency-key", format!("\"{text}\""));
        }
        let outcome = self.ask(request, 201, |answer| {
            let path = format!("{FILES}/{}", answer.id());
            if is_keyed {
                let earlier = self.keyed.lock().unwrap().insert(text.to_owned(), path.clone());
                assert!(earlier.is_none_or(|earlier| earlier == path), "a key made two items");
            }
            self.created.lock().unwrap().insert(path, body);
        });
        match outcome {
            Outcome::Gone if is_keyed => self.unanswered.lock().unwrap().push(text.to_owned()),
            Outcome::Full if !is_keyed => {
                let _ = self.without_space.lock().unwrap().insert(text.to_owned());
            }
            _ => {}
        }
        outcome
    }

    /// Repeats the requests with keys that got no response. Some were done, and some were not.
    pub fn repeat_unanswered(&self, service: &Service) -> usize {
        let keys = std::mem::take(&mut *self.unanswered.lock().unwrap());
        self.create_again(service, &keys);
        keys.len()
    }

    /// Repeats requests with keys that got a response.
    pub fn repeat_answered(&self, service: &Service) {
        let keys: Vec<_> = self.keyed.lock().unwrap().keys().rev().take(200).cloned().collect();
        self.create_again(service, &keys);
    }

    fn create_again(&self, service: &Service, keys: &[String]) {
        for key in keys {
            let outcome = self.create(service.address(), key, true);
            assert!(matches!(outcome, Outcome::Done), "a repeated request is not done");
        }
    }

    /// Gives an item without other writers the next number, half of them under a condition.
    fn count_up(&self, address: SocketAddr, item: &Item, last: &Mutex<u64>) -> Outcome {
        let get = || Request::new(address, "GET", &item.path);
        let mut before = None;
        let read = self.ask(get(), 200, |answer| before = Some(answer));
        let Some(before) = before else { return read };
        let found = number(&before.value());
        is_the_last_or_the_next(found, last);
        let (next, mut tag) = (found + 1, before.etag());
        let body = json!({ "n": next, "more": noise(&item.id) }).to_string();
        let mut request = Request::new(address, "PUT", &item.path).json(body);
        if next % 2 == 0 {
            request = request.header("if-match", &tag);
        }
        let outcome = self.ask(request, 200, |answer| {
            *last.lock().unwrap() = next;
            tag = answer.etag();
        });
        match outcome {
            Outcome::Done | Outcome::Full => self.ask(get(), 200, |found| {
                assert_eq!(found.etag(), tag, "made once, or not made");
            }),
            _ => outcome,
        }
    }

    /// Replaces the cash programme with rows of the next number.
    fn replace_all(&self, address: SocketAddr) -> Outcome {
        let next = *self.cash.lock().unwrap() + 1;
        let rows = Value::from(vec![json!({ "n": next }); ROWS]);
        self.ask(Request::new(address, "PUT", CASH_PROGRAM).json(rows.to_string()), 200, |_| {
            *self.cash.lock().unwrap() = next;
        })
    }

    /// Asserts that what is read is no older than what was acknowledged before it was asked for.
    fn read_counter(&self, address: SocketAddr, item: &Item, last: &Mutex<u64>) -> Outcome {
        let before = *last.lock().unwrap();
        self.ask(Request::new(address, "GET", &item.path), 200, |answer| {
            let (found, after) = (number(&answer.value()), *last.lock().unwrap());
            assert!(
                (before..=after + 1).contains(&found),
                "{found} where {before} was acknowledged before and {after} by now"
            );
        })
    }

    fn read_created(&self, address: SocketAddr) -> Outcome {
        let created = self.created.lock().unwrap();
        let last = created.last_key_value().map(|(path, body)| (path.clone(), body.clone()));
        drop(created);
        let Some((path, body)) = last else { return Outcome::Done };
        self.ask(Request::new(address, "GET", &path), 200, |answer| {
            drop(answer.with_members(&body));
        })
    }

    /// A request is done, or refused with 503 or 507, or gets no response; every other response is an error. A
    /// request with a key is also refused while the first one with that key is in progress.
    fn ask(&self, request: Request, status: u16, done: impl FnOnce(Answer)) -> Outcome {
        let Some(answer) = request.try_send() else { return Outcome::Gone };
        if answer.status == 409 && answer.value()["code"] == "idempotency-key-in-use" {
            return Outcome::Later;
        }
        if answer.status == 507 && self.has_small_disk {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Outcome::Full;
        }
        if answer.status == 503 {
            let seconds = answer.needed_header("retry-after");
            assert!(seconds.parse::<u32>().is_ok(), "seconds in Retry-After of {answer}");
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Outcome::Later;
        }
        done(answer.expect(status));
        Outcome::Done
    }

    /// Asserts that acknowledged writes are stored, of created items the `most` latest. A write that was
    /// sent and not acknowledged is stored whole or not at all.
    pub fn look(&self, service: &Service, most: usize) {
        let created = self.created.lock().unwrap();
        for (path, body) in created.iter().rev().take(most) {
            let _ = service.get(path).send().expect(200).with_members(body);
        }
        drop(created);
        for (item, last) in &self.counters {
            let found = number(&service.get(&item.path).send().expect(200).value());
            is_the_last_or_the_next(found, last);
        }
        let rows = service.list(CASH_PROGRAM, "page_size=250");
        let numbers: Vec<_> = rows.items().iter().map(number).collect();
        let found = numbers.first().copied().unwrap_or_default();
        assert!(numbers.iter().all(|number| *number == found), "half a replacement: {numbers:?}");
        let is_whole = numbers.len() == if found == 0 { 0 } else { ROWS };
        assert!(is_whole, "{} rows", numbers.len());
        is_the_last_or_the_next(found, &self.cash);
    }

    /// Looks into the tables: as many changes as versions, correct totals, one item for each creation, and
    /// every acknowledged item.
    pub fn every_write_has_its_change(&self, database: &TestDatabase) {
        let count = |query: &str| -> usize {
            let query = format!("SELECT CAST(COUNT(*) AS TEXT) FROM ({query}) AS found");
            database.query(&query)[0][0].as_ref().unwrap().parse().unwrap()
        };
        for query in [
            "SELECT i.id FROM items i WHERE i.version <> (SELECT COUNT(*) FROM changes c WHERE c.item_id = i.id)",
            "SELECT i.id FROM items i WHERE i.updated_at <> (SELECT MAX(c.time) FROM changes c WHERE c.item_id = i.id)",
            "SELECT c.item_id FROM changes c WHERE c.kind <> 'deleted' AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = c.item_id) \
             AND NOT EXISTS (SELECT 1 FROM changes d WHERE d.item_id = c.item_id AND d.kind = 'deleted')",
            "SELECT t.collection FROM (SELECT collection, SUM(items) AS items, SUM(writes) AS writes FROM totals GROUP BY collection) t \
             WHERE t.items <> (SELECT COUNT(*) FROM items i WHERE i.collection = t.collection) \
             OR t.writes <> (SELECT COUNT(*) FROM changes c WHERE c.collection = t.collection)",
            "SELECT members ->> 'text' FROM changes WHERE members ->> 'text' IS NOT NULL GROUP BY 1 HAVING COUNT(*) > 1",
            "SELECT item_id FROM changes WHERE collection = 'files' AND members ->> 'n' IS NOT NULL \
             GROUP BY item_id, members ->> 'n' HAVING COUNT(*) > 1",
        ] {
            assert_eq!(count(query), 0, "{query}");
        }
        let texts = "SELECT members ->> 'text' FROM changes WHERE members ->> 'text' IS NOT NULL";
        let without_space = self.without_space.lock().unwrap();
        for row in database.query(texts) {
            assert!(!without_space.contains(row[0].as_deref().unwrap()), "{row:?} was 507");
        }
        let created = self.created.lock().unwrap().len();
        assert!(created > 100, "there was some load: {created}");
        let files = count("SELECT id FROM items WHERE collection = 'files'");
        assert!(files >= created + WRITERS, "{files} files");
    }
}

/// The outcome of a request.
enum Outcome {
    Done,
    /// 503: the write may have been done.
    Later,
    /// 507: the write was not done.
    Full,
    /// The service is gone.
    Gone,
}

/// Repeats a client's work until it is over or the service is gone.
fn repeat(is_over: &AtomicBool, mut work: impl FnMut() -> Outcome) {
    while !is_over.load(Ordering::Relaxed) {
        match work() {
            Outcome::Done => {}
            Outcome::Later | Outcome::Full => std::thread::sleep(Duration::from_millis(5)),
            Outcome::Gone => break,
        }
    }
}

/// Two kilobytes that do not compress well, the same for the same text.
fn noise(text: &str) -> String {
    let seed = text.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31) ^ u64::from(byte));
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.alphanumeric()).take(2_000).collect()
}

fn number(item: &Value) -> u64 {
    item["n"].as_u64().unwrap()
}

/// The next write continues from the number that was found.
fn is_the_last_or_the_next(found: u64, last: &Mutex<u64>) {
    let mut last = last.lock().unwrap();
    assert!(found == *last || found == *last + 1, "{found} after {last} was acknowledged");
    *last = found;
}
