//! The time that reads wait while the schema of a large table changes and its rows are filled in.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;

use crate::older_store::{check_upgraded, fill, open};

const FILES: &str = "/v1/files";
const ITEMS: usize = 100_000;
const CLIENTS: usize = 3;

/// Ten times the bound for the longest read.
const LONGEST: Duration = Duration::from_secs(5);

#[test]
fn reads_do_not_wait_for_a_change_of_the_schema() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    fill(&database, ITEMS);
    let item = service.create(FILES, "{}");
    let [is_written, is_over] = [AtomicBool::new(false), AtomicBool::new(false)];
    let [longest, reads] = [AtomicU64::new(0), AtomicU64::new(0)];
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (service, item, longest, reads) = (&service, &item, &longest, &reads);
            let (is_written, is_over) = (&is_written, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    if client == 0 && !is_written.load(Ordering::Relaxed) {
                        service.put(&item.path).json("{}").send().expect(200);
                    }
                    for path in [&item.path, "/v1/files?page_size=25", "/v1/changes"] {
                        let since = Instant::now();
                        service.get(path).send().expect(200);
                        let took = u64::try_from(since.elapsed().as_millis()).unwrap();
                        longest.fetch_max(took, Ordering::Relaxed);
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let upgraded = runtime.block_on(async {
            let store = open(database.url()).await?;
            store.migrate().await?;
            store.fill_in().await?;
            // Reads also continue during the contraction, as if no older service ran.
            is_written.store(true, Ordering::Relaxed);
            tokio::time::sleep(LONGEST / 10).await;
            let _ = database.query("UPDATE service_instances SET schema_version = 99");
            store.contract().await?;
            store.close().await;
            Ok::<_, storage_adapter::StoreError>(())
        });
        is_over.store(true, Ordering::Relaxed);
        upgraded.unwrap();
    });
    let longest = Duration::from_millis(longest.load(Ordering::Relaxed));
    println!("the longest of {} reads took {longest:?}", reads.load(Ordering::Relaxed));
    assert!(longest < LONGEST, "a read took {longest:?}");
    check_upgraded(&database, "under load");
}
