//! The service is killed (SIGKILL) under load, again and again: acknowledged writes are stored whole,
//! with their change. A request with a key that got no response is sent again to the next process,
//! and is done once.

use std::time::Duration;

use tests::stores::TestDatabase;
use tests::{Service, number};

use crate::load::Load;

/// Rounds, unless `TEST_KILLS` says otherwise.
const ROUNDS: u64 = 20;

/// Items that are created in a round, at least.
const CREATED: usize = 10;

#[test]
fn on_sqlite_no_acknowledged_write_is_lost_or_done_twice() {
    kill_and_look(&TestDatabase::sqlite());
}

#[test]
fn on_postgresql_no_acknowledged_write_is_lost_or_done_twice() {
    kill_and_look(&TestDatabase::postgres());
}

fn kill_and_look(database: &TestDatabase) {
    let load = Load::new(&Service::start_on(database));
    for round in 0..number("TEST_KILLS", ROUNDS) {
        let service = Service::start_on(database);
        let repeated = load.repeat_unanswered(&service);
        assert!(round == 0 || repeated > 0, "the service was killed during no request");
        load.look(&service, 100);
        load.run(service.address(), &round.to_string(), || {
            load.wait_for_more(CREATED);
            // At another moment in each round, during requests of all clients.
            std::thread::sleep(Duration::from_millis(60 + round * 37 % 190));
            drop(service);
        });
    }
    let service = Service::start_on(database);
    load.repeat_unanswered(&service);
    load.repeat_answered(&service);
    load.look(&service, usize::MAX);
    drop(service);
    load.every_write_has_its_change(database);
    assert_eq!(load.refused(), 0, "a service that ran refused a request");
}
