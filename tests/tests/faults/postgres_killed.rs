//! `PostgreSQL` is killed (SIGKILL) under load and started again, time after time, while the
//! service runs: the response is 503 meanwhile and never wrong, and afterwards acknowledged writes are
//! stored whole, with their change.

use std::thread::sleep;
use std::time::Duration;

use tests::stores::TestDatabase;
use tests::{Service, number};

use crate::await_status;
use crate::load::Load;
use crate::postgres_server::PostgresServer;

/// Rounds, unless `TEST_KILLS` says otherwise.
const ROUNDS: u64 = 6;

/// Items that are created in a round when the database is back, at least.
const CREATED: usize = 20;

/// How long the service may take to notice that the database is back.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn no_acknowledged_write_is_lost_and_the_service_continues() {
    let server = PostgresServer::start();
    let database = TestDatabase::on_server(server.url());
    let service = Service::start_on(&database);
    let load = Load::new(&service);
    let is_ready = || await_status(&service, "GET", "/readyz", 200, PATIENCE);
    for round in 0..number("TEST_KILLS", ROUNDS) {
        let refused = load.refused();
        load.run(service.address(), &round.to_string(), || {
            // At another moment in each round, during requests of all clients.
            sleep(Duration::from_millis(200 + round * 37 % 190));
            if round % 2 == 0 {
                server.kill();
                sleep(Duration::from_millis(500));
                service.get("/readyz").send_in_vain();
                service.get("/healthz").send().expect(200);
                server.start_again();
            } else {
                // The server ends all its other processes, too, and recovers automatically.
                server.kill_a_session();
                sleep(Duration::from_millis(500));
            }
            is_ready();
            load.wait_for_more(CREATED);
        });
        assert!(round % 2 == 1 || load.refused() > refused, "no request was refused");
        is_ready();
        load.look(&service, 100);
    }
    load.look(&service, usize::MAX);
    load.every_write_has_its_change(&database);
}
