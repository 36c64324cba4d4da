//! `find` and `find_many`: what comes back, and what a scope hides.

use application::{NewItem, Scope, ShownItem};
use domain::{Collection, ItemId};

use crate::store::{FILES, NOW, TestStore, all, at, ids, new_item, next_id, reach};

on_both_stores! {
    every_reference_is_a_link_while_its_target_exists
    a_reference_to_an_item_of_another_collection_is_no_link
    the_store_is_ready
    ; every_server:
    members_come_back_to_the_byte
    many_items_are_found_in_one_call
}

async fn members_come_back_to_the_byte(store: &TestStore) {
    let long = "lang ".repeat(2000);
    let members = format!(
        r#"{{"z":100.10,"a":123456789012345678901234567890,"e":1.0E+2,"nested":{{"b":1,"a":[null,true,{{}}]}},"text":"Ñ ₱ 😀 \u00e9 \"q\" \\","zero":-0,"":"","long":"{long}"}}"#
    );
    let inserted = store.insert(FILES, &members).await;
    assert_eq!(*inserted.item.members, *members);
    assert_eq!(store.find(FILES, &inserted).await.unwrap(), inserted);
    let updated = store.update(FILES, &inserted, r#"{"b":1.50,"a":2}"#).await.unwrap();
    assert_eq!(*store.find(FILES, &updated).await.unwrap().item.members, *r#"{"b":1.50,"a":2}"#);
}

/// The references of all collections: the collection, the index and the member of the reference,
/// and the target.
fn references() -> impl Iterator<Item = (Scope, usize, &'static str, Scope)> {
    Collection::all().flat_map(|collection| {
        collection.spec().references.iter().enumerate().map(move |(index, reference)| {
            (all(collection), index, reference.member, all(Collection::known(reference.to)))
        })
    })
}

/// A new item whose reference of this index leads to an item.
fn referring(index: usize, member: &str, id: ItemId) -> NewItem {
    let mut references = vec![None; index + 1];
    references[index] = Some(id);
    NewItem { references, ..new_item(&format!("{{\"{member}\":\"{id}\"}}")) }
}

/// The links of an item, as it is found and as a page shows it.
async fn links(
    store: &TestStore,
    scope: Scope,
    index: usize,
    shown: &ShownItem,
) -> [Option<ItemId>; 2] {
    let found = store.find(scope, shown).await.unwrap();
    let page = store.list(scope).await;
    let listed = page.items.iter().find(|listed| listed.item.id == shown.item.id).unwrap();
    [found.links.reference(index), listed.links.reference(index)]
}

async fn every_reference_is_a_link_while_its_target_exists(store: &TestStore) {
    for (scope, index, member, targets) in references() {
        let target = new_item("{}");
        let id = target.id;
        let shown = store.try_insert(scope, referring(index, member, id)).await.unwrap();
        assert_eq!(shown.links.reference(index), None, "{scope:?}");
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
        let target = store.try_insert(targets, target).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [Some(id); 2], "{scope:?}");
        let target = store.update(targets, &target, r#"{"a":1}"#).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [Some(id); 2], "{scope:?}");
        let later = store.try_insert(scope, referring(index, member, id)).await.unwrap();
        assert_eq!(later.links.reference(index), Some(id), "{scope:?}");
        store.delete(targets, &target).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
        let restored = NewItem { id, ..new_item("{}") };
        store.items.restore(targets, restored, at(NOW)).await.unwrap();
        assert_eq!(links(store, scope, index, &later).await, [Some(id); 2], "{scope:?}");
        let updated = store.update(scope, &shown, "{}").await.unwrap();
        assert_eq!(updated.links.reference(index), None, "{scope:?}");
        assert_eq!(links(store, scope, index, &updated).await, [None; 2], "{scope:?}");
    }
}

async fn a_reference_to_an_item_of_another_collection_is_no_link(store: &TestStore) {
    let other = store.insert(all(Collection::known("statuses")), "{}").await;
    for (scope, index, member, _) in references() {
        let shown = store.try_insert(scope, referring(index, member, other.item.id)).await.unwrap();
        assert_eq!(shown.links.reference(index), None, "{scope:?}");
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
    }
}

async fn many_items_are_found_in_one_call(store: &TestStore) {
    let statuses = all(Collection::known("statuses"));
    let first = store.insert(statuses, "{}").await;
    let second = store.insert(statuses, "{}").await;
    let mut asked: Vec<_> = std::iter::repeat_with(next_id).take(20_000).collect();
    asked.extend(ids([&first, &second]));
    let mut found = store.items.find_many(&reach(statuses), &asked).await.unwrap();
    found.sort_by_key(|shown| shown.item.id);
    assert_eq!(found, [first, second]);
    assert_eq!(store.items.find_many(&reach(statuses), &[]).await.unwrap(), []);
}

async fn the_store_is_ready(store: &TestStore) {
    assert_eq!(store.store.readiness().check().await, Ok(()));
}
