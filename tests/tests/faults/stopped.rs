//! An instance that is stopped (SIGSTOP) between two statements of a write: the others write again
//! soon, and it does no harm when it goes on.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::stores::TestDatabase;
use tests::{Request, Service};

const FILES: &str = "/v1/files";

const CLIENTS: usize = 8;

/// Ten times the bound for the others to write again.
const PATIENCE: Duration = Duration::from_secs(150);

/// How often the instance is stopped until it is in the midst of a transaction.
const ATTEMPTS: usize = 200;

#[test]
fn the_others_write_again_and_the_stopped_one_does_no_harm() {
    let database = TestDatabase::postgres();
    let (stopped, other) = (Service::start_on(&database), Service::start_on(&database));
    let told = &Mutex::new(BTreeMap::new());
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let address = stopped.address();
            scope.spawn(move || create(address, &client.to_string(), is_over, told));
        }
        scope.spawn(|| replace_all(stopped.address(), is_over));
        let is_stopped = stop_within_a_transaction(&stopped, &database);
        // The clients end, whatever is found wrong.
        is_over.store(!is_stopped, Ordering::Relaxed);
        assert!(is_stopped, "the instance was never stopped within a transaction");
        let since = Instant::now();
        let written = || other.post(FILES).json("{}").send_unchecked().status == 201;
        while !written() {
            assert!(since.elapsed() < PATIENCE, "a stopped instance stops all");
        }
        println!("written after {:?}", since.elapsed());
        stopped.resume();
        let told_before = told.lock().unwrap().len();
        let deadline = Instant::now() + PATIENCE;
        while told.lock().unwrap().len() < told_before + 100 {
            assert!(Instant::now() < deadline, "the stopped instance does not go on");
            sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    for (key, path) in told.lock().unwrap().iter() {
        let item = other.get(path).send().expect(200).value();
        assert_eq!(item["key"], key.as_str());
    }
    let twice = "SELECT members ->> 'key' FROM changes WHERE members ->> 'key' IS NOT NULL GROUP BY 1 HAVING COUNT(*) > 1";
    assert_eq!(database.query(twice), Vec::<Vec<Option<String>>>::new(), "no key made two items");
}

/// Creates items, each with a key, and sends what was told to come again once more.
fn create(
    address: SocketAddr,
    client: &str,
    is_over: &AtomicBool,
    told: &Mutex<BTreeMap<String, String>>,
) {
    for number in 0.. {
        let key = format!("{client}-{number}");
        let body = json!({ "key": key }).to_string();
        let send = || {
            Request::new(address, "POST", FILES)
                .header("idempotency-key", format!("\"{key}\""))
                .json(body.as_str())
                .try_send()
        };
        let answer = loop {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            match send() {
                Some(answer) if answer.status == 201 => break answer,
                Some(answer) => assert!(matches!(answer.status, 409 | 503), "{answer}"),
                None => {}
            }
        };
        told.lock().unwrap().insert(key, format!("{FILES}/{}", answer.id()));
    }
}

/// Replaces a collection over and over, in transactions of several statements beside which no other
/// write goes on.
fn replace_all(address: SocketAddr, is_over: &AtomicBool) {
    let rows = json!([{ "n": 1 }, { "n": 2 }]).to_string();
    while !is_over.load(Ordering::Relaxed) {
        let _ = Request::new(address, "PUT", "/v1/cashprogram").json(rows.as_str()).try_send();
    }
}

/// Returns whether it came to that.
fn stop_within_a_transaction(service: &Service, database: &TestDatabase) -> bool {
    const HELD: &str = "SELECT state FROM pg_stat_activity a JOIN pg_locks l USING (pid) \
                        WHERE l.relation = 'write_fence'::regclass AND l.mode = 'ExclusiveLock' AND l.granted \
                        AND a.state = 'idle in transaction' AND a.datname = current_database()";
    for _ in 0..ATTEMPTS {
        service.suspend();
        sleep(Duration::from_millis(100));
        if !database.query(HELD).is_empty() {
            return true;
        }
        service.resume();
        sleep(Duration::from_millis(7));
    }
    false
}
