//! `look_up`: the items of an id, of a parent, and with a member of some value.

use std::sync::Arc;

use application::query::PageQuery;
use application::{
    ItemRepository, MemberCounts, NewItem, ReadDependency, RepositoryError, ShownItem, ValueCount,
    WriteMetadata,
};
use domain::{Collection, Found, Item, ItemId, Lookup, LookupKey, Version};
use tests::stores::TestDatabase;

use crate::store::{
    self, FILES, LIB, NOW, PROPOSALS, STATUS, TestStore, all, at, contains, content, equal, exists,
    ids, new_item, next_id, selecting,
};

on_both_stores! {
    where_there_is_nothing_to_look_for_nothing_is_found
    a_thousand_items_are_found_and_no_more
    four_mebibytes_are_found_and_no_more
    ; every_server:
    members_of_any_name_are_found_counted_and_looked_up
    indexed_members_of_any_length_are_looked_up
    ; postgres_alone:
    postgresql_looks_into_the_index_both_times
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
        collection: LIB.collection,
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

async fn insert_on(store: &TestStore, change: WriteMetadata) -> Result<ShownItem, RepositoryError> {
    store.items.insert(FILES, new_item("{}"), change).await
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

async fn members_of_any_name_are_found_counted_and_looked_up(store: &TestStore) {
    let names = [
        "a b", "a.b", "$", "$.x", "$[0]", "[", "a]b[", "']", "'", "a'b", "a\"b", "a\\b", "%", "%s",
        "?", "?1", "$1", ":a", "value", "items", "counts", "id", "parent", "🐟", "ñ 😀", "\u{1}",
        "a\nb", "tab\t", "", " ",
    ];
    let names = names.into_iter().chain(["e\u{301}", "'; DROP TABLE items; --"]);
    let item = |name| format!("{{{}:\"here\"}}", domain::json::encode_string(name));
    let items: Vec<_> = names.map(|name| (name, new_item(&item(name)))).collect();
    store.insert_all(all(CASH), items.iter().map(|(_, item)| item.clone())).await;
    for (name, NewItem { id, .. }) in items {
        let subject = store::member(name);
        for filter in [equal(&subject, "here"), exists(&subject, true), contains(&subject, "ER")] {
            let query = selecting(all(CASH), vec![filter]);
            let query = PageQuery { count_by: Some(subject.clone()), ..query };
            let page = store.select(all(CASH), &query).await;
            assert_eq!(ids(page.items.iter().map(|listed| &listed.shown)), [id], "{name:?}");
            let values = vec![ValueCount { value: "\"here\"".to_owned(), items: 1 }];
            let expected = MemberCounts { values, ..MemberCounts::default() };
            assert_eq!(page.counts, Some(expected), "{name:?}");
        }
        let lookup = member(CASH, name, "here");
        assert_eq!(found_ids(store, &lookup).await, [id], "{name:?}");
        let read_set = decided_on(&store.items, std::slice::from_ref(&lookup)).await;
        assert!(insert_on(store, read_set.clone()).await.is_ok(), "{name:?}");
        store.items.delete(all(CASH), id, Version::FIRST, at(NOW)).await.unwrap();
        let refused = insert_on(store, read_set).await;
        assert_eq!(refused, Err(RepositoryError::VersionConflict), "{name:?}");
    }
}

async fn indexed_members_of_any_length_are_looked_up(store: &TestStore) {
    let (long, longer) = ("é".repeat(300), format!("{}x", "é".repeat(300)));
    let values = ["7", "Añ'b", long.as_str(), longer.as_str(), &long[..400]];
    for collection in Collection::all() {
        for name in collection.spec().indexed.iter().map(|indexed| indexed.name) {
            for value in values {
                let members = format!("{{\"{name}\":{}}}", domain::json::encode_string(value));
                let shown = store.insert(all(collection), &members).await;
                let lookup = member(collection, name, value);
                assert_eq!(found_ids(store, &lookup).await, [shown.item.id], "{name} {value}");
                let read_set = decided_on(&store.items, &[lookup]).await;
                assert!(insert_on(store, read_set).await.is_ok(), "{name} {value}");
            }
        }
    }
    let number = store.insert(PROPOSALS, r#"{"program_id":12}"#).await;
    assert_eq!(
        found_ids(store, &member(PROPOSALS.collection, "program_id", "12")).await,
        [number.item.id]
    );
    let elsewhere = store.insert(all(CASH), r#"{"program_id":"7"}"#).await;
    assert_eq!(
        found_ids(store, &member(CASH, "program_id", "7")).await,
        [elsewhere.item.id],
        "it is a key of proposals alone"
    );
}

/// The server counts how often it used an index, and has counted when the store's connections are
/// gone.
async fn postgresql_looks_into_the_index_both_times() {
    let TestStore { store, items, database } = TestStore::open(TestDatabase::postgres()).await;
    let additions =
        (0..5_000).map(|number| new_item(&format!("{{\"subject\":\"{number}\"}}"))).collect();
    items.replace_all(STATUS.collection, content(vec![], additions), at(NOW)).await.unwrap();
    let _ = database.query("ANALYZE items");
    let read_set = decided_on(&items, &[member(STATUS.collection, "subject", "7")]).await;
    items.insert(all(CASH), new_item("{}"), read_set).await.unwrap();
    drop(items);
    store.close().await;
    let others = "SELECT backend_type FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while !database.query(others).is_empty() {}
    let uses = database.query("SELECT CAST(idx_scan AS TEXT) FROM pg_stat_user_indexes WHERE indexrelname = 'items_by_key_5'");
    assert_eq!(uses, [[Some("2".to_owned())]]);
}

async fn where_there_is_nothing_to_look_for_nothing_is_found(store: &TestStore) {
    store.insert(all(CASH), r#"{"a":"x"}"#).await;
    let nothing = Lookup { key: LookupKey::Nothing, ..member(CASH, "a", "x") };
    let lookups = [nothing, member(CASH, "a", "x\0"), member(CASH, "a\0", "x")];
    for lookup in &lookups {
        assert_eq!(found_ids(store, lookup).await, [], "{lookup:?}");
    }
    let read_set = decided_on(&store.items, &lookups).await;
    assert!(insert_on(store, read_set).await.is_ok());
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
    assert_eq!(insert_on(store, read_set).await, Err(RepositoryError::VersionConflict));
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
