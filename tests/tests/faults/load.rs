//! Clients that write and read without a pause, what they were told, and whether that is so
//! afterwards.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::{Answer, Item, Request, Service};

/// Longer than the creation of a few items may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many clients create items, and how many change one each.
const CREATORS: usize = 6;
const WRITERS: usize = 4;

/// Elements of the cash programme.
const ROWS: usize = 20;

const FILES: &str = "/v1/files";
const CASH_PROGRAM: &str = "/v1/cashprogram";

/// The clients' items, and what the clients were told so far.
pub struct Load {
    /// The bodies of created items, by path.
    created: Mutex<BTreeMap<String, String>>,
    /// The items that are counted up, each with the last number it was given.
    counters: Vec<(Item, Mutex<u64>)>,
    /// The last number the whole cash programme was given.
    cash: Mutex<u64>,
    /// How many requests were told to come again.
    refused: AtomicU64,
}

impl Load {
    /// Makes the items that are to be counted up.
    pub fn new(service: &Service) -> Self {
        let counters =
            (0..WRITERS).map(|_| (service.create(FILES, r#"{"n":0}"#), Mutex::default())).collect();
        Self {
            created: Mutex::default(),
            counters,
            cash: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// How many requests were told to come again so far.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns when so many more items were created, which takes long on a busy machine.
    pub fn wait_for_more(&self, more: usize) {
        let count = || self.created.lock().unwrap().len();
        let (wanted, deadline) = (count() + more, Instant::now() + PATIENCE);
        while count() < wanted {
            assert!(Instant::now() < deadline, "nothing is created");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Writes and reads at `address` with many clients, until `meanwhile` has ended or the service
    /// is gone. `name` tells what is created from what other runs create.
    pub fn run(&self, address: SocketAddr, name: &str, meanwhile: impl FnOnce()) {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            for creator in 0..CREATORS {
                let mut number = 0;
                scope.spawn(move || {
                    until(is_over, || {
                        number += 1;
                        self.create(address, &format!("{name} {creator} {number}"))
                    });
                });
            }
            for (item, number) in &self.counters {
                scope.spawn(move || until(is_over, || self.count_up(address, item, number)));
                scope.spawn(move || until(is_over, || self.read_counter(address, item, number)));
            }
            scope.spawn(move || until(is_over, || self.replace_all(address)));
            scope.spawn(move || until(is_over, || self.read_created(address)));
            meanwhile();
            is_over.store(true, Ordering::Relaxed);
        });
    }

    fn create(&self, address: SocketAddr, text: &str) -> Told {
        let body = json!({"text": text, "more": "x".repeat(2_000)}).to_string();
        self.ask(Request::new(address, "POST", FILES).json(body.as_str()), 201, |answer| {
            self.created.lock().unwrap().insert(format!("{FILES}/{}", answer.id()), body);
        })
    }

    /// Gives an item the next number.
    fn count_up(&self, address: SocketAddr, item: &Item, last: &Mutex<u64>) -> Told {
        let next = *last.lock().unwrap() + 1;
        let request =
            Request::new(address, "PUT", &item.path).json(json!({ "n": next }).to_string());
        self.ask(request, 200, |_| *last.lock().unwrap() = next)
    }

    /// Gives every row of the cash programme the next number, and others the place of all rows.
    fn replace_all(&self, address: SocketAddr) -> Told {
        let next = *self.cash.lock().unwrap() + 1;
        let rows = Value::from(vec![json!({ "n": next }); ROWS]);
        self.ask(Request::new(address, "PUT", CASH_PROGRAM).json(rows.to_string()), 200, |_| {
            *self.cash.lock().unwrap() = next;
        })
    }

    /// Asserts that what is read is no older than what was acknowledged before it was asked for.
    fn read_counter(&self, address: SocketAddr, item: &Item, last: &Mutex<u64>) -> Told {
        let before = *last.lock().unwrap();
        self.ask(Request::new(address, "GET", &item.path), 200, |answer| {
            let (found, after) = (number(&answer.value()), *last.lock().unwrap());
            assert!(
                (before..=after + 1).contains(&found),
                "{found} where {before} was acknowledged before and {after} by now"
            );
        })
    }

    fn read_created(&self, address: SocketAddr) -> Told {
        let Some((path, body)) = self
            .created
            .lock()
            .unwrap()
            .last_key_value()
            .map(|(path, body)| (path.clone(), body.clone()))
        else {
            return Told::Done;
        };
        self.ask(Request::new(address, "GET", &path), 200, |answer| {
            drop(answer.with_members(&body));
        })
    }

    /// A request is done, or told to come again, or not answered; there is no other answer.
    fn ask(&self, request: Request, status: u16, done: impl FnOnce(Answer)) -> Told {
        let Some(answer) = request.try_send() else { return Told::Nothing };
        if answer.status == 503 {
            assert!(
                answer.needed_header("retry-after").parse::<u32>().is_ok(),
                "seconds in Retry-After of {answer}"
            );
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Told::Later;
        }
        done(answer.expect(status));
        Told::Done
    }

    /// Asserts that what was acknowledged is there, as far as the latest `most` items that were created go; what
    /// was sent and not acknowledged is there whole or not at all.
    pub fn look(&self, service: &Service, most: usize) {
        let created = self.created.lock().unwrap();
        for (path, body) in created.iter().rev().take(most) {
            let _ = service.get(path).send().expect(200).with_members(body);
        }
        drop(created);
        for (item, last) in &self.counters {
            is_the_last_or_the_next(
                number(&service.get(&item.path).send().expect(200).value()),
                last,
            );
        }
        let rows = service.list(CASH_PROGRAM, "page_size=250");
        let numbers: Vec<_> = rows.items().iter().map(number).collect();
        let found = numbers.first().copied().unwrap_or_default();
        assert!(numbers.iter().all(|number| *number == found), "half a replacement: {numbers:?}");
        assert!(
            numbers.len() == ROWS || (found == 0 && numbers.is_empty()),
            "{} rows",
            numbers.len()
        );
        is_the_last_or_the_next(found, &self.cash);
    }

    /// Looks into the tables: as many changes as versions, totals that are true, and every
    /// acknowledged item.
    pub fn every_write_has_its_change(&self, database: &TestDatabase) {
        let none = |query: &str| {
            let found =
                database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM ({query}) AS found"));
            assert_eq!(found, [[Some("0".to_owned())]], "{query}");
        };
        none(
            "SELECT i.id FROM items i WHERE i.version <> (SELECT COUNT(*) FROM changes c WHERE c.item_id = i.id)",
        );
        none(
            "SELECT i.id FROM items i WHERE i.updated_at <> (SELECT MAX(c.time) FROM changes c WHERE c.item_id = i.id)",
        );
        none(
            "SELECT c.item_id FROM changes c WHERE c.kind <> 'deleted' AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = c.item_id) \
             AND NOT EXISTS (SELECT 1 FROM changes d WHERE d.item_id = c.item_id AND d.kind = 'deleted')",
        );
        none(
            "SELECT t.collection FROM (SELECT collection, SUM(items) AS items, SUM(writes) AS writes FROM totals GROUP BY collection) t \
             WHERE t.items <> (SELECT COUNT(*) FROM items i WHERE i.collection = t.collection) \
             OR t.writes <> (SELECT COUNT(*) FROM changes c WHERE c.collection = t.collection)",
        );
        let files =
            database.query("SELECT CAST(COUNT(*) AS TEXT) FROM items WHERE collection = 'files'");
        let created = self.created.lock().unwrap().len();
        assert!(created > 100, "there was some load: {created}");
        let files: usize = files[0][0].as_ref().unwrap().parse().unwrap();
        assert!(files >= created + WRITERS, "{files} files");
    }
}

/// The outcome of a request.
enum Told {
    Done,
    /// 503: it may have been done.
    Later,
    /// The service is gone.
    Nothing,
}

/// Repeats a client's work until it is over or the service is gone.
fn until(is_over: &AtomicBool, mut work: impl FnMut() -> Told) {
    while !is_over.load(Ordering::Relaxed) {
        match work() {
            Told::Done => {}
            Told::Later => std::thread::sleep(Duration::from_millis(5)),
            Told::Nothing => break,
        }
    }
}

fn number(item: &Value) -> u64 {
    item["n"].as_u64().unwrap()
}

/// From what was sent last it goes on.
fn is_the_last_or_the_next(found: u64, last: &Mutex<u64>) {
    let mut told = last.lock().unwrap();
    assert!(found == *told || found == *told + 1, "{found} after {told} was acknowledged");
    *told = found;
}
