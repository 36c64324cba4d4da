//! Opening and preparing a store, and what people see who query with SQL.

use std::time::Duration;

use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, Selection, Subject, Total,
};
use application::{IdempotencyKey, NewItem, RepositoryError, Search, WriteMetadata};
use domain::proposal::FieldKind;
use domain::proposal::fields::FIELDS;
use domain::{Collection, Members};
use storage_adapter::{Store, StoreError, StoreOptions};
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::store::{NOW, TestStore, all, at, connect, everything, new_item, next_id};

on_both_stores! {
    a_fresh_database_is_not_migrated
    migrating_again_changes_nothing
    instances_that_start_together_prepare_the_schema_once
    a_store_of_the_first_schema_is_brought_up_to_date
    keys_of_the_fourth_schema_are_kept
    items_of_the_fifth_schema_are_given_their_subjects
    items_of_the_sixth_schema_are_given_their_references
    the_view_has_one_column_per_field
    the_view_is_made_anew_when_a_field_is_missing
    the_view_shows_fields_as_columns
}

async fn a_fresh_database_is_not_migrated(store: &TestStore) {
    assert!(store.store.is_migrated().await.unwrap());
    let fresh =
        if store.database.is_sqlite() { TestDatabase::sqlite() } else { TestDatabase::postgres() };
    let store = connect(&fresh).await;
    assert!(!store.is_migrated().await.unwrap());
    assert!(store.readiness().check().await.is_err());
    store.close().await;
}

async fn migrating_again_changes_nothing(store: &TestStore) {
    let shown = store.insert(all(Collection::known("files")), "{}").await;
    store.store.migrate().await.unwrap();
    assert_eq!(store.find(all(Collection::known("files")), &shown).await, Some(shown));
}

