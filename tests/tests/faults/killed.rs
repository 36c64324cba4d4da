//! The service is killed (SIGKILL) under load, again and again: what it acknowledged is there, whole, with its change.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::{Answer, Item, Request, Service};

const ROUNDS: u64 = 20;

/// How many clients create items, and how many change one each.
const CREATORS: usize = 6;
const WRITERS: usize = 4;

/// Elements of the cash programme.
const ROWS: usize = 20;

const FILES: &str = "/v1/files";
const CASH_PROGRAM: &str = "/v1/cashprogram";

#[test]
fn on_sqlite_nothing_acknowledged_is_lost() {
    kill_and_look(&TestDatabase::sqlite());
}

#[test]
fn on_postgresql_nothing_acknowledged_is_lost() {
    kill_and_look(&TestDatabase::postgres());
}

/// What clients were told so far.
#[derive(Default)]
struct Acknowledged {
    /// The bodies of created items, by path.
    created: Mutex<BTreeMap<String, String>>,
    /// The last number each writer's item was given.
    numbers: [Mutex<u64>; WRITERS],
    /// The last number the whole cash programme was given.
    cash: Mutex<u64>,
}

fn kill_and_look(database: &TestDatabase) {
    let told = Acknowledged::default();
    let service = Service::start_on(database);
    let items: Vec<_> = (0..WRITERS).map(|_| service.create(FILES, r#"{"n":0}"#)).collect();
    drop(service);
    for round in 0..ROUNDS {
        let service = Service::start_on(database);
        look(&service, &items, &told, 100);
        load_until_killed(service, round, &items, &told);
    }
    let service = Service::start_on(database);
    look(&service, &items, &told, usize::MAX);
    assert!(told.created.lock().unwrap().len() > 100, "there was some load");
    drop(service);
    every_write_has_its_change(database, &told);
}

/// The service is killed at another moment in each round, in the midst of all clients' requests.
fn load_until_killed(service: Service, round: u64, items: &[Item], told: &Acknowledged) {
    let is_over = &AtomicBool::new(false);
    let address = service.address();
    std::thread::scope(|scope| {
        for creator in 0..CREATORS {
            scope.spawn(move || {
                for number in 0.. {
                    let body = json!({"text": format!("{round} {creator} {number}"), "more": "x".repeat(2_000)}).to_string();
                    let Some(answer) = post(address, &body) else { break };
                    told.created.lock().unwrap().insert(format!("{FILES}/{}", answer.id()), body);
                }
            });
        }
        for (item, number) in items.iter().zip(&told.numbers) {
            scope.spawn(move || while !is_over.load(Ordering::Relaxed) && count_up(address, item, number) {});
        }
        scope.spawn(move || while !is_over.load(Ordering::Relaxed) && replace_all(address, &told.cash) {});
        std::thread::sleep(Duration::from_millis(60 + round * 37 % 190));
        drop(service);
        is_over.store(true, Ordering::Relaxed);
    });
}

fn post(address: SocketAddr, body: &str) -> Option<Answer> {
    Request::new(address, "POST", FILES).json(body).try_send().filter(|answer| answer.status == 201)
}

/// Gives an item the next number. Whether the service still answers.
fn count_up(address: SocketAddr, item: &Item, last: &Mutex<u64>) -> bool {
    let next = *last.lock().unwrap() + 1;
    let answer = Request::new(address, "PUT", &item.path).json(json!({ "n": next }).to_string()).try_send();
    answer.is_some_and(|answer| {
        assert_eq!(answer.status, 200, "{answer}");
        *last.lock().unwrap() = next;
        true
    })
}

/// Gives every row of the cash programme the next number, and others the place of all rows.
fn replace_all(address: SocketAddr, last: &Mutex<u64>) -> bool {
    let next = *last.lock().unwrap() + 1;
    let rows = Value::from(vec![json!({ "n": next }); ROWS]);
    let answer = Request::new(address, "PUT", CASH_PROGRAM).json(rows.to_string()).try_send();
    answer.is_some_and(|answer| {
        assert_eq!(answer.status, 200, "{answer}");
        *last.lock().unwrap() = next;
        true
    })
}

/// What was acknowledged is there, as far as the latest `most` items that were created go; what was sent and not acknowledged is
/// there whole or not at all.
fn look(service: &Service, items: &[Item], told: &Acknowledged, most: usize) {
    let created = told.created.lock().unwrap();
    for (path, body) in created.iter().rev().take(most) {
        let _ = service.get(path).send().expect(200).with_members(body);
    }
    drop(created);
    for (item, number) in items.iter().zip(&told.numbers) {
        let mut told = number.lock().unwrap();
        let found = service.get(&item.path).send().expect(200).value()["n"].as_u64().unwrap();
        assert!(found == *told || found == *told + 1, "{found} after {told} was acknowledged");
        *told = found;
    }
    let rows = service.list(CASH_PROGRAM, "page_size=250");
    let numbers: Vec<_> = rows.items().iter().map(|row| row["n"].as_u64().unwrap()).collect();
    let mut told = told.cash.lock().unwrap();
    let found = numbers.first().copied().unwrap_or_default();
    assert!(numbers.iter().all(|number| *number == found), "half a replacement: {numbers:?}");
    assert!(numbers.len() == ROWS || (found == 0 && numbers.is_empty()), "{} rows", numbers.len());
    assert!(found == *told || found == *told + 1, "{found} after {told} was acknowledged");
    *told = found;
}

/// Looks into the tables: as many changes as versions, totals that are true, and every acknowledged item.
fn every_write_has_its_change(database: &TestDatabase, told: &Acknowledged) {
    let none = |query: &str| {
        let found = database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM ({query}) AS found"));
        assert_eq!(found, [[Some("0".to_owned())]], "{query}");
    };
    none("SELECT i.id FROM items i WHERE i.version <> (SELECT COUNT(*) FROM changes c WHERE c.item_id = i.id)");
    none("SELECT i.id FROM items i WHERE i.updated_at <> (SELECT MAX(c.time) FROM changes c WHERE c.item_id = i.id)");
    none(
        "SELECT c.item_id FROM changes c WHERE c.kind <> 'deleted' AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = c.item_id) \
         AND NOT EXISTS (SELECT 1 FROM changes d WHERE d.item_id = c.item_id AND d.kind = 'deleted')",
    );
    none(
        "SELECT t.collection FROM collection_totals t \
         WHERE t.items <> (SELECT COUNT(*) FROM items i WHERE i.collection = t.collection) \
         OR t.writes <> (SELECT COUNT(*) FROM changes c WHERE c.collection = t.collection)",
    );
    let files = database.query("SELECT CAST(COUNT(*) AS TEXT) FROM items WHERE collection = 'files'");
    let files: usize = files[0][0].as_ref().unwrap().parse().unwrap();
    assert!(files >= told.created.lock().unwrap().len() + WRITERS, "{files} files");
}
