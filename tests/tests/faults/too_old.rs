//! An instance for which the schema becomes too new while it runs.

use std::time::Duration;

use tests::stores::TestDatabase;
use tests::{Request, Service, free_address};

use crate::{FILES, await_status, status, until};

/// Several times the time after which an instance looks again.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn an_instance_that_has_become_too_old_writes_nothing_and_reads_while_it_may() {
    let database = TestDatabase::postgres();
    let admin = free_address();
    let service = Service::start_on_with(&database, &["--admin-listen", &admin.to_string()]);
    let item = service.create(FILES, "{}");
    let access = || {
        let metrics = Request::new(admin, "GET", "/metrics").send_unchecked().expect(200);
        ["read", "write"].map(|access| {
            let series = format!("proposal_service_schema_access{{access=\"{access}\"}} 1\n");
            metrics.text().contains(&series)
        })
    };
    assert_eq!(access(), [true, true]);
    let await_status = |path: &str, wanted| await_status(&service, "GET", path, wanted, PATIENCE);
    let statuses = || [FILES, &item.path, "/healthz"].map(|path| status(&service, "GET", path));
    let _ = database.query("UPDATE schema_version SET version = 99, oldest_writer = 99");
    await_status("/readyz", 503);
    service.post(FILES).json("{}").send_in_vain();
    assert_eq!(statuses(), [200, 200, 200]);
    assert_eq!(access(), [true, false]);
    assert!(service.log().contains("replace it with a newer version"), "{}", service.log());
    let instances = "SELECT id FROM service_instances WHERE seen_at > (extract(epoch FROM clock_timestamp()) - 5) * 1000000";
    // An instance that may not write delays no other.
    until("an old sign of life", PATIENCE, || database.query(instances).is_empty());
    let _ = database.query("UPDATE schema_version SET oldest_reader = 99");
    await_status(&item.path, 503);
    assert_eq!(statuses(), [503, 503, 200]);
    assert_eq!(access(), [false, false]);
    let _ = database
        .query("UPDATE schema_version SET version = 99, oldest_reader = 1, oldest_writer = 1");
    await_status("/readyz", 200);
    assert_eq!(status(&service, "POST", FILES), 201);
}

/// A table that is missing has it look at once.
#[test]
fn an_error_of_the_schema_has_an_instance_look_again_at_once() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let item = service.create(FILES, "{}");
    let _ = database
        .query("UPDATE schema_version SET version = 99, oldest_reader = 99, oldest_writer = 99");
    let _ = database.query("ALTER TABLE items RENAME COLUMN version TO renamed");
    service.get("/v1/files?page_size=7").send_unchecked().expect(503);
    until("a message", Duration::from_secs(5), || {
        service.log().contains("replace it with a newer version")
    });
    service.get(&item.path).send_unchecked().expect(503);
}
