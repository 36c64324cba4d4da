//! `find` and `find_many`: what comes back, and what a scope hides.

use application::{IdempotencyKey, Links, NewItem, Replacement, Scope, ShownItem, WriteMetadata};
use domain::{Collection, ItemId, Version};
use jiff::Timestamp;

use crate::store::{
    NOW, TestStore, all, at, content, ids, lib_of, new_item, next_id, reach, replacement,
};

on_both_stores! {
    an_unknown_item_is_none
    members_come_back_to_the_byte
    a_new_item_has_version_one_and_its_times
    another_collection_does_not_see_an_item
    a_parent_sees_its_own_items_only
    the_whole_library_sees_items_with_and_without_a_parent
    an_item_names_what_continues_it_oldest_first
    an_item_names_what_it_continues_while_that_exists
    a_programme_is_named_while_it_exists
    every_reference_is_a_link_while_its_target_exists
    links_of_items_that_were_read_are_current
    a_reference_to_an_item_of_another_collection_is_no_link
    a_replaced_collection_has_its_links
    an_answer_that_is_given_again_has_its_links
    many_items_are_found_in_one_call
    many_items_are_found_within_the_scope
    the_store_is_ready
}

async fn an_unknown_item_is_none(store: &TestStore) {
    assert_eq!(
        store.items.find(&reach(all(Collection::known("files"))), next_id()).await,
        Ok(None)
    );
}

async fn members_come_back_to_the_byte(store: &TestStore) {
    let long = "lang ".repeat(2000);
    let members = format!(
        r#"{{"z":100.10,"a":123456789012345678901234567890,"e":1.0E+2,"nested":{{"b":1,"a":[null,true,{{}}]}},"text":"Ñ ₱ 😀 \u00e9 \"q\" \\","zero":-0,"":"","long":"{long}"}}"#
    );
    let inserted = store.insert(all(Collection::known("files")), &members).await;
    assert_eq!(*inserted.item.members, *members);
    assert_eq!(store.find(all(Collection::known("files")), &inserted).await.unwrap(), inserted);
    let updated = store
        .update(all(Collection::known("files")), &inserted, r#"{"b":1.50,"a":2}"#)
        .await
        .unwrap();
    assert_eq!(
        *store.find(all(Collection::known("files")), &updated).await.unwrap().item.members,
        *r#"{"b":1.50,"a":2}"#
    );
}

async fn a_new_item_has_version_one_and_its_times(store: &TestStore) {
    let item = store.insert(all(Collection::known("files")), "{}").await.item;
    assert_eq!((item.version, item.created_at), (Version::FIRST, item.updated_at));
    if store.database.is_sqlite() {
        assert_eq!(item.created_at, Timestamp::from_microsecond(NOW).unwrap());
    }
    assert_eq!((item.parent, item.continues), (None, None));
}

async fn another_collection_does_not_see_an_item(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), "{}").await;
    assert_eq!(store.find(all(Collection::known("gadscores")), &file).await, None);
}

async fn a_parent_sees_its_own_items_only(store: &TestStore) {
    let (one, other) = (
        store.insert(all(Collection::known("proposals")), "{}").await,
        store.insert(all(Collection::known("proposals")), "{}").await,
    );
    let own = store.insert(lib_of(&one), "{}").await;
    assert_eq!(own.item.parent, Some(one.item.id));
    assert_eq!(store.find(lib_of(&one), &own).await.as_ref(), Some(&own));
    assert_eq!(store.find(lib_of(&other), &own).await, None);
}

async fn the_whole_library_sees_items_with_and_without_a_parent(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
    let own = store.insert(lib_of(&proposal), "{}").await;
    let free = store.insert(all(Collection::known("lib")), "{}").await;
    assert_eq!(store.find(all(Collection::known("lib")), &own).await.as_ref(), Some(&own));
    assert_eq!(store.find(lib_of(&proposal), &free).await, None);
}

