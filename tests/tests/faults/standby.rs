//! A server of `PostgreSQL` that takes no writes, and one that takes over from another.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;
use url::Url;

use crate::postgres_server::PostgresServer;

const FILES: &str = "/v1/files";

/// Ten times the bound for writes to be back.
const PATIENCE: Duration = Duration::from_mins(5);

#[test]
fn on_a_server_that_takes_no_writes_the_service_reads_and_is_not_ready() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let kept = service.create(FILES, r#"{"n":1}"#);
    let name = &Url::parse(database.url()).unwrap().path()[1..].to_owned();
    let server = TestDatabase::existing(&std::env::var("TEST_POSTGRES_URL").unwrap());
    let set = |value: &str| {
        let _ = server
            .query(&format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}"));
        let _ = server.query(&format!("SELECT CAST(pg_terminate_backend(pid) AS TEXT) FROM pg_stat_activity WHERE datname = '{name}'"));
    };
    set("on");
    until(|| service.get("/readyz").send_unchecked().status == 503);
    service.post(FILES).json("{}").send_in_vain();
    until(|| service.get(&kept.path).send_unchecked().status == 200);
    service.get("/readyz").send_in_vain();
    set("off");
    until(|| service.get("/readyz").send_unchecked().status == 200);
    service.create(FILES, r#"{"n":2}"#);
}

#[test]
fn of_several_servers_the_one_that_takes_writes_is_used() {
    let primary = PostgresServer::start();
    let database = TestDatabase::existing(primary.url().as_str());
    let standby = primary.start_standby();
    // The standby is named first.
    let copy = TestDatabase::existing(standby.url().as_str());
    let service = Service::start_on_with(&copy, &["--database-url", database.url()]);
    let before = service.create(FILES, r#"{"n":1}"#);
    assert_eq!(
        database.query("SELECT CAST(COUNT(*) AS TEXT) FROM items")[0][0].as_deref(),
        Some("1")
    );
    until(|| {
        // What was answered is on the standby.
        copy.query("SELECT CAST(COUNT(*) AS TEXT) FROM items")[0][0].as_deref() == Some("1")
    });
    primary.kill();
    service.post(FILES).json("{}").send_in_vain();
    standby.promote();
    until(|| service.post(FILES).json(r#"{"n":2}"#).send_unchecked().status == 201);
    service.get(&before.path).send().expect(200);
    until(|| service.get("/readyz").send_unchecked().status == 200);
}

fn until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        sleep(Duration::from_millis(50));
    }
}
