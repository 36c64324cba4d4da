//! The change log: what every write leaves behind.

use application::Scope;
use domain::Collection;

use crate::store::{LIB, TestStore, all};

on_both_stores! {
    the_last_changes_of_a_collection_are_found
}

async fn the_last_changes_of_a_collection_are_found(store: &TestStore) {
    let [files, statuses] = ["files", "statuses"].map(|name| all(Collection::known(name)));
    for number in 0..3 {
        store.insert(files, &format!(r#"{{"n":{number}}}"#)).await;
    }
    for _ in 0..30 {
        store.insert(statuses, "{}").await;
    }
    let latest = async |scope: Scope, limit| {
        let changes = store.store.change_log().latest(scope.collection, limit).await.unwrap();
        assert!(changes.iter().all(|change| change.collection == scope.collection));
        assert!(changes.is_sorted_by(|newer, older| newer.sequence > older.sequence));
        changes.len()
    };
    assert_eq!((latest(files, 2).await, latest(files, 10).await), (2, 3));
    assert_eq!(latest(statuses, 10).await, 10);
    assert_eq!(latest(LIB, 10).await, 0);
}
