//! Deletions whose warrant excludes some of the items that are deleted with the item.

use std::sync::Arc;

use application::{Ownership, RepositoryError, UndeletableItems, WriteMetadata};
use domain::Collection;
use tests::callers::warrant_of;
use tokio::task::JoinSet;

use crate::lookups::CASH;
use crate::store::{LIB, NOW, PROPOSALS, TestStore, at, connect, lib_of, new_item};

on_both_stores! {
    no_item_is_deleted_with_one_that_the_warrant_excludes
    of_those_who_add_and_one_who_deletes_the_first_wins
}

/// The permission of a caller to delete, except items of these collections and relations to the caller.
fn deletion_by(caller: Option<&str>, kinds: &[(Collection, Ownership)]) -> WriteMetadata {
    let kinds = kinds.iter().map(|(collection, ownership)| UndeletableItems {
        collection: *collection,
        ownership: *ownership,
        caller: caller.map(Into::into),
    });
    WriteMetadata { warrant: warrant_of(caller).without(kinds.collect()), ..at(NOW) }
}

async fn no_item_is_deleted_with_one_that_the_warrant_excludes(store: &TestStore) {
    let (own, others) = (Ownership::Own, Ownership::Others);
    for (creator, caller, kinds, is_kept) in [
        (Some("ben"), Some("ana"), &[(LIB.collection, others)][..], true),
        (Some("ana"), Some("ana"), &[(LIB.collection, others)], false),
        (Some("ana"), Some("ana"), &[(LIB.collection, own)], true),
        (Some("ben"), Some("ana"), &[(LIB.collection, own)], false),
        (None, Some("ana"), &[(LIB.collection, others)], true),
        (None, Some("ana"), &[(LIB.collection, own)], false),
        (None, None, &[(LIB.collection, others)], true),
        (None, None, &[(LIB.collection, own)], false),
        (Some("ben"), Some("ana"), &[(CASH, others)], false),
        (
            Some("ben"),
            Some("ana"),
            &[(CASH, others), (LIB.collection, own), (LIB.collection, others)],
            true,
        ),
        (Some("ben"), Some("ana"), &[], false),
    ] {
        let items = &store.items;
        let proposal = store.insert(PROPOSALS, "{}").await;
        let other = store.insert(PROPOSALS, "{}").await;
        let by = |creator| WriteMetadata { warrant: warrant_of(creator), ..at(NOW) };
        items.insert(lib_of(&proposal), new_item("{}"), by(creator)).await.unwrap();
        for creator in [Some("ana"), Some("ben"), None] {
            items.insert(lib_of(&other), new_item("{}"), by(creator)).await.unwrap();
        }
        let deletion = deletion_by(caller, kinds);
        let undeletable = deletion.warrant.undeletable();
        if !undeletable.is_empty() {
            let found = items.has_undeletable(proposal.item.id, undeletable).await;
            assert_eq!(found, Ok(is_kept), "{creator:?} {caller:?} {kinds:?}");
        }
        let before = (store.list(lib_of(&proposal)).await, store.changes());
        let (id, version) = (proposal.item.id, proposal.item.version);
        let done = items.delete(PROPOSALS, id, version, deletion).await;
        if is_kept {
            assert_eq!(done, Err(RepositoryError::VersionConflict), "{creator:?} {kinds:?}");
            assert_eq!((store.list(lib_of(&proposal)).await, store.changes()), before);
        } else {
            assert_eq!(done, Ok(()), "{creator:?} {kinds:?}");
            assert!(store.find(PROPOSALS, &proposal).await.is_none());
        }
        assert_eq!(store.list(lib_of(&other)).await.total_items, 3);
    }
}

async fn of_those_who_add_and_one_who_deletes_the_first_wins(store: &TestStore) {
    let second =
        if store.database.is_sqlite() { None } else { Some(connect(&store.database).await) };
    let other = second.as_ref().map_or_else(|| Arc::clone(&store.items), |second| second.items());
    for turn in 0..16 {
        let proposal = store.insert(PROPOSALS, "{}").await;
        let mut writers = JoinSet::new();
        for writer in 0..8 {
            let items = Arc::clone(if writer % 2 == 0 { &store.items } else { &other });
            let scope = lib_of(&proposal);
            writers.spawn(async move {
                tokio::time::sleep(std::time::Duration::from_millis(writer)).await;
                let theirs = WriteMetadata { warrant: warrant_of(Some("ben")), ..at(NOW) };
                items.insert(scope, new_item("{}"), theirs).await.map(drop)
            });
        }
        tokio::time::sleep(std::time::Duration::from_micros(500 * turn)).await;
        let deletion = deletion_by(Some("ana"), &[(LIB.collection, Ownership::Others)]);
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
