//! The change log: what every write leaves behind.

use application::Scope;
use domain::{Collection, WriteOperation};

use crate::store::{NOW, TestStore, all, at, content, lib_of, new_item, replacement};

on_both_stores! {
    every_write_is_logged_with_the_members_it_left
    items_removed_with_their_parent_are_logged_each
    a_replacement_logs_every_item_it_wrote
    every_version_of_an_item_is_kept_once
    the_last_changes_of_a_collection_are_told_whatever_was_written_since
}

fn row(version: i64, kind: &str, members: Option<&str>) -> Vec<Option<String>> {
    vec![Some(version.to_string()), Some(kind.to_owned()), None, members.map(str::to_owned)]
}

async fn every_write_is_logged_with_the_members_it_left(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let first = store.insert(scope, r#"{"b":1.0,"a":1}"#).await;
    let second = store.update(scope, &first, r#"{"b":2.0}"#).await.unwrap();
    let patched = store
        .items
        .update(scope, replacement(&second, r#"{"b":3.0}"#), WriteOperation::Patch, at(NOW))
        .await
        .unwrap();
    store.delete(scope, &patched).await.unwrap();
    let expected = [
        row(1, "created", Some(r#"{"b":1.0,"a":1}"#)),
        row(2, "replaced", Some(r#"{"b":2.0}"#)),
        row(3, "patched", Some(r#"{"b":3.0}"#)),
        row(4, "deleted", None),
    ];
    assert_eq!(store.changes(), expected);
    let when = store
        .database
        .query("SELECT CAST(time AS TEXT), collection FROM changes ORDER BY sequence");
    let times = when.iter().map(|row| row[0].as_ref().unwrap().parse::<i64>().unwrap());
    let times: Vec<_> = times.collect();
    assert!(
        times.is_sorted_by(|before, after| before < after),
        "each write has a time of its own, after those before it: {times:?}"
    );
    if store.database.is_sqlite() {
        assert_eq!(times, (NOW..NOW + 4).collect::<Vec<_>>());
    }
    assert!(when.iter().all(|row| row[1].as_deref() == Some("files")));
}

async fn items_removed_with_their_parent_are_logged_each(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), r#"{"p":1}"#).await;
    let first = store.insert(lib_of(&proposal), r#"{"n":1}"#).await;
    store.update(lib_of(&proposal), &first, r#"{"n":2}"#).await.unwrap();
    store.delete(all(Collection::known("proposals")), &proposal).await.unwrap();
    let mut deletions = store.changes().split_off(3);
    deletions.sort();
    assert_eq!(deletions, [row(2, "deleted", None), row(3, "deleted", None)]);
    let parents = store
        .database
        .query("SELECT collection FROM changes WHERE parent IS NOT NULL AND kind = 'deleted'");
    assert_eq!(parents, [[Some("lib".to_owned())]]);
}

async fn a_replacement_logs_every_item_it_wrote(store: &TestStore) {
    let scope = all(Collection::known("cashprogram"));
    let kept = store.insert(scope, r#"{"n":1}"#).await;
    store.insert(scope, r#"{"n":2}"#).await;
    store
        .items
        .replace_all(
            scope.collection,
            content(vec![replacement(&kept, "{}")], vec![new_item("{}")]),
            at(NOW),
        )
        .await
        .unwrap();
    let written = store.changes().split_off(2);
    let expected =
        [row(2, "replaced", Some("{}")), row(1, "created", Some("{}")), row(2, "deleted", None)];
    assert_eq!(written, expected);
}

async fn every_version_of_an_item_is_kept_once(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let mut shown = store.insert(scope, r#"{"n":0}"#).await;
    for number in 1..5 {
        shown = store.update(scope, &shown, &format!(r#"{{"n":{number}}}"#)).await.unwrap();
    }
    let bodies = "SELECT CAST(members AS TEXT) FROM changes ORDER BY version";
    let bodies: Vec<_> = store.database.query(bodies).into_iter().flatten().flatten().collect();
    assert_eq!(bodies, [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#, r#"{"n":4}"#]);
}

async fn the_last_changes_of_a_collection_are_told_whatever_was_written_since(store: &TestStore) {
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
    assert_eq!(latest(all(Collection::known("lib")), 10).await, 0);
}
