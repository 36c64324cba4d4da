//! `insert`, `update` and `delete`: what they do, and what they refuse.

use application::{NewItem, RepositoryError, Scope};
use domain::{Version, WriteOperation};

use crate::store::{
    FILES, LIB, NOW, PROPOSALS, TestStore, at, lib_of, new_item, next_id, reach, replacement,
};

on_both_stores! {
    a_write_is_refused_with_its_reason_and_changes_nothing
    an_update_gives_the_next_version
    time_never_goes_back
    a_proposal_takes_its_library_items_along
    a_write_that_was_answered_is_there_after_reopening
    a_closed_store_is_unavailable
    ; every_server:
    times_are_those_of_the_database_where_it_has_a_clock
}

async fn a_write_is_refused_with_its_reason_and_changes_nothing(store: &TestStore) {
    use RepositoryError::{ItemNotFound, ParentNotFound, VersionConflict};
    let (one, other) = (store.insert(PROPOSALS, "{}").await, store.insert(PROPOSALS, "{}").await);
    let own = store.insert(lib_of(&one), "{}").await;
    store.update(PROPOSALS, &one, r#"{"a":1}"#).await.unwrap();
    let (file, gone) = (store.insert(FILES, "{}").await, store.insert(FILES, "{}").await);
    store.delete(FILES, &gone).await.unwrap();
    let below_unknown = Scope { parent: Some(next_id()), ..LIB };
    let continuing = |id| NewItem { continues: Some(id), ..new_item("{}") };
    let state = async || {
        let lists = [store.list(LIB).await, store.list(PROPOSALS).await, store.list(FILES).await];
        (lists, store.changes())
    };
    let before = state().await;
    let unknown = store.items.delete(FILES, next_id(), Version::FIRST, at(NOW)).await;
    for (case, done, expected) in [
        ("unknown owner", store.try_insert(below_unknown, new_item("{}")).await, ParentNotFound),
        ("file as owner", store.try_insert(lib_of(&file), new_item("{}")).await, ParentNotFound),
        ("continued", store.try_insert(PROPOSALS, continuing(next_id())).await, ItemNotFound),
        ("file", store.try_insert(PROPOSALS, continuing(file.item.id)).await, ItemNotFound),
        ("update of none", store.update(FILES, &gone, "{}").await, ItemNotFound),
        ("other owner", store.update(lib_of(&other), &own, "{}").await, ItemNotFound),
        ("other collection", store.update(FILES, &own, "{}").await, ItemNotFound),
        ("old version", store.update(PROPOSALS, &one, "{}").await, VersionConflict),
    ] {
        assert_eq!(done, Err(expected), "{case}");
    }
    for (case, done, expected) in [
        ("unknown", unknown, ItemNotFound),
        ("deleted", store.delete(FILES, &gone).await, ItemNotFound),
        ("other owner", store.delete(lib_of(&other), &own).await, ItemNotFound),
        ("old version", store.delete(PROPOSALS, &one).await, VersionConflict),
    ] {
        assert_eq!(done, Err(expected), "deletion: {case}");
    }
    assert_eq!(state().await, before);
    assert!(store.update(lib_of(&one), &own, "{}").await.is_ok());
}

async fn an_update_gives_the_next_version(store: &TestStore) {
    let scope = FILES;
    let first = store.insert(scope, r#"{"a":1}"#).await;
    let later = at(NOW + 1_000_001);
    let second = store
        .items
        .update(scope, replacement(&first, r#"{"a":2}"#), WriteOperation::Patch, later.clone())
        .await
        .unwrap();
    assert_eq!(second.item.version, Version::from_number(2));
    assert!(second.item.updated_at > first.item.updated_at);
    if store.database.is_sqlite() {
        let times = [first.item.created_at, second.item.updated_at];
        assert_eq!(times, [at(NOW).time, later.time]);
    }
    assert_eq!(
        (second.item.created_at, &*second.item.members),
        (first.item.created_at, r#"{"a":2}"#)
    );
    assert_eq!(store.find(scope, &first).await, Some(second));
}

async fn time_never_goes_back(store: &TestStore) {
    let scope = FILES;
    let first = store.insert(scope, "{}").await;
    let early = store
        .items
        .update(scope, replacement(&first, "{}"), WriteOperation::Replace, at(NOW - 5_000_000))
        .await
        .unwrap();
    assert!(early.item.updated_at > first.item.updated_at);
    if store.database.is_sqlite() {
        assert_eq!(early.item.updated_at, at(NOW + 1).time);
    }
    assert_eq!(store.find(scope, &first).await, Some(early));
}

/// An instance whose clock is ahead by a day.
async fn times_are_those_of_the_database_where_it_has_a_clock(store: &TestStore) {
    let scope = FILES;
    let day = 24 * 3_600 * 1_000_000;
    let before = store.insert(scope, "{}").await.item.created_at;
    let of_the_machine = if store.database.is_sqlite() { NOW } else { before.as_microsecond() };
    let ahead = store.items.insert(scope, new_item("{}"), at(of_the_machine + day)).await;
    let ahead = ahead.unwrap().item.created_at.as_microsecond();
    let is_ahead = ahead >= of_the_machine + day;
    assert_eq!(is_ahead, store.database.is_sqlite(), "{ahead}");
    let after = store.insert(scope, "{}").await.item.created_at.as_microsecond();
    assert!(after > ahead, "{after}");
    assert_eq!(after >= of_the_machine + day, is_ahead, "{after}");
}

async fn a_proposal_takes_its_library_items_along(store: &TestStore) {
    let (proposals, lib) = (PROPOSALS, LIB);
    let (one, other) = (store.insert(proposals, "{}").await, store.insert(proposals, "{}").await);
    let owned = [
        store.insert(lib_of(&one), r#"{"n":1}"#).await,
        store.insert(lib_of(&one), r#"{"n":2}"#).await,
    ];
    let (kept, free) = (store.insert(lib_of(&other), "{}").await, store.insert(lib, "{}").await);
    store.delete(proposals, &one).await.unwrap();
    for gone in &owned {
        assert_eq!(store.find(lib, gone).await, None);
    }
    let page = store.list(lib).await;
    assert_eq!((page.total_items, page.items), (2, vec![kept, free]));
    let totals = "SELECT CAST(SUM(items) AS TEXT), CAST(SUM(writes) AS TEXT) FROM totals WHERE collection = 'lib' GROUP BY parent ORDER BY SUM(writes)";
    let expected = [["1", "1"], ["0", "4"], ["2", "6"]]
        .map(|row| row.map(|text| Some(text.to_owned())).to_vec());
    assert_eq!(
        store.database.query(totals),
        expected,
        "the other proposal's, those of the one that may come back, and the whole library's"
    );
}

async fn a_write_that_was_answered_is_there_after_reopening(store: &TestStore) {
    let shown = store.insert(FILES, r#"{"a":1}"#).await;
    store.store.clone().close().await;
    let again = crate::store::connect(&store.database).await;
    assert_eq!(again.items().find(&reach(FILES), shown.item.id).await, Ok(Some(shown)));
    again.close().await;
}

async fn a_closed_store_is_unavailable(store: &TestStore) {
    let (items, readiness) = (store.store.items(), store.store.readiness());
    let waiting = tokio::spawn({
        let items = items.clone();
        async move { items.insert(FILES, new_item("{}"), at(NOW)).await }
    });
    waiting.await.unwrap().unwrap();
    store.store.clone().close().await;
    assert_eq!(
        items.insert(FILES, new_item("{}"), at(NOW)).await,
        Err(RepositoryError::Unavailable)
    );
    assert_eq!(items.find(&reach(FILES), next_id()).await, Err(RepositoryError::Unavailable));
    assert_eq!(readiness.check().await, Err(RepositoryError::Unavailable));
    let stored = store.database.query("SELECT CAST(COUNT(*) AS TEXT) FROM items");
    assert_eq!(stored[0][0].as_deref(), Some("1"));
}
