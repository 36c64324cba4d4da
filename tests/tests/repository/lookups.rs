//! `look_up`: the items of an id, of a parent, and with a member of some value.

use std::sync::Arc;

use application::{
    ItemRepository, NewItem, ReadDependency, RepositoryError, ShownItem, WriteMetadata,
};
use domain::{Collection, Found, Item, ItemId, Lookup, LookupKey};
use tests::stores::TestDatabase;

use crate::store::{NOW, TestStore, all, at, content, lib_of, new_item, next_id, replacement};

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
}

pub const CASH: Collection = Collection::known("cashprogram");

pub fn member(collection: Collection, name: &str, value: &str) -> Lookup {
    Lookup {
        collection,
        key: LookupKey::Member { name: name.into(), value: value.into() },
        without: next_id(),
    }
}

pub fn by_id(collection: Collection, id: ItemId) -> Lookup {
    Lookup { collection, key: LookupKey::Id(id), without: next_id() }
}

pub fn children_of(parent: &ShownItem) -> Lookup {
    Lookup {
        collection: Collection::known("lib"),
        key: LookupKey::Parent(parent.item.id),
        without: next_id(),
    }
}

pub async fn found(items: &Arc<dyn ItemRepository>, lookup: &Lookup) -> Vec<Item> {
    match items.look_up(lookup).await.unwrap() {
        Found::Items(items) => items,
        other => panic!("{other:?}"),
    }
}

pub async fn found_ids(store: &TestStore, lookup: &Lookup) -> Vec<ItemId> {
    found(&store.items, lookup).await.iter().map(|item| item.id).collect()
}

/// A change that is decided on what the lookups find now.
pub async fn decided_on(items: &Arc<dyn ItemRepository>, lookups: &[Lookup]) -> WriteMetadata {
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
