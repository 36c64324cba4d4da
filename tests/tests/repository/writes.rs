//! Times of writes, large writes, and writes to a closed store. The model covers the effects of each kind of write.

use application::{LoggedChange, NewItem, Replacement, RepositoryError};
use domain::{ItemId, WriteOperation};
use tokio::join;

use crate::store::{
    CASH, FILES, NOW, PROPOSALS, TestStore, at, content, lib_of, new_item, next_id, reach,
    replacement, whole_log,
};

on_both_stores! {
    time_never_goes_back
    many_items_are_replaced
    thousands_are_stored_during_other_writes
    a_closed_store_is_unavailable
    an_item_is_gone_with_its_parent_however_late_it_is_written
    an_item_shows_the_items_of_its_batch_that_it_is_linked_to
    an_item_is_logged_as_deleted_before_all_that_goes_with_its_parent
    ; every_server:
    times_are_those_of_the_database_where_it_has_a_clock
}

async fn time_never_goes_back(store: &TestStore) {
    let mut shown = store.insert(FILES, "{}").await;
    let (later, early) = (NOW + 1_000_001, NOW - 5_000_000);
    for (asked, expected) in [(later, later), (early, later + 1)] {
        let (update, kind) = (replacement(&shown, "{}"), WriteOperation::Replace);
        let next = store.items.update(FILES, update, kind, at(asked)).await.unwrap();
        assert!(next.item.updated_at > shown.item.updated_at);
        if store.database.is_sqlite() {
            assert_eq!(next.item.updated_at, at(expected).time);
        }
        shown = next;
    }
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

/// The writes share a batch, in which deletions come last.
async fn an_item_is_gone_with_its_parent_however_late_it_is_written(store: &TestStore) {
    for _ in 0..20 {
        let parent = store.insert(PROPOSALS, "{}").await;
        let below = lib_of(&parent);
        let known = store.insert(below, "{}").await;
        let (added, update) = (new_item("{}"), replacement(&known, r#"{"n":1}"#));
        let (_, deleted, inserted, updated) = join!(
            store.items.insert(FILES, new_item("{}"), at(NOW)),
            store.delete(PROPOSALS, &parent),
            store.items.insert(below, added.clone(), at(NOW)),
            store.items.update(below, update, WriteOperation::Replace, at(NOW)),
        );
        deleted.unwrap();
        for (id, written) in [(added.id, inserted), (known.item.id, updated)] {
            let found = store.items.find(&reach(below), id).await.unwrap();
            assert_eq!(found, None, "{written:?}");
        }
    }
}

/// Updates are executed before insertions.
async fn an_item_shows_the_items_of_its_batch_that_it_is_linked_to(store: &TestStore) {
    for _ in 0..20 {
        let (continued, referring) =
            (store.insert(PROPOSALS, "{}").await, store.insert(CASH, "{}").await);
        let next = NewItem { continues: Some(continued.item.id), ..new_item("{}") };
        let referred = new_item("{}");
        let to_referred = format!(r#"{{"proposal_id":"{}"}}"#, referred.id);
        let references = vec![Some(referred.id)];
        let to_referred = Replacement { references, ..replacement(&referring, &to_referred) };
        let (_, inserted, updated, target, source) = join!(
            store.items.insert(FILES, new_item("{}"), at(NOW)),
            store.items.insert(PROPOSALS, next.clone(), at(NOW)),
            store.update(PROPOSALS, &continued, r#"{"n":1}"#),
            store.items.insert(PROPOSALS, referred.clone(), at(NOW)),
            store.items.update(CASH, to_referred, WriteOperation::Replace, at(NOW)),
        );
        for written in [inserted, updated, target, source] {
            written.unwrap();
        }
        let shown = store.find(PROPOSALS, &continued).await.unwrap();
        assert_eq!(shown.links.continued_by, [next.id]);
        let shown = store.find(CASH, &referring).await.unwrap();
        assert_eq!(shown.links.reference(0), Some(referred.id));
    }
}

/// The order of the log explains both answers: the item could not be deleted after its parent.
async fn an_item_is_logged_as_deleted_before_all_that_goes_with_its_parent(store: &TestStore) {
    for _ in 0..20 {
        let parent = store.insert(PROPOSALS, "{}").await;
        let other = store.insert(lib_of(&parent), "{}").await;
        let below = store.insert(lib_of(&parent), "{}").await;
        let (_, of_parent, own) = join!(
            store.items.insert(FILES, new_item("{}"), at(NOW)),
            store.delete(PROPOSALS, &parent),
            store.delete(lib_of(&parent), &below),
        );
        of_parent.unwrap();
        assert!([Ok(()), Err(RepositoryError::ItemNotFound)].contains(&own), "{own:?}");
        let log = whole_log(&*store.store.change_log()).await;
        let deletion = |of: ItemId| {
            let is_deletion =
                |change: &LoggedChange| (change.item, change.kind) == (of, WriteOperation::Delete);
            log.iter().position(is_deletion).unwrap()
        };
        let [below, other, parent] = [below, other, parent].map(|shown| deletion(shown.item.id));
        assert!(own.is_err() || below < other.min(parent), "{log:#?}");
    }
}

async fn many_items_are_replaced(store: &TestStore) {
    let additions: Vec<_> =
        (0..2000).map(|number| new_item(&format!(r#"{{"n":{number}}}"#))).collect();
    store.items.replace_all(CASH.collection, content(vec![], additions), at(NOW)).await.unwrap();
    let page = store.page(CASH, 0, 5000).await;
    let replacements =
        page.items.iter().step_by(2).map(|shown| replacement(shown, r#"{"kept":true}"#)).collect();
    let content = content(replacements, vec![new_item("{}")]);
    store.items.replace_all(CASH.collection, content, at(NOW)).await.unwrap();
    let page = store.page(CASH, 0, 5000).await;
    assert_eq!((page.total_items, page.items.len()), (1001, 1001));
    assert!(page.items[..1000].iter().all(|shown| &*shown.item.members == r#"{"kept":true}"#));
}

async fn thousands_are_stored_during_other_writes(store: &TestStore) {
    let many = (0..3_000).map(|_| new_item(r#"{"subject":"many"}"#));
    let others = async {
        for _ in 0..20 {
            store.insert(FILES, "{}").await;
        }
    };
    tokio::join!(store.insert_all(FILES, many), others);
    assert_eq!(store.list(FILES).await.total_items, 3_020);
}
