//! A server of `PostgreSQL` that takes no writes, and one that takes over from another.

use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;

use crate::postgres_server::PostgresServer;
use crate::replicas::{TOKEN, is_of_standby};
use crate::{FILES, at_once, await_status, until};

/// The longest time that an instance stays at a primary that was replaced.
const UNTIL_FOUND: Duration = Duration::from_secs(15);

/// Ten times the bound for writes to be back.
const PATIENCE: Duration = Duration::from_mins(5);

#[test]
fn on_a_server_that_takes_no_writes_the_service_reads_and_is_not_ready() {
    const END_OTHERS: &str = "SELECT CAST(pg_terminate_backend(pid) AS TEXT) FROM pg_stat_activity \
                              WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let kept = service.create(FILES, r#"{"n":1}"#);
    let set = |value: &str| {
        database.set("default_transaction_read_only", value);
        let _ = database.query(END_OTHERS);
    };
    let await_status = |path: &str, status| await_status(&service, "GET", path, status, PATIENCE);
    set("on");
    await_status("/readyz", 503);
    service.post(FILES).json("{}").send_in_vain();
    await_status(&kept.path, 200);
    service.get("/readyz").send_in_vain();
    set("off");
    await_status("/readyz", 200);
    service.create(FILES, r#"{"n":2}"#);
}

/// A standby takes over that never received the last commits: entity tags, cursors and tokens of the
/// lost commits never match, and no cache shows them.
#[test]
fn a_lost_commit_is_neither_shown_nor_overwritten_and_delays_no_request() {
    at_once([|| take_over(false), || take_over(true)]);
}

fn take_over(has_replica: bool) {
    let primary = PostgresServer::start();
    let standby = primary.start_standby();
    let replica = has_replica.then(|| primary.start_standby());
    let [database, copy] = [&primary, &standby].map(PostgresServer::database);
    let replica_url = replica.as_ref().map(|replica| replica.url().to_string());
    let mut arguments = vec!["--database-url", database.url()];
    arguments.extend(replica_url.iter().flat_map(|url| ["--replica-url", url.as_str()]));
    // The standby is named first.
    let service = Service::start_on_with(&copy, &arguments);
    until("reads of the replica", PATIENCE, || {
        !has_replica || is_of_standby(&service.get(FILES).send_unchecked())
    });
    let item = service.create(FILES, r#"{"n":"kept"}"#);
    let version = |database: &TestDatabase| {
        let rows = database.query("SELECT CAST(version AS TEXT) FROM items");
        rows.first().and_then(|row| row[0].clone())
    };
    assert_eq!(version(&database).as_deref(), Some("1"), "the primary takes the write");
    until("a copy", PATIENCE, || version(&copy).is_some());
    standby.kill();
    let written = service.put(&item.path).json(r#"{"n":"lost"}"#).send().expect(200);
    let lost = written.etag();
    let current = |path: &str| service.get(path).header("cache-control", "no-cache");
    let collection = current(FILES).send().expect(200).etag();
    let changes = service.list("/v1/changes", "page_size=250").embedded("changes");
    let cursor = changes.last().unwrap()["cursor"].as_str().unwrap().to_owned();
    // The lost state is in the cache.
    let _ = current(&item.path).header("if-none-match", &lost).send().expect(304);
    if let Some(replica) = &replica {
        let replica = replica.database();
        until("a copy", PATIENCE, || version(&replica).as_deref() == Some("2"));
    }
    primary.kill();
    standby.start_again();
    service.post(FILES).json("{}").send_in_vain();
    standby.promote();
    await_status(&service, "GET", "/readyz", 200, PATIENCE);

    let begun = Instant::now();
    for _ in 0..10 {
        let conditional = service.get(&item.path).header("if-none-match", &lost);
        let token = written.header(TOKEN).filter(|_| has_replica);
        let with_token = token.map(|token| service.get(&item.path).header(TOKEN, token));
        for request in [conditional].into_iter().chain(with_token) {
            let read = request.send().expect(200);
            assert!(!is_of_standby(&read), "{read}");
            assert_eq!(read.value()["n"], "kept", "the lost state is not shown");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "a read waits for the lost commit");
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

/// Patroni hangs on the primary, which keeps accepting writes when another server takes over.
#[test]
fn the_server_that_took_over_is_used_although_the_old_primary_accepts_writes() {
    let primary = PostgresServer::start();
    let standby = primary.start_standby();
    let [old, new] = [&primary, &standby].map(PostgresServer::database);
    let service = Service::start_on_with(&new, &["--database-url", old.url()]);
    let item = service.create(FILES, r#"{"n":"kept"}"#);
    let count = |database: &TestDatabase, members: &str| {
        let found = format!(
            "SELECT CAST(count(*) AS TEXT) FROM changes WHERE members::text LIKE '%{members}%'"
        );
        database.query(&found)[0][0].clone().unwrap()
    };
    until("a copy", PATIENCE, || count(&new, "kept") == "1");
    standby.promote();
    let lost = service.put(&item.path).json(r#"{"n":"lost"}"#).send().expect(200).etag();
    assert_eq!(
        [count(&old, "lost"), count(&new, "lost")],
        ["1", "0"],
        "the old primary takes writes"
    );
    let current = || service.get(&item.path).header("if-none-match", &lost).send_unchecked();
    until("the state of the new primary", UNTIL_FOUND, || {
        current().status == 200 && current().value()["n"] == "kept"
    });
    let _ = service.put(&item.path).header("if-match", &lost).json("{}").send().expect(412);
    let again = service.put(&item.path).json(r#"{"n":"again"}"#).send().expect(200);
    assert_ne!(again.etag(), lost);
    assert_eq!([count(&old, "again"), count(&new, "again")], ["0", "1"]);
    // The instance does not return to the old primary.
    standby.kill();
    for _ in 0..3 {
        service.put(&item.path).json(r#"{"n":"refused"}"#).send_in_vain();
        service.get(&item.path).send_in_vain();
    }
    assert_eq!(count(&old, "refused"), "0");
    standby.start_again();
    await_status(&service, "GET", "/readyz", 200, PATIENCE);
    let _ = service.put(&item.path).header("if-match", again.etag()).json("{}").send().expect(200);
}
