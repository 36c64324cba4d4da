//! `write_all`: many writes in one transaction.

use application::{
    IdempotencyKey, ItemChange, ItemChangeKind, NewItem, RepositoryError, Scope, ShownItem,
    WriteMetadata,
};
use jiff::SignedDuration;

use crate::lookups::{decided_on, member};
use crate::store::{
    FILES, NOW, PROPOSALS, TestStore, at, ids, lib_of, new_item, next_id, replacement,
};

on_both_stores! {
    one_that_is_refused_keeps_all_out
    many_are_refused_when_their_read_set_has_changed
    each_is_remembered_by_its_own_key
    an_empty_list_is_written_without_a_change
    thousands_are_stored_during_other_writes
    ; every_server:
    items_are_inserted_and_updated_together
}

fn update(shown: &ShownItem, members: &str) -> ItemChange {
    let kind = ItemChangeKind::Update(replacement(shown, members));
    ItemChange { parent: shown.item.parent, kind, key: None, remarks: Box::default() }
}

fn insert_below(parent: &ShownItem, members: &str) -> ItemChange {
    ItemChange { parent: Some(parent.item.id), ..ItemChange::insert(new_item(members)) }
}

async fn write(
    store: &TestStore,
    scope: Scope,
    changes: Vec<ItemChange>,
    metadata: WriteMetadata,
) -> Result<(), RepositoryError> {
    store.items.write_all(scope.collection, changes, metadata).await
}

async fn items_are_inserted_and_updated_together(store: &TestStore) {
    let proposals = [store.insert(PROPOSALS, "{}").await, store.insert(PROPOSALS, "{}").await];
    let scopes = [lib_of(&proposals[0]), lib_of(&proposals[1])];
    let (old, moved) =
        (store.insert(scopes[0], r#"{"a":1}"#).await, store.insert(scopes[1], "{}").await);
    let changes = vec![
        insert_below(&proposals[1], r#"{"a":2}"#),
        update(&old, r#"{"a":3}"#),
        insert_below(&proposals[0], r#"{"a":4}"#),
    ];
    write(store, scopes[0], changes, at(NOW)).await.unwrap();
    let members = async |scope| {
        let page = store.list(scope).await;
        let members = page.items.iter().map(|shown| shown.item.members.to_string());
        (page.total_items, members.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(members(scopes[0]).await, (2, r#"{"a":3} {"a":4}"#.to_owned()));
    assert_eq!(members(scopes[1]).await, (2, r#"{} {"a":2}"#.to_owned()));
    let updated = store.find(scopes[0], &old).await.unwrap();
    assert_eq!((updated.item.version.number(), updated.item.created_at), (2, old.item.created_at));
    let elsewhere = ItemChange { parent: Some(proposals[0].item.id), ..update(&moved, "{}") };
    let refused = write(store, scopes[0], vec![elsewhere], at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ItemNotFound), "it belongs to the other one");
}

async fn one_that_is_refused_keeps_all_out(store: &TestStore) {
    let before = store.insert(PROPOSALS, "{}").await;
    let continued = NewItem { continues: Some(next_id()), ..new_item("{}") };
    let changes = [new_item("{}"), continued, new_item("{}")].map(ItemChange::insert);
    let refused = write(store, PROPOSALS, changes.into(), at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ItemNotFound));
    store.update(PROPOSALS, &before, r#"{"a":1}"#).await.unwrap();
    let changes = vec![ItemChange::insert(new_item("{}")), update(&before, "{}")];
    let refused = write(store, PROPOSALS, changes, at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    let page = store.list(PROPOSALS).await;
    assert_eq!((page.total_items, ids(&page.items)), (1, vec![before.item.id]));
    assert_eq!(store.changes().len(), 2);
    let current = store.find(PROPOSALS, &before).await.unwrap();
    store.delete(PROPOSALS, &current).await.unwrap();
    let below = vec![insert_below(&before, "{}")];
    let refused = write(store, lib_of(&before), below, at(NOW)).await;
    assert_eq!(refused, Err(RepositoryError::ParentNotFound));
}

async fn many_are_refused_when_their_read_set_has_changed(store: &TestStore) {
    let lookups = [member(FILES.collection, "m", "x")];
    let one = || vec![ItemChange::insert(new_item("{}"))];
    let stale = decided_on(&store.items, &lookups).await;
    store.insert(FILES, r#"{"m":"x"}"#).await;
    let refused = write(store, PROPOSALS, one(), stale).await;
    assert_eq!(refused, Err(RepositoryError::VersionConflict));
    let fresh = decided_on(&store.items, &lookups).await;
    write(store, PROPOSALS, one(), fresh).await.unwrap();
    assert_eq!(store.list(PROPOSALS).await.total_items, 1);
}

async fn each_is_remembered_by_its_own_key(store: &TestStore) {
    let old = store.insert(FILES, "{}").await;
    let key = |number: u8| IdempotencyKey {
        path: "/imports/files".into(),
        key: format!("k#{number}"),
        fingerprint: "f".into(),
    };
    let keyed = |change, number| ItemChange {
        key: Some(key(number)),
        remarks: format!("remark {number}").into(),
        ..change
    };
    let changes = || {
        vec![
            keyed(ItemChange::insert(new_item(r#"{"a":1}"#)), 1),
            keyed(update(&old, r#"{"a":2}"#), 2),
            ItemChange::insert(new_item("{}")),
        ]
    };
    let mut metadata = at(NOW);
    metadata.key_expires = metadata.time + SignedDuration::from_hours(1);
    write(store, FILES, changes(), metadata.clone()).await.unwrap();
    for (number, members) in [(1, r#"{"a":1}"#), (2, r#"{"a":2}"#)] {
        let metadata = WriteMetadata { key: Some(key(number)), ..metadata.clone() };
        let answered = store.items.answered(&metadata).await.unwrap().unwrap();
        assert_eq!(&*answered.remarks, format!("remark {number}"));
        assert_eq!(&*answered.shown.item.members, members);
    }
    let again = vec![changes().swap_remove(0), ItemChange::insert(new_item("{}"))];
    let refused = write(store, FILES, again, metadata).await;
    assert_eq!(refused, Err(RepositoryError::AnsweredBefore));
    assert_eq!(store.list(FILES).await.total_items, 3);
}

async fn an_empty_list_is_written_without_a_change(store: &TestStore) {
    write(store, PROPOSALS, Vec::new(), at(NOW)).await.unwrap();
    assert_eq!(store.changes().len(), 0);
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
