//! `replace_all`: a collection becomes exactly what was sent, or stays as it was.

use application::{CollectionContent, NewItem, RepositoryError};
use domain::{Collection, Version};

use crate::store::{NOW, TestStore, all, at, content, ids, lib_of, new_item, reach, replacement};

const COLLECTION: Collection = Collection::known("cashprogram");

on_both_stores! {
    an_empty_collection_is_filled
    items_are_kept_added_and_removed
    the_collection_can_be_emptied
    a_replaced_item_at_another_version_stops_all
    a_replaced_item_that_is_gone_stops_all
    a_continued_item_that_is_unknown_stops_all
    other_collections_stay
    removed_items_take_their_own_along
    totals_and_revision_follow
    it_tells_its_time_and_revision
    many_items_are_replaced
    another_revision_stops_all
}

async fn an_empty_collection_is_filled(store: &TestStore) {
    let additions =
        vec![new_item(r#"{"month":"01","amount":100.10}"#), new_item(r#"{"month":"02"}"#)];
    store.items.replace_all(COLLECTION, content(vec![], additions.clone()), at(NOW)).await.unwrap();
    let page = store.list(all(COLLECTION)).await;
    assert_eq!(ids(&page.items), [additions[0].id, additions[1].id]);
    assert_eq!(
        (&page.items[0].item.members, page.items[0].item.version),
        (&additions[0].members, Version::FIRST)
    );
}

async fn items_are_kept_added_and_removed(store: &TestStore) {
    let scope = all(COLLECTION);
    let kept = store.insert(scope, r#"{"n":1}"#).await;
    let removed = store.insert(scope, r#"{"n":2}"#).await;
    let addition = new_item(r#"{"n":3.0}"#);
    let replacements = vec![replacement(&kept, r#"{"z":1.50,"n":[10.0]}"#)];
    store
        .items
        .replace_all(COLLECTION, content(replacements, vec![addition.clone()]), at(NOW + 1))
        .await
        .unwrap();
    let page = store.list(scope).await;
    assert_eq!((page.total_items, ids(&page.items)), (2, vec![kept.item.id, addition.id]));
    let now = &page.items[0].item;
    assert_eq!((&*now.members, now.version), (r#"{"z":1.50,"n":[10.0]}"#, Version::from_number(2)));
    assert!(now.updated_at > removed.item.updated_at, "{}", now.updated_at);
    assert_eq!(&*page.items[1].item.members, r#"{"n":3.0}"#);
    assert_eq!(store.find(scope, &removed).await, None);
}

async fn it_tells_its_time_and_revision(store: &TestStore) {
    let referenced: Vec<_> = COLLECTION.referenced().collect();
    store.insert(all(referenced[0]), "{}").await;
    let kept = store.insert(all(COLLECTION), "{}").await;
    for additions in [vec![new_item("{}")], vec![]] {
        let seen = store.items.find(&reach(all(COLLECTION)), kept.item.id).await.unwrap().unwrap();
        let whole = content(vec![replacement(&seen, "{}")], additions);
        let write = store.items.replace_all(COLLECTION, whole, at(NOW)).await.unwrap();
        let totals = store.items.totals(&reach(all(COLLECTION)), &referenced).await.unwrap();
        assert_eq!(write.revision, totals.revision);
        for item in store.list(all(COLLECTION)).await.items {
            assert_eq!(item.item.updated_at, write.time);
        }
    }
}

async fn the_collection_can_be_emptied(store: &TestStore) {
    store.insert(all(COLLECTION), "{}").await;
    store.items.replace_all(COLLECTION, content(vec![], vec![]), at(NOW)).await.unwrap();
    let page = store.list(all(COLLECTION)).await;
    assert_eq!((page.total_items, page.items.len()), (0, 0));
}

async fn a_replaced_item_at_another_version_stops_all(store: &TestStore) {
    let scope = all(COLLECTION);
    let (first, second) = (store.insert(scope, "{}").await, store.insert(scope, "{}").await);
    store.update(scope, &second, r#"{"a":1}"#).await.unwrap();
    let before = (store.list(scope).await, store.changes());
    let replacements = vec![replacement(&first, r#"{"b":1}"#), replacement(&second, r#"{"b":2}"#)];
    let refused = store
        .items
        .replace_all(COLLECTION, content(replacements, vec![new_item("{}")]), at(NOW))
        .await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    assert_eq!((store.list(scope).await, store.changes()), before);
}

async fn a_replaced_item_that_is_gone_stops_all(store: &TestStore) {
    let scope = all(COLLECTION);
    let (first, second) = (store.insert(scope, "{}").await, store.insert(scope, "{}").await);
    store.delete(scope, &second).await.unwrap();
    let replacements = vec![replacement(&first, r#"{"b":1}"#), replacement(&second, r#"{"b":2}"#)];
    let refused = store.items.replace_all(COLLECTION, content(replacements, vec![]), at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    assert_eq!(store.list(scope).await.items, [first]);
}

async fn a_continued_item_that_is_unknown_stops_all(store: &TestStore) {
    let first = store.insert(all(COLLECTION), "{}").await;
    let file = store.insert(all(Collection::known("files")), "{}").await;
    let addition = NewItem { continues: Some(file.item.id), ..new_item("{}") };
    let refused =
        store.items.replace_all(COLLECTION, content(vec![], vec![addition]), at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ItemNotFound));
    assert_eq!(store.list(all(COLLECTION)).await.items, [first]);
}

async fn other_collections_stay(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), "{}").await;
    store
        .items
        .replace_all(COLLECTION, content(vec![], vec![new_item("{}")]), at(NOW))
        .await
        .unwrap();
    assert_eq!(store.list(all(Collection::known("files"))).await.items, [file]);
}

async fn removed_items_take_their_own_along(store: &TestStore) {
    let proposals = all(Collection::known("proposals"));
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
    let lib = store.list(all(Collection::known("lib"))).await;
    assert_eq!((lib.total_items, lib.items), (1, vec![own]));
}

async fn totals_and_revision_follow(store: &TestStore) {
    let shown = store.insert(all(COLLECTION), "{}").await;
    let before = store.list(all(COLLECTION)).await;
    store
        .items
        .replace_all(COLLECTION, content(vec![replacement(&shown, "{}")], vec![]), at(NOW))
        .await
        .unwrap();
    let after = store.list(all(COLLECTION)).await;
    assert_eq!(after.total_items, 1);
    assert_ne!(after.revision, before.revision);
}

async fn many_items_are_replaced(store: &TestStore) {
    let additions: Vec<_> =
        (0..2000).map(|number| new_item(&format!(r#"{{"n":{number}}}"#))).collect();
    store.items.replace_all(COLLECTION, content(vec![], additions), at(NOW)).await.unwrap();
    let page = store.page(all(COLLECTION), 0, 5000).await;
    let replacements =
        page.items.iter().step_by(2).map(|shown| replacement(shown, r#"{"kept":true}"#)).collect();
    store
        .items
        .replace_all(COLLECTION, content(replacements, vec![new_item("{}")]), at(NOW))
        .await
        .unwrap();
    let page = store.page(all(COLLECTION), 0, 5000).await;
    assert_eq!((page.total_items, page.items.len()), (1001, 1001));
    assert!(page.items[..1000].iter().all(|shown| &*shown.item.members == r#"{"kept":true}"#));
}

async fn another_revision_stops_all(store: &TestStore) {
    let scope = all(COLLECTION);
    let kept = store.insert(scope, "{}").await;
    let seen = store.list(scope).await.revision;
    store.update(scope, &kept, r#"{"a":1}"#).await.unwrap();
    let decided_on = |revision| CollectionContent {
        expected: Some(revision),
        ..content(vec![], vec![new_item("{}")])
    };
    let refused = store.items.replace_all(COLLECTION, decided_on(seen), at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    let now = store.list(scope).await;
    assert_eq!(ids(&now.items), [kept.item.id]);
    store.items.replace_all(COLLECTION, decided_on(now.revision), at(NOW)).await.unwrap();
    assert_eq!(store.find(scope, &kept).await, None);
}
