//! `insert`, `update` and `delete`: what they do, and what they refuse.

use application::{NewItem, RepositoryError, Scope};
use domain::{Collection, Version, WriteOperation};

use crate::store::{NOW, TestStore, all, at, lib_of, new_item, next_id, reach, replacement};

on_both_stores! {
    an_insert_under_an_unknown_owner_is_refused
    an_item_of_another_collection_owns_nothing
    an_insert_that_continues_an_unknown_item_is_refused
    an_item_of_another_collection_is_not_continued
    an_update_gives_the_next_version
    an_update_of_an_unknown_item_is_refused
    an_update_outside_the_scope_is_refused
    an_update_of_another_version_is_refused
    a_refused_update_changes_nothing
    time_never_goes_back
    times_are_those_of_the_database_where_it_has_a_clock
    a_delete_of_an_unknown_item_is_refused
    a_delete_of_another_version_is_refused
    a_deleted_item_is_gone
    a_proposal_takes_its_library_items_along
    a_write_that_was_answered_is_there_after_reopening
    a_closed_store_is_unavailable
}

async fn an_insert_under_an_unknown_owner_is_refused(store: &TestStore) {
    let scope = Scope { collection: Collection::known("lib"), parent: Some(next_id()) };
    assert_eq!(store.try_insert(scope, new_item("{}")).await, Err(RepositoryError::ParentNotFound));
    assert_eq!(store.list(all(Collection::known("lib"))).await.total_items, 0);
}

async fn an_item_of_another_collection_owns_nothing(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), "{}").await;
    assert_eq!(
        store.try_insert(lib_of(&file), new_item("{}")).await,
        Err(RepositoryError::ParentNotFound)
    );
}

async fn an_insert_that_continues_an_unknown_item_is_refused(store: &TestStore) {
    let proposals = all(Collection::known("proposals"));
    let item = NewItem { continues: Some(next_id()), ..new_item("{}") };
    assert_eq!(store.try_insert(proposals, item).await, Err(RepositoryError::ItemNotFound));
    assert_eq!(store.list(proposals).await.total_items, 0);
}

async fn an_item_of_another_collection_is_not_continued(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), "{}").await;
    let item = NewItem { continues: Some(file.item.id), ..new_item("{}") };
    assert_eq!(
        store.try_insert(all(Collection::known("proposals")), item).await,
        Err(RepositoryError::ItemNotFound)
    );
}

async fn an_update_gives_the_next_version(store: &TestStore) {
    let scope = all(Collection::known("files"));
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
        assert_eq!(second.item.updated_at, later.time);
    }
    assert_eq!(
        (second.item.created_at, &*second.item.members),
        (first.item.created_at, r#"{"a":2}"#)
    );
    assert_eq!(store.find(scope, &first).await, Some(second));
}

async fn an_update_of_an_unknown_item_is_refused(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), "{}").await;
    store.delete(all(Collection::known("files")), &file).await.unwrap();
    assert_eq!(
        store.update(all(Collection::known("files")), &file, "{}").await,
        Err(RepositoryError::ItemNotFound)
    );
}

async fn an_update_outside_the_scope_is_refused(store: &TestStore) {
    let one = store.insert(all(Collection::known("proposals")), "{}").await;
    let other = store.insert(all(Collection::known("proposals")), "{}").await;
    let own = store.insert(lib_of(&one), "{}").await;
    assert_eq!(store.update(lib_of(&other), &own, "{}").await, Err(RepositoryError::ItemNotFound));
    assert_eq!(store.delete(lib_of(&other), &own).await, Err(RepositoryError::ItemNotFound));
    assert_eq!(
        store.update(all(Collection::known("files")), &own, "{}").await,
        Err(RepositoryError::ItemNotFound)
    );
    assert!(store.update(lib_of(&one), &own, "{}").await.is_ok());
}