async fn an_item_names_what_continues_it_oldest_first(store: &TestStore) {
    let proposals = all(Collection::known("proposals"));
    let first = store.insert(proposals, "{}").await;
    let mut continued_by = Vec::new();
    for _ in 0..3 {
        let next = store
            .try_insert(proposals, NewItem { continues: Some(first.item.id), ..new_item("{}") })
            .await
            .unwrap();
        assert_eq!(next.links, Links { continues: Some(first.item.id), ..Links::default() });
        continued_by.push(next.item.id);
    }
    assert_eq!(
        store.find(proposals, &first).await.unwrap().links,
        Links { continued_by: continued_by.clone(), ..Links::default() }
    );
    let updated = store.update(proposals, &first, r#"{"a":1}"#).await.unwrap();
    assert_eq!(updated.links.continued_by, continued_by);
}

async fn an_item_names_what_it_continues_while_that_exists(store: &TestStore) {
    let proposals = all(Collection::known("proposals"));
    let first = store.insert(proposals, "{}").await;
    let second = store
        .try_insert(proposals, NewItem { continues: Some(first.item.id), ..new_item("{}") })
        .await
        .unwrap();
    store.delete(proposals, &first).await.unwrap();
    let second = store.find(proposals, &second).await.unwrap();
    assert_eq!((second.links.continues, second.item.continues), (None, Some(first.item.id)));
}

async fn a_programme_is_named_while_it_exists(store: &TestStore) {
    let (proposals, programs) =
        (all(Collection::known("proposals")), all(Collection::known("proposedprograms")));
    let program = new_item("{}");
    let named = NewItem { references: vec![Some(program.id)], ..new_item("{}") };
    let proposal = store.try_insert(proposals, named.clone()).await.unwrap();
    assert_eq!(proposal.links.reference(0), None);
    let program = store.try_insert(programs, program).await.unwrap();
    assert_eq!(
        store.find(proposals, &proposal).await.unwrap().links.reference(0),
        Some(program.item.id)
    );
    let other = store.try_insert(proposals, NewItem { id: next_id(), ..named }).await.unwrap();
    assert_eq!(other.links.reference(0), Some(program.item.id));
    let updated = store.update(proposals, &other, "{}").await.unwrap();
    assert_eq!(updated.links.reference(0), None, "the new members name none");
    store.delete(programs, &program).await.unwrap();
    assert_eq!(store.find(proposals, &proposal).await.unwrap().links.reference(0), None);
}

/// The references of all collections: who refers, by which index and member, and to what.
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

async fn links_of_items_that_were_read_are_current(store: &TestStore) {
    for (scope, index, member, targets) in references() {
        let target = new_item("{}");
        let id = target.id;
        let shown = store.try_insert(scope, referring(index, member, id)).await.unwrap();
        // Nothing that was written is known any more.
        let other = store.insert(targets, "{}").await;
        store.delete(targets, &other).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
        store.insert(targets, "{}").await;
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
        let target = store.try_insert(targets, target).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [Some(id); 2], "{scope:?}");
        store.delete(targets, &target).await.unwrap();
        assert_eq!(links(store, scope, index, &shown).await, [None; 2], "{scope:?}");
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

async fn a_replaced_collection_has_its_links(store: &TestStore) {
    for (scope, index, member, targets) in references() {
        let target = store.insert(targets, "{}").await;
        let kept = store.insert(scope, "{}").await;
        let before = store.list(scope).await.items;
        let NewItem { references, members, .. } = referring(index, member, target.item.id);
        let replaced = before.iter().map(|shown| replacement(shown, "{}"));
        let replaced = replaced.map(|replacement| {
            let is_kept = replacement.id == kept.item.id;
            let (references, members) = (references.clone(), members.clone());
            if is_kept { Replacement { references, members, ..replacement } } else { replacement }
        });
        let content = content(replaced.collect(), vec![referring(index, member, target.item.id)]);
        let added = content.additions[0].id;
        store.items.replace_all(scope.collection, content, at(NOW)).await.unwrap();
        for id in [kept.item.id, added] {
            let shown = store.items.find(&reach(scope), id).await.unwrap().unwrap();
            assert_eq!(shown.links.reference(index), Some(target.item.id), "{scope:?}");
        }
    }
}

async fn an_answer_that_is_given_again_has_its_links(store: &TestStore) {
    for (scope, index, member, targets) in references() {
        let target = store.insert(targets, "{}").await;
        let [path, key, fingerprint] = [scope.collection.name(), "k", "f"].map(Into::into);
        let key = IdempotencyKey { path, key, fingerprint };
        let key_expires = at(NOW + 1_000_000).time;
        let change = WriteMetadata { key: Some(key), key_expires, ..at(NOW) };
        let item = referring(index, member, target.item.id);
        let shown = store.items.insert(scope, item, change.clone()).await.unwrap();
        assert_eq!(shown.links.reference(index), Some(target.item.id), "{scope:?}");
        store.delete(targets, &target).await.unwrap();
        let answered = store.items.answered(&change).await.unwrap().unwrap();
        assert_eq!(answered.shown, shown, "as it was shown");
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

async fn many_items_are_found_within_the_scope(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
    let (own, free) = (
        store.insert(lib_of(&proposal), "{}").await,
        store.insert(all(Collection::known("lib")), "{}").await,
    );
    let asked = ids([&own, &free]);
    assert_eq!(store.items.find_many(&reach(lib_of(&proposal)), &asked).await.unwrap(), [own]);
    assert_eq!(
        store
            .items
            .find_many(
                &reach(Scope { collection: Collection::known("files"), parent: None }),
                &asked
            )
            .await
            .unwrap(),
        []
    );
}

async fn the_store_is_ready(store: &TestStore) {
    assert_eq!(store.store.readiness().check().await, Ok(()));
}
