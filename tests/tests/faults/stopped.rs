//! An instance that is stopped (SIGSTOP) between two statements of a write: the others write again
//! soon, and it does no harm when it continues.

use std::thread::sleep;
use std::time::Duration;

use tests::Service;
use tests::stores::TestDatabase;

use crate::load::Load;
use crate::{FILES, await_status};

/// Ten times the bound for the others to write again.
const PATIENCE: Duration = Duration::from_secs(150);

/// How often the instance is stopped until it is within a transaction.
const ATTEMPTS: usize = 200;

#[test]
fn the_others_write_again_and_the_stopped_one_does_no_harm() {
    let database = TestDatabase::postgres();
    let (stopped, other) = (Service::start_on(&database), Service::start_on(&database));
    let load = Load::new(&other);
    load.run(stopped.address(), "stopped", || {
        stop_within_a_transaction(&stopped, &database);
        await_status(&other, "POST", FILES, 201, PATIENCE);
        stopped.resume();
        load.wait_for_more(100);
    });
    load.look(&other, usize::MAX);
    load.every_write_has_its_change(&database);
}

/// Stops the instance while it replaces a collection, in a transaction of several statements that
/// excludes all other writes.
fn stop_within_a_transaction(service: &Service, database: &TestDatabase) {
    const HELD: &str = "SELECT state FROM pg_stat_activity a JOIN pg_locks l USING (pid) \
                        WHERE l.relation = 'write_fence'::regclass AND l.mode = 'ExclusiveLock' AND l.granted \
                        AND a.state = 'idle in transaction' AND a.datname = current_database()";
    let is_stopped = (0..ATTEMPTS).any(|_| {
        service.suspend();
        sleep(Duration::from_millis(100));
        let is_within = !database.query(HELD).is_empty();
        if !is_within {
            service.resume();
            sleep(Duration::from_millis(7));
        }
        is_within
    });
    assert!(is_stopped, "the instance was never stopped within a transaction");
}
