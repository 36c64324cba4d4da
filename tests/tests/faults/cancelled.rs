//! Statements of `PostgreSQL` that are cancelled at random, and a disk that fills up: no write is
//! told anything but what happened, and none is done twice.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::{Answer, Item, Request, Service};
use url::Url;

use crate::postgres_server::PostgresServer;

const FILES: &str = "/v1/files";

/// Clients that replace an item of their own, and clients that create.
const CLIENTS: usize = 12;

/// How long the disk may take to fill, and the writes to go on when there is room again.
const PATIENCE: Duration = Duration::from_mins(2);

/// Cancels statements of others at random for some seconds, and returns how many.
const CANCEL: [&str; 2] = [
    "CREATE FUNCTION cancel_others(seconds float) RETURNS text LANGUAGE plpgsql AS $$ \
     DECLARE cancelled int := 0; until timestamptz := clock_timestamp() + make_interval(secs => seconds); \
     BEGIN WHILE clock_timestamp() < until LOOP \
       cancelled := cancelled + (SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND random() < 0.5); \
       PERFORM pg_stat_clear_snapshot(), pg_sleep(0.003); END LOOP; RETURN cancelled; END $$",
    "SELECT cancel_others(6)",
];

#[test]
fn beside_cancelled_statements_every_write_is_told_what_happened() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let clients = Clients::new(&service);
    let mut cancelled = Vec::new();
    clients.run(service.address(), || {
        cancelled = CANCEL.map(|statement| database.query(statement)).concat();
    });
    let cancelled: u64 = cancelled[0][0].as_ref().unwrap().parse().unwrap();
    println!("{cancelled} cancelled; {}", clients.counts());
    assert!(cancelled > 20, "{cancelled} statements were cancelled");
    clients.look(&service, &database);
}

/// Most of the small disk; a table that is kept as it is.
const FILL: [&str; 3] = [
    "CREATE TABLE ballast (page text)",
    "ALTER TABLE ballast ALTER COLUMN page SET STORAGE PLAIN",
    "INSERT INTO ballast SELECT repeat(md5(CAST(number AS text)), 60) FROM generate_series(1, 13700) AS number",
];

#[test]
fn while_the_disk_fills_every_write_is_told_what_happened() {
    let server = PostgresServer::start_with_small_disk();
    let database = TestDatabase::on_server(server.url());
    let space = format!("CREATE TABLESPACE small LOCATION '{}'", server.small_disk().display());
    let _ = database.query(&space);
    let name = &Url::parse(database.url()).unwrap().path()[1..].to_owned();
    let _ = database.query(&format!("ALTER DATABASE {name} SET default_tablespace = small"));
    let service = Service::start_on(&database);
    for statement in FILL {
        let _ = database.query(statement);
    }
    let clients = Clients::new(&service);
    clients.run(service.address(), || {
        let deadline = Instant::now() + PATIENCE;
        while clients.count(507) < 50 {
            assert!(Instant::now() < deadline, "the disk does not fill: {}", clients.counts());
            sleep(Duration::from_millis(20));
        }
        let _ = database.query("DROP TABLE ballast");
        let (done, deadline) = (clients.made.load(Ordering::Relaxed), Instant::now() + PATIENCE);
        while clients.made.load(Ordering::Relaxed) < done + 100 {
            assert!(Instant::now() < deadline, "there is room, and writes are still refused");
            sleep(Duration::from_millis(20));
        }
    });
    println!("{}", clients.counts());
    clients.look(&service, &database);
}

/// The outcomes of each client's writes.
struct Clients {
    items: Vec<Item>,
    /// Texts of items to be created, and the status of the answer.
    created: Mutex<BTreeMap<String, u16>>,
    statuses: Mutex<BTreeMap<u16, u64>>,
    made: AtomicU64,
}

