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
    LIB, NOW, PROPOSALS, STATUS, TestStore, all, at, connect, content, ids, lib_of, new_item,
    next_id, replacement,
};

on_both_stores! {
    no_write_is_made_when_what_was_found_is_not_the_same
    a_key_is_answered_before_grounds_are_asked
    every_ground_of_a_write_must_hold
    what_is_left_out_may_change
    of_many_who_look_before_they_insert_one_inserts
    of_many_inserts_that_are_done_together_one_is_made
    writes_that_touch_no_grounds_of_each_other_are_all_made
    a_write_whose_grounds_fail_does_not_harm_its_neighbours
    ; every_server:
    of_many_inserts_with_one_key_that_are_done_together_one_is_made
    updates_that_are_done_together_with_what_was_decided_on_them_come_one_after_the_other
    ; postgres_alone:
    a_default_isolation_of_the_database_changes_nothing
}

/// One write of every kind, to another collection than that of the lookups.
async fn each_write(
    store: &TestStore,
    change: &WriteMetadata,
) -> Vec<(&'static str, Result<(), RepositoryError>)> {
    let scope = STATUS;
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

async fn no_write_is_made_when_what_was_found_is_not_the_same(store: &TestStore) {
    let (x, y) = (r#"{"m":"x"}"#, r#"{"m":"y"}"#);
    let (one, other) = (store.insert(PROPOSALS, "{}").await, store.insert(PROPOSALS, "{}").await);
    let own = store.insert(lib_of(&one), "{}").await;
    let found = store.insert(all(CASH), x).await;
    let elsewhere = store.insert(all(CASH), y).await;
    let absent = new_item("{}");
    let (by_member, by_its_id) = (member(CASH, "m", "x"), by_id(CASH, found.item.id));
    let by_absent = by_id(CASH, absent.id);
    for (case, lookup) in [
        ("an item comes", &by_member),
        ("it changes", &by_member),
        ("it changes", &by_its_id),
        ("its member changes", &by_member),
        ("it is deleted", &by_member),
        ("it is deleted", &by_its_id),
        ("an absent one comes", &by_absent),
        ("an owner gets one", &children_of(&one)),
        ("an owner's changes", &children_of(&one)),
        ("an owner loses one", &children_of(&one)),
    ] {
        let lookups = std::slice::from_ref(lookup);
        assert_made(store, lookups).await;
        let change = decided_on(&store.items, lookups).await;
        store.insert(lib_of(&other), "{}").await;
        store.insert(all(CASH), y).await;
        let unrelated = store.items.insert(all(CASH), new_item("{}"), change.clone()).await;
        assert!(unrelated.is_ok(), "{case}: what others have is not looked for");
        match case {
            "an item comes" => drop(store.update(all(CASH), &elsewhere, x).await.unwrap()),
            "it changes" | "its member changes" => {
                let now = store.find(all(CASH), &found).await.unwrap();
                let members = if case == "it changes" { x } else { y };
                store.update(all(CASH), &now, members).await.unwrap();
            }
            "it is deleted" => {
                let gone = if *lookup == by_member { &elsewhere } else { &found };
                let now = store.find(all(CASH), gone).await.unwrap();
                store.delete(all(CASH), &now).await.unwrap();
            }
            "an absent one comes" => {
                store.try_insert(all(CASH), absent.clone()).await.unwrap();
            }
            "an owner gets one" => drop(store.insert(lib_of(&one), "{}").await),
            "an owner's changes" => drop(store.update(lib_of(&one), &own, x).await.unwrap()),
            _ => store.delete(LIB, &store.find(LIB, &own).await.unwrap()).await.unwrap(),
        }
        assert_refused(store, &change).await;
        assert_made(store, lookups).await;
    }
}

async fn every_ground_of_a_write_must_hold(store: &TestStore) {
    let parent = store.insert(PROPOSALS, r#"{"program_id":"p"}"#).await;
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
        member(PROPOSALS.collection, "program_id", "p"),
        by_id(CASH, one.item.id),
        by_id(CASH, next_id()),
        children_of(&parent),
    ];
    assert_made(store, &lookups).await;
    let change = decided_on(&store.items, &lookups).await;
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

pub fn keyed(change: WriteMetadata, remarks: &str) -> WriteMetadata {
    let [path, key, fingerprint] = ["/v1/status", "k", "f"].map(Into::into);
    WriteMetadata {
        key: Some(IdempotencyKey { path, key, fingerprint }),
        key_expires: change.time + jiff::SignedDuration::from_hours(1),
        remarks: remarks.into(),
        ..change
    }
}

async fn a_key_is_answered_before_grounds_are_asked(store: &TestStore) {
    let remarks = "[{\"code\":\"late\",\"message\":\"Año ' \\\" \\\\ {}\"}]";
    let lookups = [member(CASH, "m", "x")];
    let stale = keyed(decided_on(&store.items, &lookups).await, "");
    store.insert(all(CASH), r#"{"m":"x"}"#).await;
    let insert = async |change| store.items.insert(STATUS, new_item("{}"), change).await;
    assert_eq!(insert(stale.clone()).await, Err(RepositoryError::VersionConflict));
    assert_eq!(store.items.answered(&stale).await, Ok(None), "what was refused is not remembered");
    let written = insert(keyed(decided_on(&store.items, &lookups).await, remarks)).await.unwrap();
    assert_eq!(insert(stale.clone()).await, Err(RepositoryError::AnsweredBefore));
    let answered = store.items.answered(&stale).await.unwrap().unwrap();
    assert_eq!((&answered.shown, &*answered.remarks), (&written, remarks));
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
        let parent = store.insert(PROPOSALS, "{}").await;
        let lookups =
            [by_id(Collection::known("proposedprograms"), program.item.id), children_of(&parent)];
        inserts.push((lib_of(&parent), new_item("{}"), decided_on(&store.items, &lookups).await));
    }
    let done = together(store, inserts).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(store.list(LIB).await.items.len(), WRITERS);
}

/// The same by a member with an index, where writes that leave another value go together.
async fn of_many_inserts_with_one_key_that_are_done_together_one_is_made(store: &TestStore) {
    for (collection, name) in [(PROPOSALS.collection, "program_id"), (STATUS.collection, "subject")]
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
