//! Several instances on one `PostgreSQL`, and locks that others hold: one indexes while the others do
//! not wait for it, and a change of the schema does not wait for ever.

use std::process::Command;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::{Service, binary};

const FILES: &str = "/v1/files";

/// Three times the seconds after which a migration gives up.
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
fn while_one_instance_indexes_the_others_do_not_wait_for_it() {
    const INDEX: &str = "SELECT CAST(pg_sleep(6) AS TEXT) FROM (SELECT sequence FROM search_progress FOR UPDATE) AS held";
    const WAITING: &str = "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    scope(|scope| {
        let indexing = scope.spawn(|| database.query(INDEX));
        sleep(Duration::from_millis(500));
        service.create(FILES, r#"{"text":"xylophone"}"#);
        let mut looks = 0;
        while !indexing.is_finished() {
            let waiting = database.query(WAITING);
            assert!(waiting.is_empty(), "{waiting:?}");
            looks += 1;
        }
        assert!(looks > 0, "it was looked at meanwhile");
        indexing.join().unwrap();
    });
    let found = service.get("/v1/files?q=xylophone").send().expect(200).value();
    assert_eq!(found["total_items"], 1);
}

#[test]
fn a_change_of_the_schema_gives_up_when_others_hold_its_locks() {
    const HOLD: &str =
        "DO $$ BEGIN LOCK TABLE items IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(120); END $$";
    const STOP: &str = "SELECT CAST(pg_terminate_backend(pid) AS TEXT) FROM pg_stat_activity \
                        WHERE datname = current_database() AND query LIKE 'DO $$ BEGIN LOCK TABLE%'";
    let database = TestDatabase::postgres();
    drop(Service::start_on(&database));
    let _ = database.query("DROP VIEW proposals");
    scope(|scope| {
        scope.spawn(|| std::panic::catch_unwind(|| database.query(HOLD)));
        sleep(Duration::from_millis(500));
        let since = Instant::now();
        let output = Command::new(binary::path())
            .args(["migrate", "--database-url", database.url()])
            .output()
            .unwrap();
        assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let _ = database.query(STOP);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("cannot prepare the database schema"), "{said}");
        assert!(said.contains("lock timeout"), "{said}");
    });
}
