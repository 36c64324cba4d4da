//! A `PostgreSQL` whose disk is full (SQLSTATE 53100): every kind of write says so and leaves
//! nothing behind, reads continue, and writes too when there is space again. A full disk under an
//! `SQLite` file is a test of the real binary.

use application::RepositoryError;
use tests::stores::TestDatabase;

use crate::store::{CASH, FILES, NOW, TestStore, at, content, new_item};

on_both_stores! {
    ; postgres_alone:
    on_a_full_disk_of_postgresql_writes_are_refused_as_such_and_leave_nothing
}

const FILL: [&str; 2] = [
    "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'no space left'; END $$",
    "CREATE TRIGGER full_disk BEFORE INSERT ON changes FOR EACH STATEMENT EXECUTE FUNCTION no_room()",
];

const EMPTY: &str = "DROP TRIGGER full_disk ON changes";

async fn on_a_full_disk_of_postgresql_writes_are_refused_as_such_and_leave_nothing() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    let kept = store.insert(FILES, r#"{"a":1}"#).await;
    let before = store.changes();
    for statement in FILL {
        let _ = store.database.query(statement);
    }
    let full = Some(RepositoryError::Full);
    assert_eq!(store.try_insert(FILES, new_item("{}")).await.err(), full);
    assert_eq!(store.update(FILES, &kept, "{}").await.err(), full);
    assert_eq!(store.delete(FILES, &kept).await.err(), full);
    let rows = content(Vec::new(), vec![new_item("{}"), new_item("{}")]);
    assert_eq!(store.items.replace_all(CASH.collection, rows.clone(), at(NOW)).await.err(), full);
    assert_eq!(store.find(FILES, &kept).await.as_ref(), Some(&kept));
    let totals = [store.list(FILES).await.total_items, store.list(CASH).await.total_items];
    assert_eq!(totals, [1, 0]);
    assert_eq!(store.changes(), before);
    let _ = store.database.query(EMPTY);
    store.items.replace_all(CASH.collection, rows, at(NOW)).await.unwrap();
    assert_eq!(store.list(CASH).await.total_items, 2);
    assert_eq!(store.changes().len(), before.len() + 2);
}