impl Clients {
    fn new(service: &Service) -> Self {
        let items = (0..CLIENTS).map(|_| service.create(FILES, r#"{"n":0}"#)).collect();
        Self {
            items,
            created: Mutex::default(),
            statuses: Mutex::default(),
            made: AtomicU64::new(0),
        }
    }

    fn run(&self, address: SocketAddr, meanwhile: impl FnOnce()) {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (client, item) in self.items.iter().enumerate() {
                scope.spawn(move || self.replace(address, item, client % 2 == 0, is_over));
                scope.spawn(move || self.create(address, client, is_over));
            }
            meanwhile();
            is_over.store(true, Ordering::Relaxed);
        });
    }

    /// Gives an item that nobody else writes one number after the other.
    fn replace(&self, address: SocketAddr, item: &Item, is_conditional: bool, over: &AtomicBool) {
        let read = || loop {
            let answer = Request::new(address, "GET", &item.path).send_unchecked();
            if answer.status == 200 {
                return answer;
            }
            assert_eq!(answer.status, 503, "{answer}");
        };
        let mut current = read();
        while !over.load(Ordering::Relaxed) {
            let next = number(&current) + 1;
            let mut request = Request::new(address, "PUT", &item.path)
                .json(json!({ "n": next, "more": noise() }).to_string());
            if is_conditional {
                request = request.header("if-match", current.etag());
            }
            let answer = self.note(request.send_unchecked());
            let found = read();
            match answer.status {
                200 => assert_eq!(found.etag(), answer.etag(), "made, and made once"),
                503 => assert!(
                    found.etag() == current.etag() || number(&found) == next,
                    "{found} after {current}"
                ),
                507 => assert_eq!(found.etag(), current.etag(), "refused, and not made"),
                _ => panic!("the only writer is told {answer}"),
            }
            current = found;
        }
    }

    fn create(&self, address: SocketAddr, client: usize, over: &AtomicBool) {
        for number in 0.. {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let text = format!("{client}-{number}");
            let body = json!({ "text": text, "more": noise() }).to_string();
            let answer =
                self.note(Request::new(address, "POST", FILES).json(body).send_unchecked());
            assert!(matches!(answer.status, 201 | 503 | 507), "{answer}");
            self.created.lock().unwrap().insert(text, answer.status);
        }
    }

    fn note(&self, answer: Answer) -> Answer {
        *self.statuses.lock().unwrap().entry(answer.status).or_default() += 1;
        if answer.status < 300 {
            self.made.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    fn count(&self, status: u16) -> u64 {
        self.statuses.lock().unwrap().get(&status).copied().unwrap_or_default()
    }

    fn counts(&self) -> String {
        format!("{:?}", self.statuses.lock().unwrap())
    }

    /// Looks into the store: what was told is so, and nothing was done twice.
    fn look(&self, service: &Service, database: &TestDatabase) {
        assert!(self.made.load(Ordering::Relaxed) > 100, "there was some load: {}", self.counts());
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let texts = "SELECT members ->> 'text' FROM changes WHERE members ->> 'text' IS NOT NULL";
        for row in database.query(texts) {
            *found.entry(row[0].clone().unwrap()).or_default() += 1;
        }
        for (text, status) in self.created.lock().unwrap().iter() {
            let times = found.remove(text).unwrap_or_default();
            let is_true = match status {
                201 => times == 1,
                507 => times == 0,
                _ => times <= 1,
            };
            assert!(is_true, "{text} was answered {status} and made {times} times");
        }
        assert!(found.is_empty(), "nobody sent {found:?}");
        for item in &self.items {
            let answer = service.get(&item.path).send().expect(200);
            let versions =
                "SELECT CAST(MAX(version) AS TEXT) FROM changes WHERE CAST(item_id AS TEXT) = ";
            let version = database.query(&format!("{versions}'{}'", item.id));
            assert_eq!(
                version[0][0].as_deref(),
                Some(&*(number(&answer) + 1).to_string()),
                "as many versions as numbers"
            );
        }
    }
}

fn number(answer: &Answer) -> u64 {
    let value: Value = answer.value();
    value["n"].as_u64().unwrap()
}

/// Three kilobytes that do not compress well.
fn noise() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(3_000).collect()
}
