//! `page`: the window, the totals and the revision.

use application::{RepositoryError, Scope};
use domain::Collection;

use crate::store::{TestStore, all, everything, ids, lib_of, next_id, reach};

on_both_stores! {
    what_pages_link_to_counts_in_their_revision
    an_empty_collection_is_an_empty_page
    a_window_holds_its_part_in_order_of_ids
    a_window_beyond_the_end_is_empty_with_the_totals
    totals_follow_every_write
    a_parents_totals_are_its_own
    the_page_of_an_unknown_owner_is_refused
    the_page_of_a_removed_owner_is_refused
    a_collection_without_owners_has_no_parents
    the_revision_differs_after_every_write
    a_page_shows_relations
}

async fn an_empty_collection_is_an_empty_page(store: &TestStore) {
    let page = store.page(all(Collection::known("status")), 0, 25).await;
    assert_eq!((page.total_items, page.items.len()), (0, 0));
}

async fn a_window_holds_its_part_in_order_of_ids(store: &TestStore) {
    let scope = all(Collection::known("gadscores"));
    let mut inserted = Vec::new();
    for number in 0..7 {
        inserted.push(store.insert(scope, &format!(r#"{{"number":{number}}}"#)).await);
        store.insert(all(Collection::known("status")), "{}").await;
    }
    let page = store.page(scope, 2, 3).await;
    assert_eq!((page.total_items, page.items.as_slice()), (7, &inserted[2..5]));
    assert_eq!(store.page(scope, 6, 3).await.items, inserted[6..]);
    assert_eq!(store.list(scope).await.items, inserted);
}

async fn a_window_beyond_the_end_is_empty_with_the_totals(store: &TestStore) {
    let scope = all(Collection::known("gadscores"));
    store.insert(scope, "{}").await;
    for offset in [1, 1 << 40, u64::MAX] {
        let page = store.page(scope, offset, 25).await;
        assert_eq!((page.total_items, page.items.len()), (1, 0));
    }
}

async fn totals_follow_every_write(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let first = store.insert(scope, "{}").await;
    let second = store.insert(scope, "{}").await;
    let first = store.update(scope, &first, r#"{"a":1}"#).await.unwrap();
    assert_eq!(store.list(scope).await.total_items, 2);
    store.delete(scope, &first).await.unwrap();
    let page = store.list(scope).await;
    assert_eq!((page.total_items, page.items), (1, vec![second]));
}

async fn a_parents_totals_are_its_own(store: &TestStore) {
    let one = store.insert(all(Collection::known("proposals")), "{}").await;
    let other = store.insert(all(Collection::known("proposals")), "{}").await;
    let first = store.insert(lib_of(&one), "{}").await;
    let second = store.insert(lib_of(&one), "{}").await;
    store.insert(lib_of(&other), "{}").await;
    store.insert(all(Collection::known("lib")), "{}").await;
    let page = store.list(lib_of(&one)).await;
    assert_eq!((page.total_items, ids(&page.items)), (2, ids([&first, &second])));
    assert_eq!(store.list(all(Collection::known("lib"))).await.total_items, 4);
    store.delete(all(Collection::known("lib")), &first).await.unwrap();
    assert_eq!(
        (
            store.list(lib_of(&one)).await.total_items,
            store.list(all(Collection::known("lib"))).await.total_items
        ),
        (1, 3)
    );
}

async fn the_page_of_an_unknown_owner_is_refused(store: &TestStore) {
    let scope = Scope { collection: Collection::known("lib"), parent: Some(next_id()) };
    assert_eq!(
        store.items.page(&reach(scope), &everything(scope)).await,
        Err(RepositoryError::ParentNotFound)
    );
}

async fn the_page_of_a_removed_owner_is_refused(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
    let scope = lib_of(&proposal);
    store.insert(scope, "{}").await;
    store.delete(all(Collection::known("proposals")), &proposal).await.unwrap();
    assert_eq!(
        store.items.page(&reach(scope), &everything(scope)).await,
        Err(RepositoryError::ParentNotFound)
    );
}

async fn a_collection_without_owners_has_no_parents(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), "{}").await;
    let scope = Scope { collection: Collection::known("files"), parent: Some(file.item.id) };
    assert_eq!(
        store.items.page(&reach(scope), &everything(scope)).await,
        Err(RepositoryError::ParentNotFound)
    );
}

async fn the_revision_differs_after_every_write(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
    let (whole, own) = (all(Collection::known("lib")), lib_of(&proposal));
    let mut seen = vec![(store.list(whole).await.revision, store.list(own).await.revision)];
    let shown = store.insert(own, "{}").await;
    seen.push((store.list(whole).await.revision, store.list(own).await.revision));
    let shown = store.update(whole, &shown, r#"{"a":1}"#).await.unwrap();
    seen.push((store.list(whole).await.revision, store.list(own).await.revision));
    store.delete(own, &shown).await.unwrap();
    seen.push((store.list(whole).await.revision, store.list(own).await.revision));
    assert!(
        seen.is_sorted_by(|before, after| before.0.0 < after.0.0 && before.1.0 < after.1.0),
        "{seen:?}"
    );
}

async fn a_page_shows_relations(store: &TestStore) {
    let scope = all(Collection::known("cashprogram"));
    let first = store.insert(scope, "{}").await;
    let amended =
        application::NewItem { continues: Some(first.item.id), ..crate::store::new_item("{}") };
    let second = store.try_insert(scope, amended).await.unwrap();
    let page = store.list(scope).await;
    assert_eq!(page.items[0].links.continued_by, [second.item.id]);
    assert_eq!(page.items[1], second);
}

async fn what_pages_link_to_counts_in_their_revision(store: &TestStore) {
    let (proposals, programmes) =
        (all(Collection::known("proposals")), all(Collection::known("proposedprograms")));
    store.insert(proposals, "{}").await;
    let before = (store.list(proposals).await, store.list(programmes).await.revision);
    store.insert(programmes, "{}").await;
    let after = (store.list(proposals).await, store.list(programmes).await.revision);
    assert_ne!(before.0.revision, after.0.revision);
    assert_eq!((before.0.total_items, after.0.total_items), (1, 1));
    store.insert(proposals, "{}").await;
    assert_eq!(
        store.list(programmes).await.revision,
        after.1,
        "a proposal changes nothing on a page of programmes"
    );
}
