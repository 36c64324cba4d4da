//! The older service and the newer schema: the older service works until the contraction, which is
//! refused while it runs; afterwards it writes nothing.

use std::thread::sleep;
use std::time::{Duration, Instant};

use storage_adapter::StoreError;
use tests::Service;
use tests::stores::TestDatabase;
use tokio::runtime::Runtime;

use crate::older_store::{check_upgraded, fill, older, open, options};

const FILES: &str = "/v1/files";
const EXPIRE: &str = "UPDATE service_instances SET seen_at = seen_at - 61000000";

/// Longer than an instance writes without a check that it still may.
const TERM: Duration = Duration::from_secs(31);

#[test]
fn the_schema_is_contracted_without_older_services_and_a_suspended_one_writes_nothing() {
    let runtime = Runtime::new().unwrap();
    let database = TestDatabase::postgres();
    let (service, suspended) = (Service::start_on(&database), Service::start_on(&database));
    fill(&database, 700);
    suspended.create(FILES, "{}");
    suspended.suspend();
    let since = Instant::now();
    let item = service.create(FILES, "{}");
    let store = runtime.block_on(open(database.url())).unwrap();
    let planned = runtime.block_on(options(database.url()).migration_plan()).unwrap();
    let phases: Vec<_> = planned.iter().map(|step| step.phase).collect();
    assert!(phases.starts_with(&["expand"]) && phases.ends_with(&["contract"]), "{phases:?}");
    runtime.block_on(store.migrate()).unwrap();
    runtime.block_on(store.fill_in()).unwrap();
    // It does not write the new column, neither of new items nor of those that were filled in.
    service.create(FILES, "{}");
    service.put(&item.path).json("{}").send().expect(200);
    let refused = runtime.block_on(store.contract()).unwrap_err();
    assert!(matches!(refused, StoreError::OlderInstance { .. }), "{refused}");
    service.put(&item.path).json("{}").send().expect(200);
    drop(service);
    // A killed service counts as running for a minute.
    assert!(runtime.block_on(store.contract()).is_err());
    sleep(TERM.saturating_sub(since.elapsed()));
    let _ = database.query(EXPIRE);
    assert_eq!(runtime.block_on(store.contract()).unwrap(), 1);
    assert_eq!(runtime.block_on(store.contract()).unwrap(), 0, "all steps are complete");
    suspended.resume();
    suspended.post(FILES).json("{}").send_unchecked().expect(503);
    suspended.get("/readyz").send_unchecked().expect(503);
    suspended.get(FILES).send().expect(200);
    let log = suspended.log();
    assert!(log.contains("replace it with a newer version"), "{log}");
    check_upgraded(&database, "with older services");
    assert!(runtime.block_on(options(database.url()).migration_plan()).unwrap().is_empty());
    let (is_done, said) = older(&database, "migrate");
    assert!(!is_done && said.contains("too old"), "{said}");
    runtime.block_on(store.close());
}
