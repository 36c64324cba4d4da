//! `insert_all`: many inserts in one transaction.

use application::{NewItem, RepositoryError, Scope};
use domain::{Collection, Version};

use crate::lookups::{decided_on, member};
use crate::store::{NOW, TestStore, all, at, ids, lib_of, new_item, next_id};

on_both_stores! {
    all_are_stored_and_logged
    one_that_is_refused_keeps_all_out
    many_are_refused_when_their_read_set_has_changed
    nothing_is_stored_where_there_is_nothing_to_store
    thousands_are_stored_beside_other_writes
}

const PROPOSALS: Scope = all(Collection::known("proposals"));

const FILES: Scope = all(Collection::known("files"));

async fn all_are_stored_and_logged(store: &TestStore) {
    let items: Vec<_> = (0..5).map(|number| new_item(&format!("{{\"n\":{number}}}"))).collect();
    let expected: Vec<_> = items.iter().map(|item| (item.id, item.members.clone())).collect();
    store.items.insert_all(FILES, items, at(NOW)).await.unwrap();
    let page = store.list(FILES).await;
    let stored: Vec<_> =
        page.items.iter().map(|shown| (shown.item.id, shown.item.members.clone())).collect();
    assert_eq!((page.total_items, stored), (5, expected));
    assert!(page.items.iter().all(|shown| shown.item.version == Version::FIRST));
    assert_eq!(store.changes().len(), 5);
}

async fn one_that_is_refused_keeps_all_out(store: &TestStore) {
    let before = store.insert(PROPOSALS, "{}").await;
    let continued = NewItem { continues: Some(next_id()), ..new_item("{}") };
    let items = vec![new_item("{}"), continued, new_item("{}")];
    let refused = store.items.insert_all(PROPOSALS, items, at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ItemNotFound));
    let first = new_item("{}");
    let second = NewItem { continues: Some(first.id), ..new_item("{}") };
    let refused = store.items.insert_all(PROPOSALS, vec![first, second], at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ItemNotFound), "it does not exist before");
    let page = store.list(PROPOSALS).await;
    assert_eq!((page.total_items, ids(&page.items)), (1, vec![before.item.id]));
    assert_eq!(store.changes().len(), 1);
    store.delete(PROPOSALS, &before).await.unwrap();
    let refused = store.items.insert_all(lib_of(&before), vec![new_item("{}")], at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ParentNotFound));
}

async fn many_are_refused_when_their_read_set_has_changed(store: &TestStore) {
    let lookups = [member(FILES.collection, "m", "x")];
    let stale = decided_on(&store.items, &lookups).await;
    store.insert(FILES, r#"{"m":"x"}"#).await;
    let refused = store.items.insert_all(PROPOSALS, vec![new_item("{}")], stale).await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    let fresh = decided_on(&store.items, &lookups).await;
    store.items.insert_all(PROPOSALS, vec![new_item("{}")], fresh).await.unwrap();
    assert_eq!(store.list(PROPOSALS).await.total_items, 1);
}

async fn nothing_is_stored_where_there_is_nothing_to_store(store: &TestStore) {
    store.items.insert_all(PROPOSALS, Vec::new(), at(NOW)).await.unwrap();
    assert_eq!(store.changes().len(), 0);
}

async fn thousands_are_stored_beside_other_writes(store: &TestStore) {
    let many = (0..3_000).map(|_| new_item(r#"{"subject":"many"}"#)).collect();
    let others = async {
        for _ in 0..20 {
            store.insert(FILES, "{}").await;
        }
    };
    let (many, ()) = tokio::join!(store.items.insert_all(FILES, many, at(NOW)), others);
    many.unwrap();
    assert_eq!(store.list(FILES).await.total_items, 3_020);
}
