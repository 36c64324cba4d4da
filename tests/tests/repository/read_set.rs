//! `look_up`, and the writes that were decided on what it found: each is made only while it finds
//! the same.

use std::sync::Arc;

use application::{
    IdempotencyKey, ItemRepository, NewItem, ReadDependency, RepositoryError, Scope, ShownItem,
    WriteMetadata,
};
use domain::{Collection, Found, Item, ItemId, Lookup, LookupKey, WriteOperation};
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::store::{
    NOW, TestStore, all, at, connect, content, ids, lib_of, new_item, next_id, replacement,
};

on_both_stores! {
    an_item_is_looked_up_by_its_id
    items_are_looked_up_by_their_owner
    items_are_looked_up_by_a_text_or_a_number_as_it_is_written
    members_of_any_name_are_looked_up
    members_with_an_index_are_looked_up_whatever_their_length
    what_is_about_the_same_is_told_apart_by_its_collection
    a_key_follows_its_item
    lists_are_no_texts
    where_there_is_nothing_to_look_for_nothing_is_found
    what_is_looked_up_is_there_as_it_was_last_written
    a_thousand_items_are_found_and_no_more
    four_mebibytes_are_found_and_no_more
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

const CASH: Collection = Collection::known("cashprogram");

fn member(collection: Collection, name: &str, value: &str) -> Lookup {
    Lookup {
        collection,
        key: LookupKey::Member { name: name.into(), value: value.into() },
        without: next_id(),
    }
}

fn by_id(collection: Collection, id: ItemId) -> Lookup {
    Lookup { collection, key: LookupKey::Id(id), without: next_id() }
}

fn children_of(parent: &ShownItem) -> Lookup {
    Lookup {
        collection: Collection::known("lib"),
        key: LookupKey::Parent(parent.item.id),
        without: next_id(),
    }
}

async fn found(items: &Arc<dyn ItemRepository>, lookup: &Lookup) -> Vec<Item> {
    match items.look_up(lookup).await.unwrap() {
        Found::Items(items) => items,
        other => panic!("{other:?}"),
    }
}

async fn found_ids(store: &TestStore, lookup: &Lookup) -> Vec<ItemId> {
    found(&store.items, lookup).await.iter().map(|item| item.id).collect()
}

/// A change that is decided on what the lookups find now.
async fn decided_on(items: &Arc<dyn ItemRepository>, lookups: &[Lookup]) -> WriteMetadata {
    let mut change = at(NOW);
    for lookup in lookups {
        let found = found(items, lookup).await.iter().map(|item| (item.id, item.version)).collect();
        change.read_set.push(ReadDependency { lookup: lookup.clone(), found });
    }
    change
}

async fn an_item_is_looked_up_by_its_id(store: &TestStore) {
    let file = store.insert(all(Collection::known("files")), r#"{"a":1.50}"#).await;
    let lookup = by_id(Collection::known("files"), file.item.id);
    for _ in 0..2 {
        assert_eq!(found(&store.items, &lookup).await, std::slice::from_ref(&file.item));
    }
    assert_eq!(
        found_ids(store, &by_id(Collection::known("status"), file.item.id)).await,
        [],
        "it is of another collection"
    );
    assert_eq!(found_ids(store, &by_id(Collection::known("files"), next_id())).await, []);
    assert_eq!(
        found_ids(store, &Lookup { without: file.item.id, ..lookup.clone() }).await,
        [],
        "it is left out"
    );
    store.delete(all(Collection::known("files")), &file).await.unwrap();
    assert_eq!(found_ids(store, &lookup).await, []);
}

async fn items_are_looked_up_by_their_owner(store: &TestStore) {
    let proposals = all(Collection::known("proposals"));
    let (one, other) = (store.insert(proposals, "{}").await, store.insert(proposals, "{}").await);
    let mut own = Vec::new();
    for number in 0..3 {
        own.push(store.insert(lib_of(&one), &format!("{{\"n\":{number}}}")).await);
    }
    store.insert(lib_of(&other), "{}").await;
    store.insert(all(Collection::known("lib")), "{}").await;
    let expected: Vec<_> = own.iter().map(|shown| shown.item.clone()).collect();
    assert_eq!(found(&store.items, &children_of(&one)).await, expected);
    let without = Lookup { without: own[1].item.id, ..children_of(&one) };
    assert_eq!(found_ids(store, &without).await, [own[0].item.id, own[2].item.id]);
    assert_eq!(
        found_ids(store, &Lookup { collection: Collection::known("files"), ..children_of(&one) })
            .await,
        []
    );
}

async fn items_are_looked_up_by_a_text_or_a_number_as_it_is_written(store: &TestStore) {
    let values = [
        r#""7""#,
        "7",
        "7.0",
        r#""7.0""#,
        "1.50",
        "1e2",
        "true",
        "null",
        r#"["7"]"#,
        r#"{"a":7}"#,
        r#""Ñandú \"x\" \\""#,
        r#""""#,
    ];
    let huge = "123456789012345678901234567890";
    // One without an index, and one with.
    for name in ["m", "proposal_id"] {
        let mut inserted = Vec::new();
        for value in values.into_iter().chain([huge]) {
            inserted
                .push(store.insert(all(CASH), &format!(r#"{{"{name}":{value}}}"#)).await.item.id);
        }
        store.insert(all(CASH), r#"{"other":"7"}"#).await;
        store.insert(all(Collection::known("gadscores")), &format!(r#"{{"{name}":"7"}}"#)).await;
        assert_found_as_written(store, name, &inserted, huge).await;
    }
}

async fn assert_found_as_written(store: &TestStore, name: &str, inserted: &[ItemId], huge: &str) {
    for (value, expected) in [
        ("7", vec![0, 1]),
        ("7.0", vec![2, 3]),
        ("07", vec![]),
        ("1.50", vec![4]),
        ("1.5", vec![]),
        ("1e2", vec![5]),
        ("100", vec![]),
        ("true", vec![]),
        ("null", vec![]),
        (r#"["7"]"#, vec![]),
        (r#"{"a":7}"#, vec![]),
        (r#"Ñandú "x" \"#, vec![10]),
        ("ñandú \"x\" \\", vec![]),
        ("", vec![11]),
        (huge, vec![12]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|place: usize| inserted[place]).collect();
        assert_eq!(found_ids(store, &member(CASH, name, value)).await, expected, "{name} {value}");
        let read_set = decided_on(&store.items, &[member(CASH, name, value)]).await;
        assert_eq!(
            store
                .items
                .insert(all(Collection::known("files")), new_item("{}"), read_set)
                .await
                .map(|_| ()),
            Ok(()),
            "{name} {value}"
        );
    }
}

async fn members_of_any_name_are_looked_up(store: &TestStore) {
    for name in [
        "a\"b",
        "a.b",
        "$[0]",
        "'; DROP TABLE items; --",
        "back\\slash",
        "ñ",
        "",
        " ",
        "a\nb",
        "$1",
        "?1",
        "%s",
        "id",
        "parent",
    ] {
        let members = format!("{{{}:\"x\"}}", domain::json::encode_string(name));
        let shown = store.insert(all(CASH), &members).await;
        let lookup = member(CASH, name, "x");
        assert_eq!(found_ids(store, &lookup).await, [shown.item.id], "{name}");
        let read_set = decided_on(&store.items, std::slice::from_ref(&lookup)).await;
        assert!(
            store
                .items
                .insert(all(Collection::known("files")), new_item("{}"), read_set.clone())
                .await
                .is_ok(),
            "{name}"
        );
        store.delete(all(CASH), &shown).await.unwrap();
        let refused =
            store.items.insert(all(Collection::known("files")), new_item("{}"), read_set).await;
        assert_eq!(refused, Err(RepositoryError::VersionConflict), "{name}");
    }
}

async fn members_with_an_index_are_looked_up_whatever_their_length(store: &TestStore) {
    let (long, longer) = ("é".repeat(300), format!("{}x", "é".repeat(300)));
    let values = ["7", "Añ'b", long.as_str(), longer.as_str(), &long[..400]];
    for collection in Collection::all() {
        for name in collection.spec().indexed {
            for value in values {
                let members = format!("{{\"{name}\":{}}}", domain::json::encode_string(value));
                let shown = store.insert(all(collection), &members).await;
                let lookup = member(collection, name, value);
                assert_eq!(found_ids(store, &lookup).await, [shown.item.id], "{name} {value}");
                let read_set = decided_on(&store.items, &[lookup]).await;
                assert!(
                    store
                        .items
                        .insert(all(Collection::known("lib")), new_item("{}"), read_set)
                        .await
                        .is_ok(),
                    "{name} {value}"
                );
            }
        }
    }
    let number = store.insert(all(Collection::known("proposals")), r#"{"program_id":12}"#).await;
    assert_eq!(
        found_ids(store, &member(Collection::known("proposals"), "program_id", "12")).await,
        [number.item.id]
    );
    let elsewhere = store.insert(all(CASH), r#"{"program_id":"7"}"#).await;
    assert_eq!(
        found_ids(store, &member(CASH, "program_id", "7")).await,
        [elsewhere.item.id],
        "it is a key of proposals alone"
    );
}

async fn what_is_about_the_same_is_told_apart_by_its_collection(store: &TestStore) {
    let (files, status) = (Collection::known("files"), Collection::known("status"));
    let members = r#"{"proposal_id":"x","subject":"y"}"#;
    let (file, message) = (
        store.insert(all(files), members).await.item.id,
        store.insert(all(status), members).await.item.id,
    );
    store.insert(all(Collection::known("gadscores")), members).await;
    for (lookup, expected) in [
        (member(files, "proposal_id", "x"), vec![file]),
        (member(files, "proposal_id", "y"), vec![]),
        (member(files, "subject", "y"), vec![file]),
        (member(status, "subject", "y"), vec![message]),
        (member(status, "subject", "x"), vec![]),
        (member(status, "proposal_id", "x"), vec![message]),
    ] {
        assert_eq!(found_ids(store, &lookup).await, expected, "{lookup:?}");
        let read_set = decided_on(&store.items, &[lookup]).await;
        assert!(store.items.insert(all(CASH), new_item(members), read_set).await.is_ok());
    }
}

/// Whatever the write is.
async fn a_key_follows_its_item(store: &TestStore) {
    let scope = all(Collection::known("status"));
    let by = |value| member(Collection::known("status"), "subject", value);
    let shown = store.insert(scope, r#"{"subject":"a"}"#).await;
    let id = shown.item.id;
    let mut now = shown;
    for (members, found) in [
        (r#"{"subject":"b"}"#, vec![id]),
        (r#"{"message":"b"}"#, vec![]),
        (r#"{"subject":"b"}"#, vec![id]),
    ] {
        now = store.update(scope, &now, members).await.unwrap();
        assert_eq!(
            (found_ids(store, &by("a")).await, found_ids(store, &by("b")).await),
            (vec![], found),
            "{members}"
        );
    }
    store.delete(scope, &now).await.unwrap();
    assert_eq!(found_ids(store, &by("b")).await, []);
    let restored = NewItem { id, ..new_item(r#"{"subject":"c"}"#) };
    store.items.restore(scope, restored, at(NOW)).await.unwrap();
    assert_eq!(found_ids(store, &by("c")).await, [id]);
    let added = new_item(r#"{"subject":"c"}"#);
    let expected = vec![id, added.id];
    let now = store.list(scope).await.items.remove(0);
    let replaced = content(vec![replacement(&now, r#"{"subject":"c"}"#)], vec![added]);
    store.items.replace_all(Collection::known("status"), replaced, at(NOW)).await.unwrap();
    assert_eq!(found_ids(store, &by("c")).await, expected);
}

/// The server counts how often it used an index, and has counted when the store's connections are
/// gone.
#[tokio::test]
async fn postgresql_looks_into_the_index_both_times() {
    let TestStore { store, items, database } = TestStore::open(TestDatabase::postgres()).await;
    let additions =
        (0..5_000).map(|number| new_item(&format!("{{\"subject\":\"{number}\"}}"))).collect();
    items
        .replace_all(Collection::known("status"), content(vec![], additions), at(NOW))
        .await
        .unwrap();
    let _ = database.query("ANALYZE items");
    let read_set = decided_on(&items, &[member(Collection::known("status"), "subject", "7")]).await;
    items.insert(all(CASH), new_item("{}"), read_set).await.unwrap();
    drop(items);
    store.close().await;
    let others = "SELECT backend_type FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while !database.query(others).is_empty() {}
    let uses = database.query("SELECT CAST(idx_scan AS TEXT) FROM pg_stat_user_indexes WHERE indexrelname = 'items_by_subject'");
    assert_eq!(uses, [[Some("2".to_owned())]]);
}

async fn lists_are_no_texts(store: &TestStore) {
    store
        .insert(all(Collection::known("proposals")), r#"{"implementation_sites":["Bato","Pili"]}"#)
        .await;
    let single = store
        .insert(all(Collection::known("proposals")), r#"{"implementation_sites":"Bato"}"#)
        .await;
    assert_eq!(
        found_ids(store, &member(Collection::known("proposals"), "implementation_sites", "Bato"))
            .await,
        [single.item.id]
    );
}

async fn where_there_is_nothing_to_look_for_nothing_is_found(store: &TestStore) {
    store.insert(all(CASH), r#"{"a":"x"}"#).await;
    let nothing = Lookup { key: LookupKey::Nothing, ..member(CASH, "a", "x") };
    let lookups = [nothing, member(CASH, "a", "x\0"), member(CASH, "a\0", "x")];
    for lookup in &lookups {
        assert_eq!(found_ids(store, lookup).await, [], "{lookup:?}");
    }
    let read_set = decided_on(&store.items, &lookups).await;
    assert!(store.items.insert(all(CASH), new_item("{}"), read_set).await.is_ok());
}

async fn what_is_looked_up_is_there_as_it_was_last_written(store: &TestStore) {
    let scope = all(CASH);
    let first = store.insert(scope, r#"{"m":"x","n":1}"#).await;
    let lookups = [by_id(CASH, first.item.id), member(CASH, "m", "x")];
    for lookup in &lookups {
        assert_eq!(found(&store.items, lookup).await, std::slice::from_ref(&first.item));
    }
    let second = store.update(scope, &first, r#"{"m":"x","n":2.00}"#).await.unwrap();
    let continuing = NewItem { continues: Some(second.item.id), ..new_item("{}") };
    let continued_by = store.try_insert(scope, continuing).await.unwrap();
    for lookup in &lookups {
        assert_eq!(found(&store.items, lookup).await, std::slice::from_ref(&second.item));
    }
    assert_eq!(
        store.find(scope, &second).await.unwrap().links.continued_by,
        [continued_by.item.id],
        "looking up hides no links"
    );
    assert_eq!(found(&store.items, &by_id(CASH, continued_by.item.id)).await, [continued_by.item]);
}

async fn a_thousand_items_are_found_and_no_more(store: &TestStore) {
    let additions: Vec<_> = (0..1000).map(|_| new_item(r#"{"m":"x"}"#)).collect();
    let mut expected: Vec<_> = additions.iter().map(|item| item.id).collect();
    expected.sort();
    store.items.replace_all(CASH, content(vec![], additions), at(NOW)).await.unwrap();
    let lookup = member(CASH, "m", "x");
    assert_eq!(found_ids(store, &lookup).await, expected);
    let read_set = decided_on(&store.items, std::slice::from_ref(&lookup)).await;
    assert!(
        store.items.insert(all(CASH), new_item(r#"{"m":"y"}"#), read_set.clone()).await.is_ok()
    );
    let one_more = store.insert(all(CASH), r#"{"m":"x"}"#).await;
    assert_eq!(store.items.look_up(&lookup).await, Ok(Found::TooMany));
    assert_eq!(found_ids(store, &Lookup { without: one_more.item.id, ..lookup }).await, expected);
    assert_eq!(
        store.items.insert(all(CASH), new_item("{}"), read_set).await,
        Err(RepositoryError::VersionConflict)
    );
}

async fn four_mebibytes_are_found_and_no_more(store: &TestStore) {
    let members = |length: usize| {
        let frame = r#"{"m":"x","t":""}"#;
        frame.replace(r#""t":"""#, &format!(r#""t":"{}""#, "a".repeat(length - frame.len())))
    };
    let (whole, half) = (members(Lookup::MOST_BYTES), members(Lookup::MOST_BYTES / 2));
    let whole = store.insert(all(CASH), &whole).await;
    let lookup = member(CASH, "m", "x");
    assert_eq!(found_ids(store, &lookup).await, [whole.item.id]);
    assert_eq!(found_ids(store, &by_id(CASH, whole.item.id)).await, [whole.item.id]);
    let beyond = store.update(all(CASH), &whole, &members(Lookup::MOST_BYTES + 1)).await.unwrap();
    assert_eq!(store.items.look_up(&lookup).await, Ok(Found::TooLarge));
    assert_eq!(
        store.items.look_up(&by_id(CASH, whole.item.id)).await,
        Ok(Found::TooLarge),
        "whether it is known already or not"
    );
    store.update(all(CASH), &beyond, &half).await.unwrap();
    store.insert(all(CASH), &half).await;
    assert_eq!(found_ids(store, &lookup).await.len(), 2);
    let last = store.insert(all(CASH), r#"{"m":"x"}"#).await;
    assert_eq!(store.items.look_up(&lookup).await, Ok(Found::TooLarge));
    assert_eq!(found_ids(store, &Lookup { without: last.item.id, ..lookup }).await.len(), 2);
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
