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

/// A standby takes over that never received the last commits: nothing that names what was lost means
/// anything afterwards, and no cache shows it.
#[test]
fn what_was_lost_with_the_primary_is_neither_shown_nor_overwritten() {
    let primary = PostgresServer::start();
    let standby = primary.start_standby();
    let database = TestDatabase::existing(primary.url().as_str());
    let service = Service::start_on_with(&database, &["--database-url", standby.url().as_str()]);
    let item = service.create(FILES, r#"{"n":"kept"}"#);
    let copy = TestDatabase::existing(standby.url().as_str());
    until(|| !copy.query("SELECT CAST(version AS TEXT) FROM items").is_empty());
    standby.kill();
    let lost = service.put(&item.path).json(r#"{"n":"lost"}"#).send().expect(200).etag();
    let collection = service.get(FILES).send().expect(200).etag();
    let changes = service.list("/v1/changes", "page_size=250").embedded("changes");
    let cursor = changes.last().expect("a change")["cursor"].as_str().expect("a cursor").to_owned();
    // It is in the cache.
    let shown = service.get(&item.path).header("if-none-match", &lost).send();
    let _ = shown.expect(304);
    primary.kill();
    standby.start_again();
    standby.promote();
    until(|| service.get("/readyz").send_unchecked().status == 200);

    let found = service.get(&item.path).header("if-none-match", &lost).send().expect(200);
    assert_eq!(found.value()["n"], "kept");
    let _ = service.get(FILES).header("if-none-match", &collection).send().expect(200);
    let _ = service.put(&item.path).header("if-match", &lost).json("{}").send().expect(412);
    let _ = service.get(&format!("/v1/changes?after={cursor}")).send().expect(410);
    let stream = service.get("/v1/changes/stream").header("last-event-id", &cursor);
    let _ = stream.send_unchecked().expect(410);
    // The same version of the same item is written once more, and is another one.
    let again = service.put(&item.path).json(r#"{"n":"again"}"#).send().expect(200);
    assert_ne!(again.etag(), lost);
    let shown = service.get(&item.path).header("if-none-match", &lost).send().expect(200);
    assert_eq!(shown.value()["n"], "again");
}

fn until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        sleep(Duration::from_millis(50));
    }
}