async fn instances_that_start_together_prepare_the_schema_once(store: &TestStore) {
    let is_sqlite = store.database.is_sqlite();
    let fresh = if is_sqlite { TestDatabase::sqlite() } else { TestDatabase::postgres() };
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

/// Takes back what the later migrations did.
const FIRST_SCHEMA: [&str; 19] = [
    "ALTER TABLE items RENAME COLUMN reference_0 TO program",
    "DROP INDEX items_by_subject",
    "ALTER TABLE items DROP COLUMN subject",
    "DROP INDEX items_by_update",
    "DROP INDEX items_by_program_id",
    "DROP INDEX items_by_research_type",
    "DROP INDEX items_by_researcher_id",
    "DROP INDEX items_by_start_date",
    "ALTER TABLE items DROP COLUMN program_id",
    "ALTER TABLE items DROP COLUMN research_type",
    "ALTER TABLE items DROP COLUMN researcher_id",
    "ALTER TABLE items DROP COLUMN start_date",
    "DROP INDEX changes_by_removal",
    "DROP TABLE idempotency_keys",
    "DROP TABLE search_progress",
    "DROP TABLE search_index",
    "DROP TABLE collection_totals",
    "CREATE INDEX collection_totals_by_parent ON collection_totals (parent)",
    "DELETE FROM seaql_migrations WHERE version NOT LIKE '%items'",
];

/// The totals as the first migration makes them, spread over shards.
fn first_totals(database: &TestDatabase) -> [String; 2] {
    let uuid = if database.is_sqlite() { "BLOB" } else { "uuid" };
    let nil = if database.is_sqlite() {
        "zeroblob(16)"
    } else {
        "'00000000-0000-0000-0000-000000000000'"
    };
    [
        format!(
            "CREATE TABLE collection_totals (collection TEXT NOT NULL, parent {uuid} NOT NULL, shard INTEGER NOT NULL, \
             items BIGINT NOT NULL, writes BIGINT NOT NULL, PRIMARY KEY (collection, parent, shard))"
        ),
        format!(
            "INSERT INTO collection_totals VALUES ('proposals', {nil}, 0, 2, 5), ('proposals', {nil}, 3, 1, 2)"
        ),
    ]
}

async fn a_store_of_the_first_schema_is_brought_up_to_date(store: &TestStore) {
    let scope = all(Collection::known("proposals"));
    for number in 0..3 {
        store
            .insert(
                scope,
                &format!(
                    "{{\"text\":\"Peñaranda {number}\",\"research_type\":\"Applied {number}\"}}"
                ),
            )
            .await;
    }
    let [table, rows] = first_totals(&store.database);
    for statement in FIRST_SCHEMA {
        if statement.starts_with("CREATE INDEX") {
            let _ = store.database.query(&table);
        }
        let _ = store.database.query(statement);
    }
    let _ = store.database.query(&rows);
    let more = if store.database.is_sqlite() {
        "DROP TABLE search_words"
    } else {
        "DROP SEQUENCE write_clock"
    };
    let _ = store.database.query(more);
    store.store.clone().close().await;
    let reopened = connect(&store.database).await;
    assert!(!reopened.is_migrated().await.unwrap());
    reopened.migrate().await.unwrap();
    let found = async |filters: Vec<Filter>, search: Option<Search>| {
        let query = PageQuery { selection: Selection { filters, search }, ..everything(scope) };
        reopened.items().page(scope, &query).await.unwrap()
    };
    let subject = Subject::Member { name: "research_type".into(), kind: Some(FieldKind::String) };
    let operand = Operand::read(&subject, "Applied 1").unwrap();
    let applied = Filter { subject, condition: Condition::Compare(Comparison::Equal, operand) };
    assert_eq!(found(vec![applied], None).await.items.len(), 1, "proposals have their keys");
    assert_eq!(
        found(vec![], Some(Search::read("penaranda").unwrap())).await.items.len(),
        3,
        "and are indexed"
    );
    let page = found(vec![], None).await;
    assert_eq!(
        (page.total, page.revision.0),
        (Total::Exact(3), 7),
        "the shards of the totals are added up"
    );
    reopened.items().insert(scope, new_item("{}"), at(NOW)).await.unwrap();
    reopened.close().await;
}

/// A service that was stopped and started again, in a newer version, answers what it was asked
/// before.
async fn keys_of_the_fourth_schema_are_kept(store: &TestStore) {
    let [path, key, fingerprint] = ["/v1/files", "k", "f"].map(Into::into);
    let change = WriteMetadata {
        key: Some(IdempotencyKey { path, key, fingerprint }),
        key_expires: at(NOW + 1_000_000).time,
        ..at(NOW)
    };
    let shown = store
        .items
        .insert(all(Collection::known("files")), new_item("{}"), change.clone())
        .await
        .unwrap();
    for statement in [
        "ALTER TABLE idempotency_keys DROP COLUMN remarks",
        "DELETE FROM seaql_migrations WHERE version LIKE '%_000005_rules'",
    ] {
        let _ = store.database.query(statement);
    }
    store.store.clone().close().await;
    let reopened = connect(&store.database).await;
    assert!(!reopened.is_migrated().await.unwrap());
    reopened.migrate().await.unwrap();
    let answered = reopened.items().answered(&change).await.unwrap().unwrap();
    assert_eq!((answered.shown, &*answered.remarks), (shown, ""));
    reopened.close().await;
}

/// The engine gives them what the service gives those that are written now.
async fn items_of_the_fifth_schema_are_given_their_subjects(store: &TestStore) {
    let (long, huge) = (format!("\"{}\"", "é".repeat(300)), "123456789012345678901234567890");
    let values = [
        r#""a""#,
        r#""Añ \" \\ \n ' 💧""#,
        r#""""#,
        &long,
        "7",
        "1.50",
        "-0",
        "1e2",
        huge,
        "true",
        "null",
        r#"["a"]"#,
        r#"{"a":"b"}"#,
    ];
    for collection in Collection::all() {
        for name in ["proposal_id", "subject", "other"] {
            for value in values {
                store
                    .insert(all(collection), &format!("{{\"first\":[1],\"{name}\":{value}}}"))
                    .await;
            }
        }
    }
    let subjects = || {
        store
            .database
            .query("SELECT CAST(members AS TEXT), collection, subject FROM items ORDER BY id")
    };
    let given = subjects();
    assert_eq!(given.iter().filter(|row| row[2].is_some()).count(), 4 * 9);
    let taken_back = ["DROP INDEX items_by_subject", "ALTER TABLE items DROP COLUMN subject"];
    for statement in taken_back
        .into_iter()
        .chain(["DELETE FROM seaql_migrations WHERE version LIKE '%_000006_subjects'"])
    {
        let _ = store.database.query(statement);
    }
    store.store.clone().close().await;
    let reopened = connect(&store.database).await;
    assert!(!reopened.is_migrated().await.unwrap());
    reopened.migrate().await.unwrap();
    assert_eq!(subjects(), given);
    reopened.close().await;
}

/// The engine takes for an identifier what the service does.
async fn items_of_the_sixth_schema_are_given_their_references(store: &TestStore) {
    let id = next_id().to_string();
    let spoilt = |place: usize, with: &str| {
        let mut spoilt = id.clone();
        spoilt.replace_range(place..=place, with);
        spoilt
    };
    let values = [
        id.clone(),
        next_id().to_string(),
        id.replace('-', ""),
        format!("{id}0"),
        format!(" {id}"),
        spoilt(0, "g"),
        spoilt(0, "A"),
        spoilt(0, "-"),
        spoilt(8, "0"),
        spoilt(14, "4"),
        spoilt(35, "é"),
        String::new(),
    ];
    for collection in Collection::all() {
        for value in &values {
            for member in ["proposal_id", "program_id", "subject"] {
                let members = format!("{{\"{member}\":\"{value}\"}}");
                let read = Members::read(members.as_bytes()).unwrap().unwrap();
                let references = collection.references_in(read.encoded());
                let item = NewItem { references, ..new_item(&members) };
                store.try_insert(all(collection), item).await.unwrap();
            }
        }
    }
    let column = if store.database.is_sqlite() { "hex(reference_0)" } else { "reference_0::text" };
    let column = format!("CASE WHEN reference_0 IS NOT NULL THEN {column} END");
    let query =
        format!("SELECT CAST(members AS TEXT), collection, {column} FROM items ORDER BY id");
    let references = || store.database.query(&query);
    let given = references();
    assert_eq!(given.iter().filter(|row| row[2].is_some()).count(), 4 * 2);
    for statement in [
        "UPDATE items SET reference_0 = NULL WHERE collection <> 'proposals'",
        "ALTER TABLE items RENAME COLUMN reference_0 TO program",
        "ALTER TABLE idempotency_keys RENAME COLUMN reference_0 TO program",
        "DELETE FROM seaql_migrations WHERE version LIKE '%_000007_references'",
    ] {
        let _ = store.database.query(statement);
    }
    store.store.clone().close().await;
    let reopened = connect(&store.database).await;
    assert!(!reopened.is_migrated().await.unwrap());
    reopened.migrate().await.unwrap();
    assert_eq!(references(), given);
    reopened.close().await;
}

fn view_columns(database: &TestDatabase) -> Vec<String> {
    let query = if database.is_sqlite() {
        "SELECT name FROM pragma_table_info('proposals') ORDER BY cid"
    } else {
        "SELECT CAST(column_name AS TEXT) FROM information_schema.columns WHERE table_name = 'proposals' ORDER BY ordinal_position"
    };
    database.query(query).into_iter().flatten().flatten().collect()
}

async fn the_view_has_one_column_per_field(store: &TestStore) {
    let fields = FIELDS.iter().map(|field| field.name);
    let expected: Vec<_> =
        ["id", "version", "created_at", "updated_at"].into_iter().chain(fields).collect();
    assert_eq!(view_columns(&store.database), expected);
}

async fn the_view_is_made_anew_when_a_field_is_missing(store: &TestStore) {
    let expected = view_columns(&store.database);
    for stale in ["SELECT CAST('' AS TEXT) AS id", "SELECT 1 AS something_else"] {
        let _ = store.database.query("DROP VIEW proposals");
        let _ = store.database.query(&format!("CREATE VIEW proposals AS {stale}"));
        store.store.migrate().await.unwrap();
        assert_eq!(view_columns(&store.database), expected);
    }
}

async fn the_view_shows_fields_as_columns(store: &TestStore) {
    let members = r#"{"project_title":"Sweetpotato","proposal_type":7,"implementation_sites":["Bato","Pili"]}"#;
    let shown = store.insert(all(Collection::known("proposals")), members).await;
    store.insert(all(Collection::known("files")), r#"{"project_title":"none"}"#).await;
    let columns = "id, CAST(created_at AS TEXT), project_title, CAST(proposal_type AS TEXT), implementation_sites, start_date";
    let rows = store.database.query(&format!("SELECT {columns} FROM proposals"));
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(row[0], Some(shown.item.id.to_string()));
    assert!(row[1].as_ref().is_some_and(|time| time.starts_with("2026-09-2")), "{row:?}");
    assert_eq!(
        row[2..5],
        [
            Some("Sweetpotato".to_owned()),
            Some("7".to_owned()),
            Some(r#"["Bato","Pili"]"#.to_owned())
        ]
    );
    assert_eq!(row[5], None);
}

async fn refusal(url: &str) -> String {
    let options = StoreOptions {
        url: url.to_owned(),
        connections: 2,
        acquire_timeout: Duration::from_secs(1),
    };
    match Store::connect(&options).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error.to_string(),
    }
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
        let message = refusal(url).await;
        assert!(
            !message.is_empty() && !message.contains("secret") && !message.contains('\n'),
            "{message}"
        );
        println!("{message}");
    }
}

#[tokio::test]
async fn the_folder_of_a_database_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/a/b/p.db?mode=rwc", folder.path().display());
    let options = StoreOptions { url, connections: 2, acquire_timeout: Duration::from_secs(1) };
    let store = Store::connect(&options).await.unwrap();
    store.migrate().await.unwrap();
    store.close().await;
    assert!(folder.path().join("a/b/p.db").is_file());
}

/// What a restart of the server does to a pool.
fn cut_all_connections(database: &TestDatabase) {
    let others =
        "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let cut = format!("SELECT CAST(pg_terminate_backend(pid) AS TEXT) {others}");
    while !database.query(&cut).is_empty() {}
}

#[tokio::test]
async fn reads_go_through_after_a_restart_of_the_server_and_writes_recover() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    let shown = store.insert(all(Collection::known("files")), "{}").await;
    let id = shown.item.id;
    let readers: JoinSet<_> = (0..8)
        .map(|_| store.items.clone())
        .map(|items| async move { items.find(all(Collection::known("files")), id).await })
        .collect();
    readers.join_all().await;
    for _ in 0..4 {
        cut_all_connections(&store.database);
        assert!(store.find(all(Collection::known("files")), &shown).await.is_some());
        // A connection on its way back into the pool at the cut is found dead by the first to use
        // it.
        let first = store.try_insert(all(Collection::known("files")), new_item("{}")).await;
        assert!(matches!(first, Ok(_) | Err(RepositoryError::Unavailable)), "{first:?}");
        let second = store.try_insert(all(Collection::known("files")), new_item("{}")).await;
        assert!(second.is_ok(), "one connection found dead casts doubt on all: {second:?}");
    }
}
