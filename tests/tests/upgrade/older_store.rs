//! Stores that the older service made, and what is expected of them when they are upgraded.

use std::process::Command;
use std::time::Duration;

use storage_adapter::{SCHEMA_VERSION, Store, StoreError, StoreOptions};
use tests::binary;
use tests::stores::TestDatabase;

/// Prepares a database with the older service.
pub fn prepare(database: &TestDatabase) {
    let done = older(database, "migrate");
    assert!(done.0, "{}", done.1);
}

/// Runs a command of the older service; whether it succeeded, and what it said.
pub fn older(database: &TestDatabase, command: &str) -> (bool, String) {
    let output = Command::new(binary::path())
        .args([command, "--database-url", database.url()])
        .output()
        .unwrap();
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
    let options = StoreOptions {
        url: url.to_owned(),
        connections: 4,
        acquire_timeout: Duration::from_secs(10),
    };
    Store::connect(&options).await
}

/// Does all phases, as the commands do.
pub async fn upgrade(url: &str) -> Result<(), StoreError> {
    let store = open(url).await?;
    store.migrate().await?;
    store.fill_in().await?;
    store.contract().await?;
    store.close().await;
    Ok(())
}

/// Fails unless everything was done, once.
pub fn check_upgraded(database: &TestDatabase, context: &str) {
    let texts = |query: &str| -> Vec<String> {
        database.query(query).into_iter().flatten().flatten().collect()
    };
    let versions = "SELECT CAST(version AS TEXT), CAST(oldest_writer AS TEXT) FROM schema_version";
    assert_eq!(
        texts(versions),
        [SCHEMA_VERSION.to_string(), SCHEMA_VERSION.to_string()],
        "{context}"
    );
    let left_behind = "SELECT CAST(COUNT(*) AS TEXT) FROM items WHERE written_at IS NULL OR written_at <> updated_at";
    assert_eq!(texts(left_behind), ["0"], "{context}");
    let open = "SELECT step FROM schema_steps WHERE is_done = 0";
    assert!(texts(open).is_empty(), "{context}: {:?}", texts(open));
    if !database.is_sqlite() {
        let index = "SELECT CAST(i.indisvalid AS TEXT) FROM pg_index i WHERE i.indexrelid = to_regclass('items_by_creation')";
        assert_eq!(texts(index), ["true"], "{context}");
        let not_null = "SELECT CAST(attnotnull AS TEXT) FROM pg_attribute WHERE attrelid = to_regclass('items') AND attname = 'written_at'";
        assert_eq!(texts(not_null), ["true"], "{context}");
        let constraints =
            "SELECT CAST(conname AS TEXT) FROM pg_constraint WHERE conname = 'items_written'";
        assert!(texts(constraints).is_empty(), "{context}");
    }
}
