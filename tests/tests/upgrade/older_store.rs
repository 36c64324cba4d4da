//! Stores of the older service, and their expected state after an upgrade.

use std::time::Duration;

use storage_adapter::{SCHEMA_VERSION, Store, StoreError, StoreOptions};
use tests::stores::TestDatabase;
use tests::tool::tool;

pub fn prepare(database: &TestDatabase) {
    let (is_done, said) = older(database, "migrate");
    assert!(is_done, "{said}");
}

/// Runs a command of the older service; whether it succeeded, and its standard error.
pub fn older(database: &TestDatabase, command: &str) -> (bool, String) {
    let output = tool(&[command, "--database-url", database.url()]).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Stores items in a store on `PostgreSQL`, which count as indexed.
pub fn fill(database: &TestDatabase, items: usize) {
    const NIL: &str = "00000000-0000-0000-0000-000000000000";
    for statement in [
        format!(
            "WITH made AS (SELECT gen_random_uuid() AS id FROM generate_series(1, {items})), \
             logged AS (INSERT INTO changes (collection, item_id, version, kind, time, members) \
             SELECT 'files', id, 1, 'created', 1, '{{}}' FROM made RETURNING item_id, sequence) \
             INSERT INTO items (id, collection, version, sequence, created_at, updated_at) \
             SELECT item_id, 'files', 1, sequence, 1, 1 FROM logged"
        ),
        format!("INSERT INTO totals VALUES ('files', '{NIL}', 0, {items}, {items})"),
        "UPDATE search_progress SET sequence = (SELECT max(sequence) FROM changes)".to_owned(),
        "ANALYZE".to_owned(),
    ] {
        let _ = database.query(&statement);
    }
}

pub async fn open(url: &str) -> Result<Store, StoreError> {
    Store::connect(&options(url)).await
}

pub fn options(url: &str) -> StoreOptions {
    let (url, acquire_timeout) = (url.to_owned(), Duration::from_secs(10));
    StoreOptions { url, connections: 4, acquire_timeout }
}

/// Runs all phases, as the commands do.
pub async fn upgrade(url: &str) -> Result<(), StoreError> {
    let store = open(url).await?;
    store.migrate().await?;
    store.fill_in().await?;
    store.contract().await?;
    store.close().await;
    Ok(())
}

/// Asserts that each step was done once, and that later writes are in both columns.
pub fn check_upgraded(database: &TestDatabase, context: &str) {
    for written in [
        "UPDATE items SET updated_at = updated_at + 1",
        "INSERT INTO items (id, collection, version, sequence, created_at, updated_at) \
         VALUES ('00000000-0000-0000-0000-000000000001', 'files', 1, 0, 1, 1)",
    ] {
        let _ = database.query(written);
    }
    let version = SCHEMA_VERSION.to_string();
    let on_both = [
        (
            "SELECT CAST(version AS TEXT), CAST(oldest_writer AS TEXT) FROM schema_version",
            vec![version.as_str(), &version],
        ),
        (
            "SELECT CAST(COUNT(*) AS TEXT) FROM items WHERE written_at IS NULL OR written_at <> updated_at",
            vec!["0"],
        ),
        ("SELECT step FROM schema_steps WHERE is_done = 0", vec![]),
    ];
    let on_postgresql = [
        (
            "SELECT CAST(i.indisvalid AS TEXT) FROM pg_index i WHERE i.indexrelid = to_regclass('items_by_creation')",
            vec!["true"],
        ),
        (
            "SELECT CAST(attnotnull AS TEXT) FROM pg_attribute WHERE attrelid = to_regclass('items') AND attname = 'written_at'",
            vec!["true"],
        ),
        ("SELECT CAST(conname AS TEXT) FROM pg_constraint WHERE conname = 'items_written'", vec![]),
    ];
    let more = on_postgresql.into_iter().filter(|_| !database.is_sqlite());
    for (query, expected) in on_both.into_iter().chain(more) {
        let rows = database.query(query).into_iter().flatten().flatten();
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{context}: {query}");
    }
}
