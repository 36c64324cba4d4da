//! `replace_all`: a collection becomes exactly what was sent, or stays as it was.

use application::{CollectionContent, NewItem, RepositoryError};
use domain::Collection;

use crate::store::{
    CASH, FILES, LIB, NOW, PROPOSALS, TestStore, at, content, ids, lib_of, new_item, replacement,
};

on_both_stores! {
    a_refused_replacement_changes_nothing
    removed_items_take_their_own_along
    many_items_are_replaced
    another_revision_stops_all
}

async fn a_refused_replacement_changes_nothing(store: &TestStore) {
    let scope = CASH;
    let (first, second) = (store.insert(scope, "{}").await, store.insert(scope, "{}").await);
    store.update(scope, &second, r#"{"a":1}"#).await.unwrap();
    let gone = store.insert(scope, "{}").await;
    store.delete(scope, &gone).await.unwrap();
    let file = store.insert(FILES, "{}").await;
    let continuing = NewItem { continues: Some(file.item.id), ..new_item("{}") };
    let before = (store.list(scope).await, store.changes());
    let other = |shown| vec![replacement(&first, r#"{"b":1}"#), replacement(shown, "{}")];
    for (replacements, addition, expected) in [
        (other(&second), new_item("{}"), RepositoryError::VersionConflict),
        (other(&gone), new_item("{}"), RepositoryError::VersionConflict),
        (Vec::new(), continuing, RepositoryError::ItemNotFound),
    ] {
        let content = content(replacements, vec![addition]);
        let refused = store.items.replace_all(CASH.collection, content.clone(), at(NOW)).await;
        assert_eq!(refused, Err(expected), "{content:?}");
        assert_eq!((store.list(scope).await, store.changes()), before, "{content:?}");
    }
}

async fn removed_items_take_their_own_along(store: &TestStore) {
    let proposals = PROPOSALS;
    let (kept, removed) =
        (store.insert(proposals, "{}").await, store.insert(proposals, "{}").await);
    let own = store.insert(lib_of(&kept), "{}").await;
    store.insert(lib_of(&removed), "{}").await;
    store
        .items
        .replace_all(
            Collection::known("proposals"),
            content(vec![replacement(&kept, "{}")], vec![]),
            at(NOW),
        )
        .await
        .unwrap();
    let lib = store.list(LIB).await;
    assert_eq!((lib.total_items, lib.items), (1, vec![own]));
}

async fn many_items_are_replaced(store: &TestStore) {
    let additions: Vec<_> =
        (0..2000).map(|number| new_item(&format!(r#"{{"n":{number}}}"#))).collect();
    store.items.replace_all(CASH.collection, content(vec![], additions), at(NOW)).await.unwrap();
    let page = store.page(CASH, 0, 5000).await;
    let replacements =
        page.items.iter().step_by(2).map(|shown| replacement(shown, r#"{"kept":true}"#)).collect();
    store
        .items
        .replace_all(CASH.collection, content(replacements, vec![new_item("{}")]), at(NOW))
        .await
        .unwrap();
    let page = store.page(CASH, 0, 5000).await;
    assert_eq!((page.total_items, page.items.len()), (1001, 1001));
    assert!(page.items[..1000].iter().all(|shown| &*shown.item.members == r#"{"kept":true}"#));
}

async fn another_revision_stops_all(store: &TestStore) {
    let scope = CASH;
    let kept = store.insert(scope, "{}").await;
    let seen = store.list(scope).await.revision;
    store.update(scope, &kept, r#"{"a":1}"#).await.unwrap();
    let decided_on = |revision| CollectionContent {
        expected: Some(revision),
        ..content(vec![], vec![new_item("{}")])
    };
    let refused = store.items.replace_all(CASH.collection, decided_on(seen), at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    let now = store.list(scope).await;
    assert_eq!(ids(&now.items), [kept.item.id]);
    store.items.replace_all(CASH.collection, decided_on(now.revision), at(NOW)).await.unwrap();
    assert_eq!(store.find(scope, &kept).await, None);
}
