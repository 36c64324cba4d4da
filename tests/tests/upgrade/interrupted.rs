//! An upgrade that is interrupted at any statement is completed by the next one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, future, stream};
use tests::stores::TestDatabase;
use tokio::time::timeout;

use crate::older_store::{check_upgraded, fill, older, open, prepare, upgrade};
use crate::severed::{Moment, SeveredProxy};

/// More rows than two batches of a backfill have.
const ITEMS: usize = 1_100;

/// The longest time until a severed connection is noticed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The least and the most statements of an upgrade.
const STATEMENTS: std::ops::Range<usize> = 30..300;

/// The number of concurrent upgrades, each of another database.
const AT_A_TIME: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_is_interrupted_at_any_statement_is_completed_by_the_next() {
    let older = Arc::new(TestDatabase::postgres());
    prepare(&older);
    fill(&older, ITEMS);
    for moment in [Moment::BeforeItIsSent, Moment::BeforeTheAnswer] {
        let upgrades =
            (0..STATEMENTS.end).map(|at| tokio::spawn(interrupt(Arc::clone(&older), at, moment)));
        let mut interruptions = stream::iter(upgrades).buffered(AT_A_TIME);
        let mut number = 0;
        while interruptions.next().await.expect("an end of the upgrade").unwrap() {
            number += 1;
        }
        assert!(number >= STATEMENTS.start, "{number} statements");
        println!("{number} interruptions {moment:?}");
    }
}

/// Interrupts an upgrade at a statement and completes it; returns whether it has this statement.
async fn interrupt(older: Arc<TestDatabase>, at: usize, moment: Moment) -> bool {
    let database = older.copy();
    let proxy = SeveredProxy::to(database.server(), at, moment);
    let url = database.url_through(proxy.address());
    let statement = tokio::select! {
        statement = proxy.severed() => Some(statement),
        done = upgrade(&url) => match done {
            Ok(()) => None,
            // The upgrade may notice it first.
            Err(error) => {
                let severed = timeout(PATIENCE, proxy.severed()).await;
                Some(severed.unwrap_or_else(|_| panic!("{error}")))
            }
        },
    };
    let context = format!("{moment:?}, {at}: {statement:?}");
    upgrade(database.url()).await.unwrap_or_else(|error| panic!("{context}: {error}"));
    check_upgraded(&database, &context);
    statement.is_some()
}

#[tokio::test]
async fn concurrent_upgrades_are_done_once() {
    let database = TestDatabase::postgres();
    prepare(&database);
    fill(&database, ITEMS);
    future::try_join_all((0..4).map(|_| upgrade(database.url()))).await.unwrap();
    check_upgraded(&database, "four concurrent upgrades");
}

#[tokio::test]
async fn an_sqlite_file_is_upgraded() {
    let database = TestDatabase::sqlite();
    prepare(&database);
    open(database.url()).await.unwrap().close().await;
    upgrade(database.url()).await.unwrap();
    check_upgraded(&database, "SQLite");
    let (is_done, said) = older(&database, "migrate");
    assert!(!is_done && said.contains("too old"), "{said}");
}

/// With the defaults of this database, an index that is made while another transaction has a
/// snapshot would wait without a limit, or be given up.
#[tokio::test(flavor = "multi_thread")]
async fn the_defaults_of_a_database_do_not_stop_its_migration() {
    const IS_ASLEEP: &str = "SELECT 'true' FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
    const IS_MADE: &str = "SELECT CAST(clock_timestamp() - query_start > '2 s' AS TEXT) FROM pg_stat_activity \
                           WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND pid <> pg_backend_pid()";
    let database = TestDatabase::postgres();
    let name = database.query("SELECT CAST(current_database() AS TEXT)")[0][0].clone().unwrap();
    let url = database.url().to_owned();
    let other = tokio::task::spawn_blocking(move || {
        TestDatabase::existing(&url).query("SELECT CAST(pg_sleep(8) AS TEXT)")
    });
    await_true(&database, IS_ASLEEP).await;
    for setting in [
        "default_transaction_isolation = 'repeatable read'",
        "statement_timeout = '1s'",
        "lock_timeout = '10ms'",
    ] {
        let _ = database.query(&format!("ALTER DATABASE {name} SET {setting}"));
    }
    let store = open(database.url()).await.unwrap();
    let migrating = store.clone();
    let migrating = tokio::spawn(async move { migrating.migrate().await });
    await_true(&database, IS_MADE).await;
    let _ = other.await.unwrap();
    let migrated = timeout(Duration::from_mins(1), migrating).await;
    migrated.expect("a migration ends").unwrap().unwrap();
    store.close().await;
}

async fn await_true(database: &TestDatabase, query: &str) {
    let is_true = async {
        while database.query(query) != [[Some("true".to_owned())]] {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, is_true).await.unwrap_or_else(|_| panic!("{query}"));
}
