//! Writes that were decided on lookups: each is made only while they find the same.

use std::sync::Arc;

use application::{
    IdempotencyKey, ItemRepository, NewItem, RepositoryError, Scope, ShownItem, WriteMetadata,
};
use domain::{Collection, Lookup, WriteOperation};
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::lookups::{CASH, by_id, children_of, decided_on, found_ids, member};
use crate::store::{
    NOW, TestStore, all, at, connect, content, ids, lib_of, new_item, next_id, replacement,
};

on_both_stores! {
    no_write_is_made_when_an_item_came_to_what_was_found
    no_write_is_made_when_what_was_found_has_changed
    no_write_is_made_when_what_was_found_is_gone
    no_write_is_made_when_what_was_absent_is_there
    no_write_is_made_when_an_owner_got_another_item
    every_ground_of_a_write_must_hold
    what_is_left_out_may_change
    a_key_is_answered_before_grounds_are_asked
    remarks_are_given_back
    of_many_who_look_before_they_insert_one_inserts
    of_many_inserts_that_are_done_together_one_is_made
    of_many_inserts_with_one_key_that_are_done_together_one_is_made
    updates_that_are_done_together_with_what_was_decided_on_them_come_one_after_the_other
    writes_that_touch_no_grounds_of_each_other_are_all_made
    a_write_whose_grounds_fail_does_not_harm_its_neighbours
}

/// One write of every kind that there is, to another collection than the lookups of these cases
/// look in.
async fn each_write(
    store: &TestStore,
    change: &WriteMetadata,
) -> Vec<(&'static str, Result<(), RepositoryError>)> {
    let scope = all(Collection::known("status"));
    let (shown, removed) = (store.insert(scope, "{}").await, store.insert(scope, "{}").await);
    store.delete(scope, &removed).await.unwrap();
    let items = &store.items;
    let before = (store.list(scope).await, store.changes());
    let restored = NewItem { id: removed.item.id, ..new_item("{}") };
    let mut done = vec![
        ("insert", items.insert(scope, new_item("{}"), change.clone()).await.map(drop)),
        ("restore", items.restore(scope, restored, change.clone()).await.map(drop)),
        (
            "update",
            items
                .update(scope, replacement(&shown, "{}"), WriteOperation::Replace, change.clone())
                .await
                .map(drop),
        ),
    ];
    let version = if done[2].1.is_ok() { shown.item.version.next() } else { shown.item.version };
    done.push(("delete", items.delete(scope, shown.item.id, version, change.clone()).await));
    done.push((
        "replace_all",
        items
            .replace_all(scope.collection, content(vec![], vec![new_item("{}")]), change.clone())
            .await
            .map(|_| ()),
    ));
    if done.iter().all(|(_, done)| done.is_err()) {
        assert_eq!(
            (store.list(scope).await, store.changes()),
            before,
            "what is refused changes nothing"
        );
    }
    done
}

async fn assert_refused(store: &TestStore, change: &WriteMetadata) {
    for (kind, done) in each_write(store, change).await {
        assert_eq!(done, Err(RepositoryError::VersionConflict), "{kind}");
    }
}

async fn assert_made(store: &TestStore, lookups: &[Lookup]) {
    let change = decided_on(&store.items, lookups).await;
    for (kind, done) in each_write(store, &change).await {
        assert_eq!(done, Ok(()), "{kind}");
    }
}

