//! Opening and preparing a store, and what people see who query with SQL.

use std::time::Duration;

use application::query::MemberNames;
use application::{RepositoryError, ShownItem};
use domain::proposal::fields::FIELDS;
use storage_adapter::{Store, StoreError, StoreOptions};
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::store::{FILES, PROPOSALS, TestStore, connect, new_item, options, reach};

on_both_stores! {
    a_fresh_database_is_not_migrated
    an_older_store_is_refused_with_the_way_out
    a_newer_schema_is_used_as_far_as_it_allows
    ; every_server:
    instances_that_start_together_prepare_the_schema_once
    a_store_that_lacks_a_table_or_a_column_is_refused
    the_view_has_one_column_per_field_and_is_created_again_when_one_is_missing
    the_view_keeps_what_a_newer_service_added
    the_view_shows_fields_as_columns
    ; postgres_alone:
    who_waits_for_the_lock_of_the_schema_has_no_long_transaction
    statements_are_prepared_again_when_a_column_changes_its_type
    reads_go_through_after_a_restart_of_the_server_and_writes_recover
}

fn fresh(store: &TestStore) -> TestDatabase {
    if store.database.is_sqlite() { TestDatabase::sqlite() } else { TestDatabase::postgres() }
}

async fn a_fresh_database_is_not_migrated(store: &TestStore) {
    assert!(store.store.is_migrated().await.unwrap());
    assert_eq!(store.store.readiness().check().await, Ok(()));
    let fresh = fresh(store);
    let store = connect(&fresh).await;
    assert!(!store.is_migrated().await.unwrap());
    assert!(store.readiness().check().await.is_err());
    store.close().await;
}

async fn instances_that_start_together_prepare_the_schema_once(store: &TestStore) {
    let is_sqlite = store.database.is_sqlite();
    let fresh = fresh(store);
    let all_are_open = std::sync::Arc::new(tokio::sync::Barrier::new(4));
    let mut instances = JoinSet::new();
    for _ in 0..4 {
        let (url, all_are_open) = (fresh.url().to_owned(), std::sync::Arc::clone(&all_are_open));
        instances.spawn(async move {
            let options =
                StoreOptions { url, connections: 2, acquire_timeout: Duration::from_secs(10) };
            let store = Store::connect(&options).await;
            all_are_open.wait().await;
            let store = store
                .map_err(|error| assert!(matches!(error, StoreError::InUse(_)), "{error}"))
                .ok()?;
            store.migrate().await.unwrap();
            assert!(store.is_migrated().await.unwrap());
            store.close().await;
            Some(())
        });
    }
    let opened = instances.join_all().await.into_iter().flatten().count();
    assert_eq!(opened, if is_sqlite { 1 } else { 4 }, "only one process opens an SQLite file");
}

/// An index that is made concurrently waits for the end of transactions that have a snapshot when it
/// looks. One that lasted until the index is made would never end.
async fn who_waits_for_the_lock_of_the_schema_has_no_long_transaction() {
    const IS_SHORT: &str = "SELECT CAST(coalesce(max(clock_timestamp() - xact_start) < '1 s', true) AS TEXT) FROM pg_stat_activity a \
                            WHERE datname = current_database() AND pid <> pg_backend_pid() \
                            AND NOT EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted)";
    let database = TestDatabase::postgres();
    let store = connect(&database).await;
    let (is_short, migrating) = tokio::task::block_in_place(|| {
        database.while_the_schema_is_locked(|| {
            let migrating = store.clone();
            let migrating = tokio::spawn(async move { migrating.migrate().await });
            std::thread::sleep(Duration::from_secs(3));
            assert!(!migrating.is_finished());
            (database.query(IS_SHORT), migrating)
        })
    });
    assert_eq!(is_short, [[Some("true".to_owned())]]);
    migrating.await.unwrap().unwrap();
    store.close().await;
}

/// Each statement makes a store as an older version left it.
async fn an_older_store_is_refused_with_the_way_out(store: &TestStore) {
    for (version, statements) in [
        ("1", "DROP TABLE schema_version; CREATE TABLE collection_totals (collection TEXT)"),
        ("5", "UPDATE schema_version SET version = 5, oldest_reader = 5, oldest_writer = 5"),
        (
            "5",
            "ALTER TABLE items RENAME COLUMN key_1 TO program_id; UPDATE schema_version SET version = 5",
        ),
    ] {
        let older = fresh(store);
        connect_and_migrate(&older).await;
        for statement in statements.split("; ") {
            let _ = older.query(statement);
        }
        let opened = connect(&older).await;
        let mut errors = vec![
            opened.migrate().await.unwrap_err(),
            opened.is_migrated().await.unwrap_err(),
            opened.contract().await.unwrap_err(),
            options(&older).migration_plan().await.unwrap_err(),
        ];
        opened.close().await;
        errors.extend(Store::connect_to_look(&options(&older)).await.err());
        assert_eq!(errors.len(), 5);
        for error in errors {
            let line = error.to_string();
            assert!(line.contains(&format!("has schema version {version},")), "{line}");
            assert!(
                line.contains("export it with the older binary") && !line.contains('\n'),
                "{line}"
            );
        }
    }
}

