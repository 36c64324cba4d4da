//! Several instances on one `PostgreSQL`, and locks that others hold: no instance waits for the one that
//! indexes, and a change of the schema does not wait without a limit.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;
use tests::tool::refused;

use crate::{FILES, at_once};

/// Three times the seconds after which a migration gives up.
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
fn a_lock_delays_no_other_instance_and_a_migration_for_a_limited_time() {
    at_once([
        while_one_instance_indexes_the_others_do_not_wait_for_it,
        a_change_of_the_schema_gives_up_when_others_hold_its_locks,
    ]);
}

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
        let log = refused(&["migrate", "--database-url", database.url()], 1);
        assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
        let _ = database.query(STOP);
        for part in ["cannot prepare the database schema", "lock timeout"] {
            assert!(log.contains(part), "{log}");
        }
    });
}