async fn no_write_is_made_when_an_item_came_to_what_was_found(store: &TestStore) {
    let lookups = [member(CASH, "m", "x")];
    store.insert(all(CASH), r#"{"m":"y"}"#).await;
    for _ in 0..2 {
        assert_made(store, &lookups).await;
        let change = decided_on(&store.items, &lookups).await;
        let came = store.insert(all(CASH), r#"{"m":"y"}"#).await;
        assert_made(store, &lookups).await;
        store.update(all(CASH), &came, r#"{"m":"x"}"#).await.unwrap();
        assert_refused(store, &change).await;
    }
}

async fn no_write_is_made_when_what_was_found_has_changed(store: &TestStore) {
    let shown = store.insert(all(CASH), r#"{"m":"x"}"#).await;
    for lookups in [[member(CASH, "m", "x")], [by_id(CASH, shown.item.id)]] {
        let change = decided_on(&store.items, &lookups).await;
        let now = store.find(all(CASH), &shown).await.unwrap();
        store.update(all(CASH), &now, r#"{"m":"x"}"#).await.unwrap();
        assert_refused(store, &change).await;
        assert_made(store, &lookups).await;
    }
}

async fn no_write_is_made_when_what_was_found_is_gone(store: &TestStore) {
    for is_removed in [true, false] {
        let shown = store.insert(all(CASH), r#"{"m":"x"}"#).await;
        let lookups = [member(CASH, "m", "x")];
        let change = decided_on(&store.items, &lookups).await;
        if is_removed {
            let by_its_id = decided_on(&store.items, &[by_id(CASH, shown.item.id)]).await;
            store.delete(all(CASH), &shown).await.unwrap();
            assert_refused(store, &by_its_id).await;
        } else {
            store.update(all(CASH), &shown, r#"{"m":"y"}"#).await.unwrap();
        }
        assert_refused(store, &change).await;
        assert_made(store, &lookups).await;
    }
}

async fn no_write_is_made_when_what_was_absent_is_there(store: &TestStore) {
    let item = new_item("{}");
    let lookups = [by_id(CASH, item.id)];
    assert_made(store, &lookups).await;
    let change = decided_on(&store.items, &lookups).await;
    store.try_insert(all(CASH), item).await.unwrap();
    assert_refused(store, &change).await;
    assert_made(store, &lookups).await;
}

async fn no_write_is_made_when_an_owner_got_another_item(store: &TestStore) {
    let parent = store.insert(all(Collection::known("proposals")), "{}").await;
    let other = store.insert(all(Collection::known("proposals")), "{}").await;
    let own = store.insert(lib_of(&parent), "{}").await;
    let lookups = [children_of(&parent)];
    let change = decided_on(&store.items, &lookups).await;
    store.insert(lib_of(&other), "{}").await;
    assert!(
        store.items.insert(all(CASH), new_item("{}"), change.clone()).await.is_ok(),
        "the other's is not looked for"
    );
    let second = store.insert(lib_of(&parent), "{}").await;
    assert_refused(store, &change).await;
    let change = decided_on(&store.items, &lookups).await;
    store.delete(lib_of(&parent), &second).await.unwrap();
    assert_refused(store, &change).await;
    let change = decided_on(&store.items, &lookups).await;
    store.update(lib_of(&parent), &own, r#"{"a":1}"#).await.unwrap();
    assert_refused(store, &change).await;
    assert_made(store, &lookups).await;
}

async fn every_ground_of_a_write_must_hold(store: &TestStore) {
    let parent = store.insert(all(Collection::known("proposals")), r#"{"program_id":"p"}"#).await;
    let (one, other) = (
        store.insert(all(CASH), r#"{"m":"x"}"#).await,
        store.insert(all(CASH), r#"{"m":"y"}"#).await,
    );
    store.insert(lib_of(&parent), "{}").await;
    let lookups = [
        member(CASH, "m", "x"),
        Lookup { without: one.item.id, ..member(CASH, "m", "x") },
        member(CASH, "m", "y"),
        member(CASH, "m", "z"),
        member(Collection::known("proposals"), "program_id", "p"),
        by_id(CASH, one.item.id),
        by_id(CASH, next_id()),
        children_of(&parent),
    ];
    assert_made(store, &lookups).await;
    let change = decided_on(&store.items, &lookups).await;
    // Many that nobody thought of, for one of them alone.
    for _ in 0..20 {
        store.insert(all(CASH), r#"{"m":"z"}"#).await;
    }
    assert_refused(store, &change).await;
    let change = decided_on(&store.items, &lookups).await;
    store.update(all(CASH), &other, r#"{"m":"y"}"#).await.unwrap();
    assert_refused(store, &change).await;
    assert_made(store, &lookups).await;
}

async fn what_is_left_out_may_change(store: &TestStore) {
    let shown = store.insert(all(CASH), r#"{"m":"x"}"#).await;
    let lookup = Lookup { without: shown.item.id, ..member(CASH, "m", "x") };
    let change = decided_on(
        &store.items,
        &[lookup, Lookup { without: shown.item.id, ..by_id(CASH, shown.item.id) }],
    )
    .await;
    let second = store
        .items
        .update(
            all(CASH),
            replacement(&shown, r#"{"m":"x"}"#),
            WriteOperation::Replace,
            change.clone(),
        )
        .await
        .unwrap();
    assert!(
        store.items.delete(all(CASH), second.item.id, second.item.version, change).await.is_ok()
    );
}

fn keyed(change: WriteMetadata, remarks: &str) -> WriteMetadata {
    let [path, key, fingerprint] = ["/v1/status", "k", "f"].map(Into::into);
    WriteMetadata {
        key: Some(IdempotencyKey { path, key, fingerprint }),
        key_expires: change.time + jiff::SignedDuration::from_hours(1),
        remarks: remarks.into(),
        ..change
    }
}

async fn a_key_is_answered_before_grounds_are_asked(store: &TestStore) {
    let scope = all(Collection::known("status"));
    let stale = keyed(decided_on(&store.items, &[member(CASH, "m", "x")]).await, "");
    store.insert(all(CASH), r#"{"m":"x"}"#).await;
    assert_eq!(
        store.items.insert(scope, new_item("{}"), stale.clone()).await,
        Err(RepositoryError::VersionConflict)
    );
    assert_eq!(store.items.answered(&stale).await, Ok(None), "what was refused is not remembered");
    let fresh = keyed(decided_on(&store.items, &[member(CASH, "m", "x")]).await, "");
    let written = store.items.insert(scope, new_item("{}"), fresh).await.unwrap();
    assert_eq!(
        store.items.insert(scope, new_item("{}"), stale.clone()).await,
        Err(RepositoryError::AnsweredBefore)
    );
    assert_eq!(
        store.items.answered(&stale).await.unwrap().map(|answered| answered.shown),
        Some(written)
    );
}

async fn remarks_are_given_back(store: &TestStore) {
    let scope = all(Collection::known("status"));
    let remarks = "[{\"code\":\"late\",\"message\":\"Año ' \\\" \\\\ {}\"}]";
    let change = keyed(at(NOW), remarks);
    store.items.insert(scope, new_item("{}"), change.clone()).await.unwrap();
    assert_eq!(
        store.items.answered(&change).await.unwrap().map(|answered| answered.remarks),
        Some(remarks.into())
    );
    let mut other = keyed(at(NOW), "");
    if let Some(key) = &mut other.key {
        key.key = "another".into();
    }
    store.items.insert(scope, new_item("{}"), other.clone()).await.unwrap();
    assert_eq!(
        store.items.answered(&other).await.unwrap().map(|answered| answered.remarks),
        Some("".into())
    );
}

/// Who looks, decides that there may be one at most, and inserts on these read set, until nobody
/// came in between.
async fn insert_the_only_one(items: Arc<dyn ItemRepository>) -> bool {
    let lookup = member(CASH, "m", "x");
    loop {
        let change = decided_on(&items, std::slice::from_ref(&lookup)).await;
        if change.read_set.iter().any(|ground| !ground.found.is_empty()) {
            return false;
        }
        match items.insert(all(CASH), new_item(r#"{"m":"x"}"#), change).await {
            Ok(_) => return true,
            Err(RepositoryError::VersionConflict) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

const WRITERS: usize = 32;

async fn of_many_who_look_before_they_insert_one_inserts(store: &TestStore) {
    let second =
        if store.database.is_sqlite() { None } else { Some(connect(&store.database).await) };
    let other = second.as_ref().map_or_else(|| Arc::clone(&store.items), |second| second.items());
    for _ in 0..4 {
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(insert_the_only_one(Arc::clone(if writer % 2 == 0 {
                &store.items
            } else {
                &other
            })));
        }
        let inserted = writers.join_all().await.into_iter().filter(|inserted| *inserted).count();
        assert_eq!((inserted, store.list(all(CASH)).await.total_items), (1, 1));
        store.items.replace_all(CASH, content(vec![], vec![]), at(NOW)).await.unwrap();
    }
    if let Some(second) = second {
        second.close().await;
    }
}

/// A transaction that would keep to what was there when it began would not see what the turn before
/// it wrote.
#[tokio::test(flavor = "multi_thread")]
async fn a_default_isolation_of_the_database_changes_nothing() {
    let database = TestDatabase::postgres();
    let name = database.query("SELECT CAST(current_database() AS TEXT)")[0][0].clone().unwrap();
    let _ = database.query(&format!(
        "ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'"
    ));
    let store = TestStore::open(database).await;
    of_many_who_look_before_they_insert_one_inserts(&store).await;
    store.store.close().await;
}

/// Asks for the inserts at a time when no write goes through, so that they wait for each other.
async fn together(
    store: &TestStore,
    inserts: Vec<(Scope, NewItem, WriteMetadata)>,
) -> Vec<Result<ShownItem, RepositoryError>> {
    let mut writers = Vec::new();
    tokio::task::block_in_place(|| {
        store.database.while_no_write_goes_through(|| {
            for (scope, item, change) in inserts {
                let (items, (asks, asked)) = (Arc::clone(&store.items), std::sync::mpsc::channel());
                writers.push(tokio::spawn(async move {
                    asks.send(()).unwrap();
                    items.insert(scope, item, change).await
                }));
                asked.recv().unwrap();
            }
        });
    });
    let mut done = Vec::new();
    for writer in writers {
        done.push(writer.await.unwrap());
    }
    done
}

async fn of_many_inserts_that_are_done_together_one_is_made(store: &TestStore) {
    let mut inserts = Vec::new();
    for _ in 0..WRITERS {
        let change = decided_on(&store.items, &[member(CASH, "m", "x")]).await;
        inserts.push((all(CASH), new_item(r#"{"m":"x"}"#), change));
        inserts.push((all(CASH), new_item(r#"{"m":"y"}"#), at(NOW)));
    }
    let (with, without): (Vec<_>, Vec<_>) = together(store, inserts)
        .await
        .into_iter()
        .enumerate()
        .partition(|(place, _)| place % 2 == 0);
    assert!(without.iter().all(|(_, done)| done.is_ok()), "{without:?}");
    let (made, refused): (Vec<_>, Vec<_>) =
        with.into_iter().map(|(_, done)| done).partition(Result::is_ok);
    assert_eq!(
        (made.len(), refused),
        (1, vec![Err(RepositoryError::VersionConflict); WRITERS - 1])
    );
    assert_eq!(found_ids(store, &member(CASH, "m", "x")).await.len(), 1);
    assert_eq!(store.changes().len(), WRITERS + 1);
}

async fn writes_that_touch_no_grounds_of_each_other_are_all_made(store: &TestStore) {
    let program = store.insert(all(Collection::known("proposedprograms")), "{}").await;
    let mut inserts = Vec::new();
    for _ in 0..WRITERS {
        let parent = store.insert(all(Collection::known("proposals")), "{}").await;
        let lookups =
            [by_id(Collection::known("proposedprograms"), program.item.id), children_of(&parent)];
        inserts.push((lib_of(&parent), new_item("{}"), decided_on(&store.items, &lookups).await));
    }
    let done = together(store, inserts).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(store.list(all(Collection::known("lib"))).await.items.len(), WRITERS);
}

/// The same by a member with an index, where writes that leave another value go together.
async fn of_many_inserts_with_one_key_that_are_done_together_one_is_made(store: &TestStore) {
    for (collection, name) in
        [(Collection::known("proposals"), "program_id"), (Collection::known("status"), "subject")]
    {
        let mut inserts = Vec::new();
        for number in 0..WRITERS {
            let value =
                format!("{}{}", "é".repeat(if number % 2 == 0 { 1 } else { 300 }), number / 8);
            let members = format!("{{\"{name}\":\"{value}\"}}");
            let change = decided_on(&store.items, &[member(collection, name, &value)]).await;
            inserts.push((all(collection), new_item(&members), change));
        }
        let (made, refused): (Vec<_>, Vec<_>) =
            together(store, inserts).await.into_iter().partition(Result::is_ok);
        assert_eq!(
            (made.len(), refused),
            (8, vec![Err(RepositoryError::VersionConflict); WRITERS - 8])
        );
        let values =
            store.list(all(collection)).await.items.into_iter().map(|shown| shown.item.members);
        assert_eq!(values.collect::<std::collections::HashSet<_>>().len(), 8);
    }
}

/// An update away from, and one to, what others were decided on.
async fn updates_that_are_done_together_with_what_was_decided_on_them_come_one_after_the_other(
    store: &TestStore,
) {
    let proposals = all(Collection::known("proposals"));
    for _ in 0..4 {
        let shown = store.insert(proposals, r#"{"program_id":"x"}"#).await;
        let lookup = member(Collection::known("proposals"), "program_id", "x");
        let change = decided_on(&store.items, std::slice::from_ref(&lookup)).await;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (items, change, shown) = (Arc::clone(&store.items), change.clone(), shown.clone());
            writers.spawn(async move {
                if writer == WRITERS / 2 {
                    let away = replacement(&shown, r#"{"program_id":"y"}"#);
                    return items.update(proposals, away, WriteOperation::Replace, at(NOW)).await;
                }
                items.insert(all(Collection::known("status")), new_item("{}"), change).await
            });
        }
        let done = writers.join_all().await;
        let away = store.find(proposals, &shown).await.unwrap().item;
        for done in &done {
            let is_before = done.as_ref().is_ok_and(|written| {
                written.item.id == away.id || written.item.updated_at <= away.updated_at
            });
            assert!(is_before || *done == Err(RepositoryError::VersionConflict), "{done:?}");
        }
        store.items.delete(proposals, away.id, away.version, at(NOW)).await.unwrap();
    }
}

/// Far more is there than the read set of one know of; those of the others hold all the same.
async fn a_write_whose_grounds_fail_does_not_harm_its_neighbours(store: &TestStore) {
    let mut inserts = Vec::new();
    for number in 0..WRITERS {
        let change = decided_on(&store.items, &[member(CASH, "m", &format!("x{number}"))]).await;
        inserts.push((all(Collection::known("status")), new_item("{}"), change));
    }
    for _ in 0..WRITERS * 4 {
        store.insert(all(CASH), r#"{"m":"x3"}"#).await;
    }
    let done = together(store, inserts).await;
    let refused: Vec<_> =
        done.iter().enumerate().filter(|(_, done)| done.is_err()).map(|(place, _)| place).collect();
    assert_eq!((refused, &done[3]), (vec![3], &Err(RepositoryError::VersionConflict)));
    let made: Vec<_> = done.into_iter().flatten().collect();
    assert_eq!(ids(&store.list(all(Collection::known("status"))).await.items).len(), made.len());
}
