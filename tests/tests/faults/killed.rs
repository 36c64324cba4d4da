//! The service is killed (SIGKILL) under load, again and again: what it acknowledged is there,
//! whole, with its change.

use std::time::Duration;

use tests::stores::TestDatabase;
use tests::{Service, number};

use crate::load::Load;

/// Rounds, unless `TEST_KILLS` says otherwise.
const ROUNDS: u64 = 20;

/// Items that are created in a round, at least.
const CREATED: usize = 10;

#[test]
fn on_sqlite_nothing_acknowledged_is_lost() {
    kill_and_look(&TestDatabase::sqlite());
}

#[test]
fn on_postgresql_nothing_acknowledged_is_lost() {
    kill_and_look(&TestDatabase::postgres());
}

fn kill_and_look(database: &TestDatabase) {
    let load = Load::new(&Service::start_on(database));
    for round in 0..number("TEST_KILLS", ROUNDS) {
        let service = Service::start_on(database);
        load.look(&service, 100);
        load.run(service.address(), &round.to_string(), || {
            load.wait_for_more(CREATED);
            // At another moment in each round, in the midst of all clients' requests.
            std::thread::sleep(Duration::from_millis(60 + round * 37 % 190));
            drop(service);
        });
    }
    load.look(&Service::start_on(database), usize::MAX);
    load.every_write_has_its_change(database);
    assert_eq!(load.refused(), 0, "as long as it ran, nothing kept the service from its work");
}
