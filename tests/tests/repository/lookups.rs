//! `look_up`: the items of an id, of a parent, and with a member of some value.

use std::sync::Arc;

use application::{ItemRepository, ReadDependency, RepositoryError, ShownItem, WriteMetadata};
use domain::{Collection, Found, Item, ItemId, Lookup, LookupKey};
use tests::stores::TestDatabase;

use crate::store::{
    FILES, LIB, NOW, PROPOSALS, STATUS, TestStore, all, at, content, new_item, next_id,
};

on_both_stores! {
    where_there_is_nothing_to_look_for_nothing_is_found
    a_thousand_items_are_found_and_no_more
    four_mebibytes_are_found_and_no_more
    ; every_server:
    items_are_looked_up_by_a_text_or_a_number_as_it_is_written
    members_of_any_name_are_looked_up
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
        assert_eq!(insert_on(store, read_set).await.map(drop), Ok(()), "{name} {value}");
    }
}

async fn members_of_any_name_are_looked_up(store: &TestStore) {
    let names = ["a\"b", "a.b", "$[0]", "ñ", "", " ", "a\nb", "$1", "?1", "%s", "id", "parent"];
    for name in names.into_iter().chain(["'; DROP TABLE items; --", "back\\slash"]) {
        let members = format!("{{{}:\"x\"}}", domain::json::encode_string(name));
        let shown = store.insert(all(CASH), &members).await;
        let lookup = member(CASH, name, "x");
        assert_eq!(found_ids(store, &lookup).await, [shown.item.id], "{name}");
        let read_set = decided_on(&store.items, std::slice::from_ref(&lookup)).await;
        assert!(insert_on(store, read_set.clone()).await.is_ok(), "{name}");
        store.delete(all(CASH), &shown).await.unwrap();
        let refused = insert_on(store, read_set).await;
        assert_eq!(refused, Err(RepositoryError::VersionConflict), "{name}");
    }
}

async fn indexed_members_of_any_length_are_looked_up(store: &TestStore) {
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
    let uses = database.query("SELECT CAST(idx_scan AS TEXT) FROM pg_stat_user_indexes WHERE indexrelname = 'items_by_subject'");
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