async fn an_update_of_another_version_is_refused(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let first = store.insert(scope, "{}").await;
    store.update(scope, &first, r#"{"a":1}"#).await.unwrap();
    assert_eq!(
        store.update(scope, &first, r#"{"a":2}"#).await,
        Err(RepositoryError::VersionConflict)
    );
}

async fn a_refused_update_changes_nothing(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let first = store.insert(scope, "{}").await;
    let second = store.update(scope, &first, r#"{"a":1}"#).await.unwrap();
    let (before, changes) = (store.list(scope).await, store.changes());
    store.update(scope, &first, r#"{"a":2}"#).await.unwrap_err();
    store.delete(scope, &first).await.unwrap_err();
    assert_eq!((store.list(scope).await, store.changes()), (before, changes));
    assert_eq!(store.find(scope, &first).await, Some(second));
}

async fn time_never_goes_back(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let first = store.insert(scope, "{}").await;
    let early = store
        .items
        .update(scope, replacement(&first, "{}"), WriteOperation::Replace, at(NOW - 5_000_000))
        .await
        .unwrap();
    assert!(early.item.updated_at > first.item.updated_at);
    assert_eq!(store.find(scope, &first).await, Some(early));
}

/// An instance whose clock is ahead by a day.
async fn times_are_those_of_the_database_where_it_has_a_clock(store: &TestStore) {
    let scope = all(Collection::known("files"));
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

async fn a_delete_of_an_unknown_item_is_refused(store: &TestStore) {
    let scope = all(Collection::known("files"));
    assert_eq!(
        store.items.delete(scope, next_id(), Version::FIRST, at(NOW)).await,
        Err(RepositoryError::ItemNotFound)
    );
}

async fn a_delete_of_another_version_is_refused(store: &TestStore) {
    let proposals = all(Collection::known("proposals"));
    let first = store.insert(proposals, "{}").await;
    let own = store.insert(lib_of(&first), "{}").await;
    let second = store.update(proposals, &first, r#"{"a":1}"#).await.unwrap();
    assert_eq!(store.delete(proposals, &first).await, Err(RepositoryError::VersionConflict));
    assert_eq!(store.find(lib_of(&second), &own).await, Some(own));
}

async fn a_deleted_item_is_gone(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let file = store.insert(scope, "{}").await;
    store.delete(scope, &file).await.unwrap();
    assert_eq!(store.find(scope, &file).await, None);
    assert_eq!(store.delete(scope, &file).await, Err(RepositoryError::ItemNotFound));
}

async fn a_proposal_takes_its_library_items_along(store: &TestStore) {
    let (proposals, lib) = (all(Collection::known("proposals")), all(Collection::known("lib")));
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
    let shown = store.insert(all(Collection::known("files")), r#"{"a":1}"#).await;
    store.store.clone().close().await;
    let again = crate::store::connect(&store.database).await;
    assert_eq!(
        again.items().find(&reach(all(Collection::known("files"))), shown.item.id).await,
        Ok(Some(shown))
    );
    again.close().await;
}

async fn a_closed_store_is_unavailable(store: &TestStore) {
    let (items, readiness) = (store.store.items(), store.store.readiness());
    let waiting = tokio::spawn({
        let items = items.clone();
        async move { items.insert(all(Collection::known("files")), new_item("{}"), at(NOW)).await }
    });
    waiting.await.unwrap().unwrap();
    store.store.clone().close().await;
    assert_eq!(
        items.insert(all(Collection::known("files")), new_item("{}"), at(NOW)).await,
        Err(RepositoryError::Unavailable)
    );
    assert_eq!(
        items.find(&reach(all(Collection::known("files"))), next_id()).await,
        Err(RepositoryError::Unavailable)
    );
    assert_eq!(readiness.check().await, Err(RepositoryError::Unavailable));
    let stored = store.database.query("SELECT CAST(COUNT(*) AS TEXT) FROM items");
    assert_eq!(stored[0][0].as_deref(), Some("1"));
}
