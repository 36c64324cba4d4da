//! The links of all references, and many items in one call.

use application::{NewItem, Scope, ShownItem};
use domain::{Collection, ItemId};

use crate::store::{NOW, TestStore, all, at, ids, new_item, next_id, reach};

on_both_stores! {
    every_reference_is_a_link_while_its_target_exists
    ; every_server:
    many_items_are_found_in_one_call
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
    let other = store.insert(all(Collection::known("statuses")), "{}").await;
    for (scope, index, member, targets) in references() {
        let elsewhere = referring(index, member, other.item.id);
        let elsewhere = store.try_insert(scope, elsewhere).await.unwrap();
        assert_eq!(elsewhere.links.reference(index), None, "{scope:?}");
        assert_eq!(links(store, scope, index, &elsewhere).await, [None; 2], "{scope:?}");
        let target = new_item("{}");
        let id = target.id;
        let shown = store.try_insert(scope, referring(index, member, id)).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
        let target = store.try_insert(targets, target).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [Some(id); 2], "{scope:?}");
        store.delete(targets, &target).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
        let restored = NewItem { id, ..new_item("{}") };
        store.items.restore(targets, restored, at(NOW)).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [Some(id); 2], "{scope:?}");
        let later = store.try_insert(scope, referring(index, member, id)).await.unwrap();
        assert_eq!(later.links.reference(index), Some(id), "{scope:?}");
        let updated = store.update(scope, &later, "{}").await.unwrap();
        assert_eq!(updated.links.reference(index), None, "{scope:?}");
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
