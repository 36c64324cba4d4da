//! The older service beside the newer store: it goes on until the schema is contracted, which is
//! refused while it runs, and then it writes nothing.

use std::thread::sleep;
use std::time::Duration;

use storage_adapter::StoreError;
use tests::Service;
use tests::stores::TestDatabase;
use tokio::runtime::Runtime;

use crate::older_store::{check_upgraded, fill, older, open};

const FILES: &str = "/v1/files";

/// Longer than an instance writes without asking whether it still may.
const TERM: Duration = Duration::from_secs(31);

#[test]
fn the_schema_is_not_contracted_while_an_older_service_runs() {
    let runtime = Runtime::new().unwrap();
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    fill(&database, 700);
    let item = service.create(FILES, "{}");
    let store = runtime.block_on(open(database.url())).unwrap();
    let planned = runtime.block_on(store.plan()).unwrap();
    let phases: Vec<_> = planned.iter().map(|step| step.phase).collect();
    assert!(phases.starts_with(&["expand"]) && phases.ends_with(&["contract"]), "{phases:?}");
    runtime.block_on(store.migrate()).unwrap();
    runtime.block_on(store.fill_in()).unwrap();
    // It leaves the new column behind, of new items and of those that were filled in.
    service.create(FILES, "{}");
    service.put(&item.path).json("{}").send().expect(200);
    let refused = runtime.block_on(store.contract()).unwrap_err();
    assert!(matches!(refused, StoreError::OlderInstance { .. }), "{refused}");
    service.put(&item.path).json("{}").send().expect(200);
    drop(service);
    // One that was killed counts for a minute.
    assert!(runtime.block_on(store.contract()).is_err());
    let _ = database.query("UPDATE service_instances SET seen_at = seen_at - 61000000");
    assert_eq!(runtime.block_on(store.contract()).unwrap(), 1);
    assert_eq!(runtime.block_on(store.contract()).unwrap(), 0, "nothing is left");
    check_upgraded(&database, "an older service was beside it");
    assert!(runtime.block_on(store.plan()).unwrap().is_empty());
    let (is_done, said) = older(&database, "migrate");
    assert!(!is_done && said.contains("too old"), "{said}");
    runtime.block_on(store.close());
}

/// It was stopped when others took it for gone, and goes on with a write that it had not begun.
#[test]
fn a_service_that_was_stopped_meanwhile_writes_nothing() {
    let runtime = Runtime::new().unwrap();
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    service.create(FILES, "{}");
    service.suspend();
    sleep(TERM);
    let _ = database.query("UPDATE service_instances SET seen_at = seen_at - 61000000");
    let store = runtime.block_on(open(database.url())).unwrap();
    runtime.block_on(store.migrate()).unwrap();
    runtime.block_on(store.fill_in()).unwrap();
    runtime.block_on(store.contract()).unwrap();
    service.resume();
    service.post(FILES).json("{}").send_unchecked().expect(503);
    service.get("/readyz").send_unchecked().expect(503);
    service.get(FILES).send().expect(200);
    assert!(service.log().contains("replace it by a newer version"), "{}", service.log());
    check_upgraded(&database, "an older service went on");
    runtime.block_on(store.close());
}
