//! The service is killed (SIGKILL) while clients send requests with keys: what got no answer is
//! sent again to the next process, and everything is done once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tests::stores::TestDatabase;
use tests::{Answer, Request, Service};

const ROUNDS: u64 = 20;

const CLIENTS: u64 = 8;

const FILES: &str = "/v1/files";

#[test]
fn on_sqlite_everything_is_done_once() {
    kill_and_send_again(&TestDatabase::sqlite());
}

#[test]
fn on_postgresql_everything_is_done_once() {
    kill_and_send_again(&TestDatabase::postgres());
}

/// The answers to clients: by key, the id of the item that was made.
type Told = Mutex<BTreeMap<String, String>>;

fn kill_and_send_again(database: &TestDatabase) {
    let told = &Told::default();
    let mut unanswered: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        let service = Service::start_on(database);
        let address = service.address();
        // Both those that were done before the last process ended, and those that were not.
        for key in unanswered.drain(..) {
            let answer = send(address, &key).expect("nobody ends this process now").expect(201);
            told.lock().unwrap().insert(key, answer.id());
        }
        let open = &Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || {
                    for number in 0.. {
                        let key = format!("{round}-{client}-{number}");
                        let Some(answer) = send(address, &key) else {
                            open.lock().unwrap().push(key);
                            return;
                        };
                        told.lock().unwrap().insert(key, answer.expect(201).id());
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(60 + round * 37 % 190));
            drop(service);
        });
        unanswered = std::mem::take(&mut *open.lock().unwrap());
        assert_eq!(unanswered.len() as u64, CLIENTS, "each was in the midst of a request");
    }
    let service = Service::start_on(database);
    for (key, id) in told.lock().unwrap().iter().rev().take(200) {
        assert_eq!(
            &send(service.address(), key).unwrap().expect(201).id(),
            id,
            "the answer is that of the first time"
        );
    }
    drop(service);
    every_key_made_one_item(database, told);
}

fn send(address: SocketAddr, key: &str) -> Option<Answer> {
    let body = json!({ "key": key, "more": "x".repeat(500) }).to_string();
    Request::new(address, "POST", FILES)
        .header("idempotency-key", format!("\"{key}\""))
        .json(body)
        .try_send()
}

fn every_key_made_one_item(database: &TestDatabase, told: &Told) {
    let told = told.lock().unwrap();
    let keys = database.query("SELECT CAST(members ->> 'key' AS TEXT) FROM changes ");
    let mut keys: Vec<_> = keys.into_iter().map(|row| row[0].clone().unwrap()).collect();
    keys.sort();
    let items = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), items, "no key made two items");
    assert!(
        told.keys().all(|key| keys.binary_search(key).is_ok()),
        "what was acknowledged is there"
    );
    assert!(items > 200, "there was some load: {items}");
}
