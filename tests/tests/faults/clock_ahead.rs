//! Stored times that lie ahead of the clock: a warning at the start and at the first write.

use std::time::Duration;

use jiff::Timestamp;
use tests::Service;
use tests::stores::TestDatabase;

use crate::{FILES, until};

const WARNING: &str = "stored times are ahead of the clock";

/// How long a line may take to be in the log.
const PATIENCE: Duration = Duration::from_secs(20);

const AN_HOUR_AHEAD: &str = "UPDATE changes SET time = time + 3600000000";

const CLOCK: &str = "SELECT CAST(setval('write_clock', (SELECT MAX(time) FROM changes)) AS TEXT)";

#[test]
fn a_store_ahead_of_the_clock_is_logged_at_the_start_and_at_the_first_write() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let service = Service::start_on(&database);
        service.create(FILES, "{}");
        assert!(!service.log().contains(WARNING), "{}", service.log());
        drop(service);
        let _ = database.query(AN_HOUR_AHEAD);
        if !database.is_sqlite() {
            let _ = database.query(CLOCK);
        }
        let service = Service::start_on(&database);
        warned(&service, 1);
        let item = service.create(FILES, "{}");
        warned(&service, 2);
        // The write is in the past, also for reads of earlier states.
        let latest = database.query("SELECT CAST(MAX(time) AS TEXT) FROM changes");
        let latest = latest[0][0].as_ref().unwrap().parse().unwrap();
        let latest = Timestamp::from_microsecond(latest).unwrap();
        for path in [item.path.as_str(), FILES] {
            let _ = service.get(&format!("{path}?as_of={latest}")).send().expect(200);
        }
        let _ = service.get(&format!("{FILES}?sort=updated_at")).send().expect(200);
    }
}

fn warned(service: &Service, times: usize) {
    until("a warning", PATIENCE, || service.log().matches(WARNING).count() >= times);
}
