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
