//! Searches for the most common words, again and again, by clients that go away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::{Service, on_each_store};

use crate::attack::Raw;

const CLIENTS: usize = 8;

const ROWS: usize = 12_000;

/// Pages that are requested during the searches.
const PAGES: usize = 100;

/// The most that half of these pages may take, and any of them.
const USUAL: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);

/// The longest time until nothing is done for clients that went away.
const UNTIL_IDLE: Duration = Duration::from_secs(20);

#[test]
fn searches_for_common_words_keep_no_other_page_waiting_and_end_with_their_clients() {
    on_each_store(|service| {
        let row =
            format!(r#"{{"text":"{}"}}"#, "the rice of the field and a mill in it ".repeat(10));
        let rows = vec![row; ROWS].join(",");
        service.put("/v1/cashprogram").json(format!("[{rows}]")).send().expect(200);
        service.create("/v1/files", "{}");
        // The first search has everything indexed.
        let _ = service.list("/v1/cashprogram", "q=mill&page_size=1");
        let is_over = &AtomicBool::new(false);
        let mut waited = thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || search(service, client, is_over));
            }
            let waited: Vec<_> = (0..PAGES).map(|page| time_of_a_page(service, page)).collect();
            is_over.store(true, Ordering::Relaxed);
            waited
        });
        waited.sort_unstable();
        println!("half within {:?}, all within {:?}", waited[PAGES / 2], waited[PAGES - 1]);
        assert!(waited[PAGES / 2] < USUAL && waited[PAGES - 1] < LONGEST, "{waited:?}");
        is_idle_soon(service);
        // The next search is answered, however many clients went away before.
        let item = service.create("/v1/files", r#"{"text":"the rice of the field"}"#);
        for _ in 0..50 {
            drop(
                Raw::open(service).send("GET /v1/files?q=the HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            );
        }
        assert_eq!(service.list("/v1/files", "q=rice").items()[0]["id"], item.id.as_str());
    });
}

/// Asks for different pages of a search, and does not wait for the last.
fn search(service: &Service, client: usize, is_over: &AtomicBool) {
    for number in 0.. {
        let size = 1 + (number * CLIENTS + client) % 250;
        let asked = Raw::open(service).send(format!(
            "GET /v1/cashprogram?q=the+of+and+a+in&page_size={size} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ));
        for _ in 0..10 {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        drop(asked);
    }
}

/// The time for a page of another group that is not in the cache.
fn time_of_a_page(service: &Service, page: usize) -> Duration {
    let asked = Instant::now();
    let found = service.list("/v1/files", &format!("page_size={}", 1 + page));
    assert_eq!(found.items().len(), 1);
    thread::sleep(Duration::from_millis(10));
    asked.elapsed()
}

/// Fails when the service, or its database, continues with searches whose clients are gone.
fn is_idle_soon(service: &Service) {
    const SPAN: Duration = Duration::from_millis(500);
    let deadline = Instant::now() + UNTIL_IDLE;
    loop {
        let before = service.processor_time();
        thread::sleep(SPAN);
        let is_service_idle = service.processor_time().saturating_sub(before) < SPAN / 5;
        if is_service_idle && !service.database().is_some_and(is_reading) {
            break;
        }
        assert!(Instant::now() < deadline, "it continues without a client");
    }
}

/// Returns whether a server runs a statement of the service.
fn is_reading(database: &TestDatabase) -> bool {
    !database.is_sqlite()
        && !database
            .query("SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()")
            .is_empty()
}