async fn connect_and_migrate(database: &TestDatabase) {
    let store = connect(database).await;
    store.migrate().await.unwrap();
    store.close().await;
}

/// The newer service records the oldest version that may continue.
async fn a_newer_schema_is_used_as_far_as_it_allows(store: &TestStore) {
    let written = store.insert(FILES, "{}").await;
    for (reader, writer, may_write, may_read) in
        [(3, 3, true, true), (3, 99, false, true), (99, 99, false, false)]
    {
        let _ = store.database.query(&format!(
            "UPDATE schema_version SET version = 99, oldest_reader = {reader}, oldest_writer = {writer}"
        ));
        let is_migrated = store.store.is_migrated().await;
        assert_eq!(is_migrated.is_ok(), may_write, "{reader}, {writer}: {is_migrated:?}");
        match Store::connect_to_look(&options(&store.database)).await {
            Ok(looking) => {
                assert!(may_read, "{reader}, {writer}");
                let found = looking.unwrap().items().find(&reach(FILES), written.item.id).await;
                assert_eq!(found.unwrap().as_ref(), Some(&written));
            }
            Err(error) => {
                assert!(!may_read, "{reader}, {writer}: {error}");
                assert!(error.to_string().contains("too old"), "{error}");
            }
        }
    }
}

fn view_columns(database: &TestDatabase) -> Vec<String> {
    let query = if database.is_sqlite() {
        "SELECT name FROM pragma_table_info('proposals') ORDER BY cid"
    } else {
        "SELECT CAST(column_name AS TEXT) FROM information_schema.columns WHERE table_name = 'proposals' ORDER BY ordinal_position"
    };
    database.query(query).into_iter().flatten().flatten().collect()
}

async fn the_view_has_one_column_per_field_and_is_created_again_when_one_is_missing(
    store: &TestStore,
) {
    let fields = FIELDS.iter().map(|field| field.name);
    let own = ["id", "version", "created_at", "updated_at"].into_iter();
    let expected: Vec<_> = own.chain(fields).collect();
    assert_eq!(view_columns(&store.database), expected);
    for stale in ["SELECT CAST('' AS TEXT) AS id", "SELECT 1 AS something_else"] {
        let _ = store.database.query("DROP VIEW proposals");
        let _ = store.database.query(&format!("CREATE VIEW proposals AS {stale}"));
        store.store.migrate().await.unwrap();
        assert_eq!(view_columns(&store.database), expected);
    }
}

async fn the_view_keeps_what_a_newer_service_added(store: &TestStore) {
    let expected = view_columns(&store.database);
    let newer = "newer".to_owned();
    for kept in [expected.len(), 0] {
        let own = expected[..kept].iter().chain([&newer]);
        let own: Vec<_> = own.map(|name| format!("CAST('' AS TEXT) AS {name}")).collect();
        let _ = store.database.query("DROP VIEW proposals");
        let view = format!("CREATE VIEW proposals AS SELECT {}", own.join(", "));
        let _ = store.database.query(&view);
        if !store.database.is_sqlite() {
            let _ = store.database.query("GRANT SELECT ON proposals TO pg_monitor");
        }
        store.store.migrate().await.unwrap();
        let found = view_columns(&store.database);
        assert!(expected.iter().all(|name| found.contains(name)), "{found:?}");
        if !store.database.is_sqlite() {
            assert!(found.contains(&newer), "{found:?}");
            let granted =
                "SELECT CAST(has_table_privilege('pg_monitor', 'proposals', 'SELECT') AS TEXT)";
            assert_eq!(store.database.query(granted)[0][0].as_deref(), Some("true"));
        }
    }
}

