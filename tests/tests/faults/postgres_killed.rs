//! `PostgreSQL` is killed (SIGKILL) under load and started again, time after time, while the
//! service runs on: 503 meanwhile and no wrong answer, and afterwards what was acknowledged is
//! there, whole, with its change.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::{Service, number};

use crate::load::Load;
use crate::postgres_server::PostgresServer;

/// Rounds, unless `TEST_KILLS` says otherwise.
const ROUNDS: u64 = 6;

/// Items that are created in a round when the database is back, at least.
const CREATED: usize = 20;

/// How long the service may take to notice that the database is back.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn nothing_acknowledged_is_lost_and_the_service_goes_on() {
    let server = PostgresServer::start();
    let database = TestDatabase::on_server(server.url());
    let service = Service::start_on(&database);
    let load = Load::new(&service);
    for round in 0..number("TEST_KILLS", ROUNDS) {
        let refused = load.refused();
        load.run(service.address(), &round.to_string(), || {
            // At another moment in each round, in the midst of all clients' requests.
            sleep(Duration::from_millis(200 + round * 37 % 190));
            if round % 2 == 0 {
                server.kill();
                sleep(Duration::from_millis(500));
                service.get("/readyz").send_in_vain();
                service.get("/healthz").send().expect(200);
                server.start_again();
            } else {
                // The server ends all its other processes, too, and recovers by itself.
                server.kill_a_session();
                sleep(Duration::from_millis(500));
            }
            is_ready(&service);
            load.wait_for_more(CREATED);
        });
        assert!(
            round % 2 == 1 || load.refused() > refused,
            "whoever came while there was no database was told"
        );
        is_ready(&service);
        load.look(&service, 100);
    }
    load.look(&service, usize::MAX);
    load.every_write_has_its_change(&database);
}

fn is_ready(service: &Service) {
    let deadline = Instant::now() + PATIENCE;
    while service.get("/readyz").send_unchecked().status != 200 {
        assert!(Instant::now() < deadline, "the database is back, and the service is not ready");
        sleep(Duration::from_millis(20));
    }
}
