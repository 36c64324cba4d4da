//! An upgrade that is interrupted at any statement is finished by the next one.

use std::time::Duration;

use tests::stores::TestDatabase;
use tokio::time::timeout;
use url::Url;

use crate::older_store::{check_upgraded, fill, older, prepare, upgrade};
use crate::severed::{Moment, SeveredWay};

/// More rows than two batches of a backfill have.
const ITEMS: usize = 1_100;

/// Longer than it takes to notice that a connection was severed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Statements that an upgrade has at least, and is given up at.
const STATEMENTS: std::ops::Range<usize> = 30..300;

#[tokio::test]
async fn an_upgrade_that_is_interrupted_at_any_statement_is_finished_by_the_next() {
    let older = TestDatabase::postgres();
    prepare(&older);
    fill(&older, ITEMS);
    let server = Url::parse(older.url()).unwrap();
    let host = format!("{}:{}", server.host_str().unwrap(), server.port().unwrap_or(5432));
    let mut interruptions = 0;
    for moment in [Moment::BeforeItIsSent, Moment::BeforeTheAnswer] {
        for at in 0..STATEMENTS.end {
            let database = older.copy();
            let way = SeveredWay::to(host.clone(), at, moment);
            let mut url = Url::parse(database.url()).unwrap();
            url.set_ip_host(way.address().ip()).unwrap();
            url.set_port(Some(way.address().port())).unwrap();
            let statement = tokio::select! {
                statement = way.severed() => Some(statement),
                done = upgrade(url.as_str()) => match done {
                    Ok(()) => None,
                    // It may notice before we do.
                    Err(error) => {
                        let severed = timeout(PATIENCE, way.severed()).await;
                        Some(severed.unwrap_or_else(|_| panic!("{error}")))
                    }
                },
            };
            let context = format!("{moment:?}, {at}: {statement:?}");
            upgrade(database.url()).await.unwrap_or_else(|error| panic!("{context}: {error}"));
            check_upgraded(&database, &context);
            if statement.is_none() {
                assert!(at >= STATEMENTS.start, "{at} statements");
                break;
            }
            interruptions += 1;
        }
    }
    println!("{interruptions} interruptions");
}

#[tokio::test]
async fn those_who_upgrade_at_once_do_it_once() {
    let database = TestDatabase::postgres();
    prepare(&database);
    fill(&database, ITEMS);
    let upgrades = (0..4).map(|_| upgrade(database.url()));
    for done in futures_util::future::join_all(upgrades).await {
        done.unwrap();
    }
    check_upgraded(&database, "four at once");
}

#[tokio::test]
async fn an_sqlite_file_is_upgraded() {
    let database = TestDatabase::sqlite();
    prepare(&database);
    let store = crate::older_store::open(database.url()).await.unwrap();
    store.close().await;
    upgrade(database.url()).await.unwrap();
    check_upgraded(&database, "SQLite");
    let (is_done, said) = older(&database, "migrate");
    assert!(!is_done && said.contains("too old"), "{said}");
}