async fn the_view_shows_fields_as_columns(store: &TestStore) {
    let members = r#"{"project_title":"Sweetpotato","proposal_type":7,"implementation_sites":["Bato","Pili"]}"#;
    let shown = store.insert(PROPOSALS, members).await;
    store.insert(FILES, r#"{"project_title":"none"}"#).await;
    let columns = "id, CAST(created_at AS TEXT), project_title, CAST(proposal_type AS TEXT), implementation_sites, start_date";
    let rows = store.database.query(&format!("SELECT {columns} FROM proposals"));
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(row[0], Some(shown.item.id.to_string()));
    let day = &shown.item.created_at.to_string()[..10];
    assert!(row[1].as_ref().is_some_and(|time| time.starts_with(day)), "{row:?}");
    let texts: Vec<_> = row[2..].iter().map(Option::as_deref).collect();
    assert_eq!(texts, [Some("Sweetpotato"), Some("7"), Some(r#"["Bato","Pili"]"#), None]);
}

/// The options of a store with few connections that answers soon.
const fn small(url: String) -> StoreOptions {
    StoreOptions { url, connections: 2, acquire_timeout: Duration::from_secs(1) }
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_says_why_in_one_line_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let absent = format!("sqlite://{}/absent/p.db", folder.path().display());
    let urls = [
        "mysql://u:secret@h/d",
        "postgres://u:secret@127.0.0.1:1/d",
        "postgres://u:secret@h:port/d",
        "sqlite::memory:",
        &absent,
    ];
    for url in urls {
        let Err(refused) = Store::connect(&small(url.to_owned())).await else {
            panic!("{url} was opened")
        };
        let message = refused.to_string();
        let is_safe = !message.contains("secret") && !message.contains('\n');
        assert!(is_safe && !message.is_empty(), "{message}");
    }
}

#[tokio::test]
async fn the_folder_of_a_database_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/a/b/p.db?mode=rwc", folder.path().display());
    let store = Store::connect(&small(url)).await.unwrap();
    store.migrate().await.unwrap();
    store.close().await;
    assert!(folder.path().join("a/b/p.db").is_file());
}

async fn a_store_that_lacks_a_table_or_a_column_is_refused(store: &TestStore) {
    for (damage, named) in [
        ("ALTER TABLE changes RENAME COLUMN request_id TO renamed", "request_id"),
        ("DROP TABLE callers", "callers"),
    ] {
        let _ = store.database.query(damage);
        let refused = store.store.is_migrated().await.unwrap_err();
        let line = refused.to_string();
        assert!(line.contains(named) && line.contains("export the store"), "{line}");
    }
}

async fn statements_are_prepared_again_when_a_column_changes_its_type() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    let files = FILES;
    let shown = store.insert(files, "{}").await;
    let fields: MemberNames = ["x".into()].into();
    let known = store.items.find_fields(&reach(files), &[shown.item.id], &fields).await.unwrap();
    let creator = |found: Vec<ShownItem>| found[0].item.created_by.clone();
    let known = creator(known);
    for (column, kind) in [("created_by", "VARCHAR(500)"), ("created_by", "TEXT")] {
        let _ =
            store.database.query(&format!("ALTER TABLE items ALTER COLUMN {column} TYPE {kind}"));
        let asking: JoinSet<_> = (0..8)
            .map(|_| (store.items.clone(), fields.clone()))
            .map(|(items, fields)| async move {
                items.find_fields(&reach(files), &[shown.item.id], &fields).await
            })
            .collect();
        for found in asking.join_all().await {
            assert_eq!(creator(found.unwrap()), known, "{kind}");
        }
        store.update(files, &store.find(files, &shown).await.unwrap(), "{}").await.unwrap();
    }
}

/// Cuts all connections, as a restart of the server does.
fn cut_all_connections(database: &TestDatabase) {
    let others =
        "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let cut = format!("SELECT CAST(pg_terminate_backend(pid) AS TEXT) {others}");
    while !database.query(&cut).is_empty() {}
}

async fn reads_go_through_after_a_restart_of_the_server_and_writes_recover() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    let shown = store.insert(FILES, "{}").await;
    let id = shown.item.id;
    let readers: JoinSet<_> = (0..8)
        .map(|_| store.items.clone())
        .map(|items| async move { items.find(&reach(FILES), id).await })
        .collect();
    readers.join_all().await;
    for _ in 0..4 {
        cut_all_connections(&store.database);
        assert!(store.find(FILES, &shown).await.is_some());
        // A connection on its way back into the pool at the cut is found dead by the first to use
        // it.
        let first = store.try_insert(FILES, new_item("{}")).await;
        assert!(matches!(first, Ok(_) | Err(RepositoryError::Unavailable)), "{first:?}");
        let second = store.try_insert(FILES, new_item("{}")).await;
        assert!(second.is_ok(), "one connection found dead casts doubt on all: {second:?}");
    }
}
