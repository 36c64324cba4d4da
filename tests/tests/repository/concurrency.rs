//! Many writers at once: none loses what it wrote, none harms another.

use std::sync::Arc;

use application::{
    IdempotencyKey, ItemRepository, NewItem, RepositoryError, ShownItem, WriteMetadata,
};
use domain::{Collection, WriteOperation};
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::store::{
    CASH, FILES, LIB, NOW, PROPOSALS, STATUS, TestStore, all, at, connect, content, lib_of,
    new_item, reach, replacement,
};

on_both_stores! {
    reads_that_share_a_statement_see_what_was_written_before
    concurrent_increments_are_all_counted
    a_link_appears_however_reads_meet_the_insert_of_its_target
    concurrent_replacements_leave_one_of_them
    a_write_goes_through_though_its_client_hangs_up
    ; every_server:
    inserts_into_a_proposal_being_deleted_leave_no_orphan
    a_failing_write_does_not_harm_its_neighbours
    ; postgres_alone:
    an_update_sent_to_two_instances_at_once_is_done_by_one_and_answered_by_the_other
}

const WRITERS: usize = 64;

async fn concurrent_increments_are_all_counted(store: &TestStore) {
    let scope = all(Collection::known("statuses"));
    let counter = store.insert(scope, r#"{"n":0}"#).await;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(increment(Arc::clone(&store.items), counter.clone()));
    }
    writers.join_all().await;
    let shown = store.find(scope, &counter).await.unwrap();
    assert_eq!(&*shown.item.members, format!(r#"{{"n":{WRITERS}}}"#));
    assert_eq!(usize::try_from(shown.item.version.number()).unwrap(), WRITERS + 1);
    assert_eq!(store.changes().len(), WRITERS + 1);
}

/// Reads, adds one and writes, until no other write came in between.
async fn increment(items: Arc<dyn ItemRepository>, counter: ShownItem) {
    let scope = all(Collection::known("statuses"));
    loop {
        let shown = items.find(&reach(scope), counter.item.id).await.unwrap().unwrap();
        let next = format!(r#"{{"n":{}}}"#, shown.item.version.number());
        match items
            .update(scope, replacement(&shown, &next), WriteOperation::Replace, at(NOW))
            .await
        {
            Err(RepositoryError::VersionConflict) => {}
            done => break drop(done.unwrap()),
        }
    }
}

/// A read that was overtaken by the insert must not be what later reads see.
async fn a_link_appears_however_reads_meet_the_insert_of_its_target(store: &TestStore) {
    let (files, proposals) = (FILES, PROPOSALS);
    for _ in 0..40 {
        let target = new_item("{}");
        let id = target.id;
        let members = format!(r#"{{"proposal_id":"{id}"}}"#);
        let file = NewItem { references: vec![Some(id)], ..new_item(&members) };
        let file = store.try_insert(files, file).await.unwrap();
        let other = store.insert(proposals, "{}").await;
        // Nothing is cached any more.
        store.delete(proposals, &other).await.unwrap();
        let mut readers = JoinSet::new();
        for _ in 0..4 {
            let (items, file) = (Arc::clone(&store.items), file.item.id);
            readers.spawn(async move {
                for _ in 0..4 {
                    items.find(&reach(files), file).await.unwrap().unwrap();
                }
            });
        }
        store.try_insert(proposals, target).await.unwrap();
        let found = store.find(files, &file).await.unwrap();
        assert_eq!(found.links.reference(0), Some(id));
        readers.join_all().await;
        let found = store.find(files, &file).await.unwrap();
        assert_eq!(found.links.reference(0), Some(id));
    }
}

async fn inserts_into_a_proposal_being_deleted_leave_no_orphan(store: &TestStore) {
    let proposals = PROPOSALS;
    for _ in 0..8 {
        let proposal = store.insert(proposals, "{}").await;
        let mut writers = JoinSet::new();
        for _ in 0..16 {
            let (items, scope) = (Arc::clone(&store.items), lib_of(&proposal));
            writers.spawn(
                async move { items.insert(scope, new_item("{}"), at(NOW)).await.map(|_| ()) },
            );
        }
        tokio::task::yield_now().await;
        store.delete(proposals, &proposal).await.unwrap();
        for written in writers.join_all().await {
            assert!(
                matches!(written, Ok(()) | Err(RepositoryError::ParentNotFound)),
                "{written:?}"
            );
        }
    }
    let lib = store.list(LIB).await;
    assert_eq!((lib.total_items, lib.items), (0, vec![]));
}

async fn concurrent_replacements_leave_one_of_them(store: &TestStore) {
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let items = Arc::clone(&store.items);
        let additions: Vec<_> =
            (0..5).map(|_| new_item(&format!(r#"{{"writer":{writer}}}"#))).collect();
        writers.spawn(async move {
            items
                .replace_all(Collection::known("cashprogram"), content(vec![], additions), at(NOW))
                .await
                .unwrap();
        });
    }
    writers.join_all().await;
    let page = store.list(CASH).await;
    assert_eq!((page.total_items, page.items.len()), (5, 5));
    assert!(
        page.items.windows(2).all(|pair| pair[0].item.members == pair[1].item.members),
        "{:?}",
        page.items
    );
}

/// An id that is taken is no refusal but an error: the writes that share its transaction must not
/// suffer.
async fn a_failing_write_does_not_harm_its_neighbours(store: &TestStore) {
    let scope = STATUS;
    let taken = store.insert(scope, "{}").await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let items = Arc::clone(&store.items);
        let item = if writer % 8 == 3 {
            NewItem { id: taken.item.id, ..new_item("{}") }
        } else {
            new_item("{}")
        };
        writers.spawn(async move { items.insert(scope, item, at(NOW)).await.map(|_| ()) });
    }
    let (sound, corrupt): (Vec<_>, Vec<_>) =
        writers.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((sound.len(), corrupt), (56, vec![Err(RepositoryError::Corrupt); 8]));
    assert_eq!(store.list(scope).await.total_items, 57);
    assert_eq!(store.changes().len(), 57);
}

/// Asked for once and then dropped, as a server drops what a client no longer waits for.
async fn a_write_goes_through_though_its_client_hangs_up(store: &TestStore) {
    let scope = STATUS;
    tokio::select! {
        biased;
        _ = store.items.insert(scope, new_item("{}"), at(NOW)) => panic!("a write takes longer than that"),
        () = std::future::ready(()) => {}
    }
    store.insert(scope, "{}").await;
    let page = store.list(scope).await;
    assert_eq!(page.total_items, page.items.len() as u64, "whole, or not at all");
    if store.database.is_sqlite() {
        assert_eq!(page.total_items, 2, "it was in the queue");
    }
}

async fn reads_that_share_a_statement_see_what_was_written_before(store: &TestStore) {
    let scope = FILES;
    let mut readers = JoinSet::new();
    for _ in 0..64 {
        let items = Arc::clone(&store.items);
        readers.spawn(async move {
            for _ in 0..8 {
                let written = items.insert(scope, new_item("{}"), at(NOW)).await.unwrap();
                let everything = reach(scope);
                let (found, missing) = tokio::join!(
                    items.find(&everything, written.item.id),
                    items.find(&everything, new_item("{}").id)
                );
                assert_eq!((found.unwrap(), missing.unwrap()), (Some(written), None));
            }
        });
    }
    readers.join_all().await;
    assert_eq!(store.list(scope).await.total_items, 512);
}

/// The second waits for the lock of the item, and only then can know of the key.
async fn an_update_sent_to_two_instances_at_once_is_done_by_one_and_answered_by_the_other() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    let other = connect(&store.database).await;
    let other_items = other.items();
    let scope = FILES;
    for round in 0..40 {
        let shown = store.insert(scope, "{}").await;
        let path = format!("/v1/files/{}", shown.item.id);
        let key = IdempotencyKey { path, key: "k".into(), fingerprint: String::new() };
        let key_expires = at(NOW).time + jiff::SignedDuration::from_hours(1);
        let metadata = WriteMetadata { key: Some(key), key_expires, ..at(NOW) };
        let update = replacement(&shown, r#"{"n":1}"#);
        let (first, second) = tokio::join!(
            store.items.update(scope, update.clone(), WriteOperation::Patch, metadata.clone()),
            other_items.update(scope, update, WriteOperation::Patch, metadata)
        );
        let refused: Vec<_> = [first, second].into_iter().filter_map(Result::err).collect();
        assert_eq!(refused, [RepositoryError::AnsweredBefore], "round {round}");
    }
    other.close().await;
}
