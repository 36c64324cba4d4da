//! Many writers at once: none loses what it wrote, none harms another.

use std::sync::Arc;
use std::time::Duration;

use application::{DeletableItems, IdempotencyKey, NewItem, RepositoryError, WriteMetadata};
use domain::predicate::{Literal, Operand, Subject};
use domain::{Predicate, WriteOperation};
use tests::callers::warrant_of;
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::store::{
    CASH, FILES, LIB, NOW, PROPOSALS, STATUS, TestStore, at, connect, everything, lib_of, new_item,
    reach, replacement,
};

on_both_stores! {
    reads_that_share_a_statement_see_what_was_written_before
    no_client_reads_a_state_older_than_its_last_response
    of_those_who_add_and_one_who_deletes_the_first_wins
    a_link_appears_however_reads_meet_the_insert_of_its_target
    a_write_goes_through_though_its_client_hangs_up
    ; every_server:
    inserts_into_a_proposal_being_deleted_leave_no_orphan
    a_failing_write_does_not_harm_its_neighbours
    ; postgres_alone:
    an_update_sent_to_two_instances_at_once_is_done_by_one_and_answered_by_the_other
}

const WRITERS: usize = 64;

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

/// Readers fill the caches while writers write; after every acknowledged write the
/// item, its page and its neighbours' relations must be as written.
async fn no_client_reads_a_state_older_than_its_last_response(store: &TestStore) {
    let scope = CASH;
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let items = Arc::clone(&store.items);
        let mut shown = store.insert(scope, "{\"n\":0}").await;
        tasks.spawn(async move {
            for number in 1..60 {
                let members = format!("{{\"n\":{number}}}");
                let update = replacement(&shown, &members);
                let updated = items.update(scope, update, WriteOperation::Replace, at(NOW)).await;
                shown = updated.unwrap();
                let found = items.find(&reach(scope), shown.item.id).await.unwrap();
                assert_eq!(found.as_ref(), Some(&shown));
                let page = items.page(&reach(scope), &everything(scope)).await.unwrap();
                assert!(
                    page.items.iter().any(|listed| listed.shown == shown),
                    "a page is older than a write that was answered"
                );
            }
            let next = NewItem { continues: Some(shown.item.id), ..new_item("{}") };
            let next = items.insert(scope, next, at(NOW)).await.unwrap();
            let found = items.find(&reach(scope), shown.item.id).await.unwrap().unwrap();
            assert_eq!(found.links.continued_by, [next.item.id]);
            items.delete(scope, next.item.id, next.item.version, at(NOW)).await.unwrap();
            assert_eq!(items.find(&reach(scope), next.item.id).await.unwrap(), None);
            let found = items.find(&reach(scope), shown.item.id).await.unwrap().unwrap();
            assert!(found.links.continued_by.is_empty());
        });
    }
    tasks.join_all().await;
}

async fn of_those_who_add_and_one_who_deletes_the_first_wins(store: &TestStore) {
    let second = store.second_instance().await;
    let other = second.as_ref().map_or_else(|| Arc::clone(&store.items), |second| second.items());
    for turn in 0..16 {
        let proposal = store.insert(PROPOSALS, "{}").await;
        let mut writers = JoinSet::new();
        for writer in 0..8 {
            let items = Arc::clone(if writer % 2 == 0 { &store.items } else { &other });
            let scope = lib_of(&proposal);
            writers.spawn(async move {
                tokio::time::sleep(Duration::from_millis(writer)).await;
                let theirs = WriteMetadata { warrant: warrant_of(Some("ben")), ..at(NOW) };
                items.insert(scope, new_item("{}"), theirs).await.map(drop)
            });
        }
        tokio::time::sleep(Duration::from_micros(500 * turn)).await;
        let creator = Operand::current(Subject::CreatedBy);
        let deletable = Predicate::equals(creator, Literal::String("ana".into())).into();
        let limit = DeletableItems { collection: LIB.collection, deletable };
        let warrant = warrant_of(Some("ana")).limited_to(vec![limit]);
        let deletion = WriteMetadata { warrant, ..at(NOW) };
        let (id, version) = (proposal.item.id, proposal.item.version);
        let deleted = store.items.delete(PROPOSALS, id, version, deletion).await;
        let added = writers.join_all().await;
        let expected = if deleted.is_ok() {
            Err(RepositoryError::ParentNotFound)
        } else {
            assert_eq!(deleted, Err(RepositoryError::VersionConflict));
            Ok(())
        };
        assert_eq!(added, [expected; 8], "{deleted:?}");
    }
    if let Some(second) = second {
        second.close().await;
    }
}
