//! Writes that were decided on lookups: each is made only while they find the same.

use std::collections::HashSet;
use std::sync::Arc;

use application::{ItemRepository, NewItem, RepositoryError, Scope, ShownItem, WriteMetadata};
use domain::{Collection, WriteOperation};
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::lookups::{CASH, by_id, children_of, decided_on, member};
use crate::store::{
    LIB, NOW, PROPOSALS, STATUS, TestStore, all, at, content, ids, lib_of, new_item, replacement,
};

on_both_stores! {
    of_many_who_look_before_they_insert_one_inserts
    writes_that_touch_no_grounds_of_each_other_are_all_made
    a_write_whose_grounds_fail_does_not_harm_its_neighbours
    ; every_server:
    of_many_inserts_that_are_done_together_one_of_each_value_is_made
    updates_that_are_done_together_with_what_was_decided_on_them_come_one_after_the_other
    ; postgres_alone:
    a_write_of_another_history_is_refused
    a_default_isolation_of_the_database_changes_nothing
}

/// Looks up, and inserts with that read set if none was found, until no other write came in between.
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
    let second = store.second_instance().await;
    let other = second.as_ref().map_or_else(|| Arc::clone(&store.items), |second| second.items());
    for _ in 0..4 {
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let items = if writer % 2 == 0 { &store.items } else { &other };
            writers.spawn(insert_the_only_one(Arc::clone(items)));
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

/// Another server may have other items at the same versions.
async fn a_write_of_another_history_is_refused() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    let history = store.store.change_log().history_id();
    let own = || at(NOW).decided_in(Arc::clone(&history));
    let lost = || at(NOW).decided_in(format!("{history}1").into());
    let refused = Err(RepositoryError::VersionConflict);
    let shown = store.items.insert(all(CASH), new_item("{}"), own()).await.unwrap();
    let (scope, id, version) = (all(CASH), shown.item.id, shown.item.version);
    let kind = WriteOperation::Replace;
    // Neighbours in a batch are made.
    let (one, other) = tokio::join!(
        store.items.update(scope, replacement(&shown, "{}"), kind, lost()),
        store.items.insert(scope, new_item("{}"), own()),
    );
    assert_eq!((one, other.is_ok()), (Err(RepositoryError::VersionConflict), true));
    assert_eq!(store.items.insert(scope, new_item("{}"), lost()).await.map(drop), refused);
    assert_eq!(store.items.delete(scope, id, version, lost()).await, refused);
    let emptied = store.items.replace_all(CASH, content(vec![], vec![]), lost()).await;
    assert_eq!(emptied.map(drop), refused);
    assert_eq!(store.items.write_all(CASH, Vec::new(), lost()).await, refused);
    let updated = store.items.update(scope, replacement(&shown, "{}"), kind, own()).await;
    assert_eq!(updated.unwrap().item.version, version.next());
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

/// The lookups are by a member without an index and by two with one.
async fn of_many_inserts_that_are_done_together_one_of_each_value_is_made(store: &TestStore) {
    let by_index = [(PROPOSALS.collection, "program_id"), (STATUS.collection, "subject")];
    for (collection, name) in by_index.into_iter().chain([(CASH, "m")]) {
        let (mut inserts, before) = (Vec::new(), store.changes().len());
        let groups = if name == "m" { 1 } else { 4 };
        for number in 0..WRITERS {
            let length = if number % 2 == 0 { 1 } else { 300 };
            let group = number / (WRITERS / groups);
            let value = format!("{}{group}", "é".repeat(length));
            let change = decided_on(&store.items, &[member(collection, name, &value)]).await;
            let item = |value: &str| new_item(&format!("{{\"{name}\":\"{value}\"}}"));
            inserts.push((all(collection), item(&value), change));
            inserts.push((all(collection), item("y"), at(NOW)));
        }
        let done = together(store, inserts).await.into_iter().enumerate();
        let (with, without): (Vec<_>, Vec<_>) = done.partition(|(place, _)| place % 2 == 0);
        assert!(without.iter().all(|(_, done)| done.is_ok()), "{without:?}");
        let (made, refused): (Vec<_>, Vec<_>) =
            with.into_iter().map(|(_, done)| done).partition(Result::is_ok);
        let conflict = Err(RepositoryError::VersionConflict);
        assert_eq!((made.len(), refused), (2 * groups, vec![conflict; WRITERS - 2 * groups]));
        assert_eq!(
            store.changes().len() - before,
            WRITERS + made.len(),
            "a refused insert is logged"
        );
        let items = store.list(all(collection)).await.items.into_iter();
        let values: Vec<_> = items.map(|shown| shown.item.members).collect();
        assert_eq!(values.len(), WRITERS + 2 * groups);
        assert_eq!(values.into_iter().collect::<HashSet<_>>().len(), 1 + 2 * groups);
    }
}

async fn writes_that_touch_no_grounds_of_each_other_are_all_made(store: &TestStore) {
    let program = store.insert(all(Collection::known("proposedprograms")), "{}").await;
    let mut inserts = Vec::new();
    for _ in 0..WRITERS {
        let parent = store.insert(PROPOSALS, "{}").await;
        let lookups =
            [by_id(Collection::known("proposedprograms"), program.item.id), children_of(&parent)];
        inserts.push((lib_of(&parent), new_item("{}"), decided_on(&store.items, &lookups).await));
    }
    let done = together(store, inserts).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(store.list(LIB).await.items.len(), WRITERS);
}

/// An update away from, and one to, what others were decided on.
async fn updates_that_are_done_together_with_what_was_decided_on_them_come_one_after_the_other(
    store: &TestStore,
) {
    let proposals = PROPOSALS;
    for _ in 0..4 {
        let shown = store.insert(proposals, r#"{"program_id":"x"}"#).await;
        let lookup = member(PROPOSALS.collection, "program_id", "x");
        let change = decided_on(&store.items, std::slice::from_ref(&lookup)).await;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (items, change, shown) = (Arc::clone(&store.items), change.clone(), shown.clone());
            writers.spawn(async move {
                if writer == WRITERS / 2 {
                    let away = replacement(&shown, r#"{"program_id":"y"}"#);
                    return items.update(proposals, away, WriteOperation::Replace, at(NOW)).await;
                }
                items.insert(STATUS, new_item("{}"), change).await
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
        inserts.push((STATUS, new_item("{}"), change));
    }
    for _ in 0..WRITERS * 4 {
        store.insert(all(CASH), r#"{"m":"x3"}"#).await;
    }
    let done = together(store, inserts).await;
    let refused: Vec<_> =
        done.iter().enumerate().filter(|(_, done)| done.is_err()).map(|(place, _)| place).collect();
    assert_eq!((refused, &done[3]), (vec![3], &Err(RepositoryError::VersionConflict)));
    let made: Vec<_> = done.into_iter().flatten().collect();
    assert_eq!(ids(&store.list(STATUS).await.items).len(), made.len());
}
