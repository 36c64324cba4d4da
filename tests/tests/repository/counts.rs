//! `value_counts`: how many items have a value, as the index task keeps it.

use std::collections::BTreeMap;

use application::Scope;
use domain::{Value, WriteOperation};
use fastrand::Rng;

use crate::store::{
    CASH, FILES, NOW, PROPOSALS, TestStore, at, content, new_item, reach, replacement,
};

on_both_stores! {
    counts_are_those_of_the_items_after_any_writes
    sums_are_those_of_the_items_after_any_writes
    every_write_keeps_the_counts_in_step
    the_most_frequent_values_come_first
    amounts_are_added_up_by_month
    ; every_server:
    values_count_by_their_first_characters
    sums_end_at_the_largest_number
    a_store_without_sums_gets_them
}

/// The counts of a member, as `value items|…`.
async fn counts(store: &TestStore, scope: Scope, member: &str, limit: u64) -> String {
    store.store.wait_until_indexed().await.unwrap();
    let counts = store.items.value_counts(&reach(scope), member, limit).await.unwrap();
    let last = store.store.change_log().last().await.unwrap();
    assert_eq!(counts.up_to, last, "nothing is written meanwhile");
    assert_eq!(counts.time.is_some(), last.0 > 0);
    let counts = counts.counts.iter().map(|count| format!("{} {}", count.value, count.items));
    counts.collect::<Vec<_>>().join("|")
}

async fn of_files(store: &TestStore) -> String {
    counts(store, FILES, "document_type", 10).await
}

fn of_type(document_type: &str) -> String {
    format!(r#"{{"document_type":"{document_type}"}}"#)
}

async fn every_write_keeps_the_counts_in_step(store: &TestStore) {
    assert_eq!(of_files(store).await, "");
    let first = store.insert(FILES, &of_type("budget")).await;
    let second = store.insert(FILES, &of_type("budget")).await;
    assert_eq!(of_files(store).await, "budget 2");
    let update = replacement(&first, &of_type("letter"));
    store.items.update(FILES, update, WriteOperation::Replace, at(NOW)).await.unwrap();
    assert_eq!(of_files(store).await, "budget 1|letter 1");
    store.delete(FILES, &second).await.unwrap();
    assert_eq!(of_files(store).await, "letter 1", "a value that no item has is not counted");
    let mut again = new_item(&of_type("budget"));
    again.id = second.item.id;
    store.items.restore(FILES, again, at(NOW)).await.unwrap();
    assert_eq!(of_files(store).await, "budget 1|letter 1");
    let additions = vec![new_item(&of_type("map")), new_item("{}")];
    let files = content(Vec::new(), additions);
    store.items.replace_all(FILES.collection, files, at(NOW)).await.unwrap();
    assert_eq!(of_files(store).await, "map 1");
}

async fn the_most_frequent_values_come_first(store: &TestStore) {
    let types = ["map", "map", "letter", "budget", "budget", "budget"];
    let items = types.iter().map(|value| new_item(&of_type(value)));
    store.insert_all(FILES, items).await;
    assert_eq!(counts(store, FILES, "document_type", 2).await, "budget 3|map 2");
    assert_eq!(counts(store, FILES, "filename", 2).await, "", "it is not counted");
}

async fn values_count_by_their_first_characters(store: &TestStore) {
    for (start, kind) in [("2026-01-01", "1"), ("2026-12-31", "1.0"), ("2027-01-01", "[1]")] {
        let members = format!(r#"{{"start_date":"{start}","proposal_type":{kind}}}"#);
        store.insert(PROPOSALS, &members).await;
    }
    assert_eq!(counts(store, PROPOSALS, "start_date", 10).await, "2026 2|2027 1");
    assert_eq!(counts(store, PROPOSALS, "proposal_type", 10).await, "1 1|1.0 1");
    let long = format!(r#"{{"research_type":"{}"}}"#, "é".repeat(300));
    store.insert(PROPOSALS, &long).await;
    let expected = format!("{} 1", "é".repeat(200));
    assert_eq!(counts(store, PROPOSALS, "research_type", 10).await, expected);
}

async fn compare_after_any_writes(
    store: &TestStore,
    (scope, member): (Scope, &str),
    members: impl Fn(&mut Rng) -> String,
    counted: impl Fn(&Value) -> (String, u64),
) {
    let mut random = Rng::with_seed(7);
    for round in 0..6 {
        for _ in 0..25 {
            let members = members(&mut random);
            let items = store.list(scope).await.items;
            match random.choice(&items) {
                Some(shown) if random.bool() => {
                    let update = replacement(shown, &members);
                    store
                        .items
                        .update(scope, update, WriteOperation::Patch, at(NOW))
                        .await
                        .unwrap();
                }
                Some(shown) if random.bool() => store.delete(scope, shown).await.unwrap(),
                _ => drop(store.insert(scope, &members).await),
            }
        }
        let mut expected = BTreeMap::<_, u64>::new();
        for shown in store.list(scope).await.items {
            let (value, count) = counted(&Value::from_encoded(&shown.item.members));
            *expected.entry(value).or_default() += count;
        }
        let mut expected: Vec<_> = expected.into_iter().filter(|(_, count)| *count > 0).collect();
        expected.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let expected: Vec<_> =
            expected.iter().map(|(value, count)| format!("{value} {count}")).collect();
        let found = counts(store, scope, member, 100).await;
        assert_eq!(found, expected.join("|"), "round {round}");
    }
}

async fn counts_are_those_of_the_items_after_any_writes(store: &TestStore) {
    let members = |random: &mut Rng| of_type(&random.u8(0..4).to_string());
    compare_after_any_writes(store, (FILES, "document_type"), members, |members| {
        (members.member("document_type").unwrap().as_string().unwrap().into_owned(), 1)
    })
    .await;
}

async fn sums_are_those_of_the_items_after_any_writes(store: &TestStore) {
    let members = |random: &mut Rng| {
        let (year, amount) = (random.u16(2026..2028), random.u32(0..1_000_000));
        format!(r#"{{"year":{year},"dec_amount":"{:.2}"}}"#, f64::from(amount) / 100.0)
    };
    compare_after_any_writes(store, (CASH, "amounts"), members, |members| {
        let amount = members.member("dec_amount").unwrap().as_string().unwrap();
        let month = format!("{}-12", members.member("year").unwrap().as_written().unwrap());
        (month, amount.replace('.', "").parse().unwrap())
    })
    .await;
}

async fn sums(store: &TestStore) -> String {
    counts(store, CASH, "amounts", 100).await
}

async fn amounts_are_added_up_by_month(store: &TestStore) {
    for members in [
        r#"{"year":2026,"jan_amount":"12500.00","feb_amount":0.07,"mar_amount":"0.00"}"#,
        r#"{"year":"2026","jan_amount":"0.10","feb_amount":"-5","mar_amount":"much"}"#,
        r#"{"year":2027,"jan_amount":3}"#,
        r#"{"jan_amount":1,"year":null}"#,
        r#"{"jan_amount":1,"year":"20 26"}"#,
    ] {
        store.insert(CASH, members).await;
    }
    assert_eq!(sums(store).await, "2026-01 1250010|2027-01 300|2026-02 7");
    assert_eq!(counts(store, CASH, "year", 1).await, "2026 2", "items are counted too");
}

async fn sums_end_at_the_largest_number(store: &TestStore) {
    let largest = r#"{"year":2026,"jan_amount":1000000000}"#;
    store.insert(CASH, largest).await;
    assert_eq!(sums(store).await, "2026-01 100000000000");
    let near = i64::MAX - 1;
    let _ = store
        .database
        .query(&format!("UPDATE value_counts SET items = {near} WHERE member = 'amounts'"));
    for _ in 0..2 {
        store.insert(CASH, largest).await;
        assert_eq!(sums(store).await, format!("2026-01 {}", i64::MAX));
    }
}

/// As a store of version 2 of the schema was.
async fn a_store_without_sums_gets_them(store: &TestStore) {
    store.insert(CASH, r#"{"year":2026,"jan_amount":5}"#).await;
    let removed = store.insert(CASH, r#"{"year":2026,"jan_amount":7}"#).await;
    store.delete(CASH, &removed).await.unwrap();
    store.insert(FILES, &of_type("budget")).await;
    assert_eq!(sums(store).await, "2026-01 500");
    for change in [
        "DELETE FROM value_counts WHERE member = 'amounts'",
        "DELETE FROM seaql_migrations WHERE version >= 'm20261123_000002_amounts'",
        "DROP INDEX changes_by_collection",
        "ALTER TABLE changes DROP COLUMN removed_at",
        "DROP TABLE compaction",
        "DROP TABLE schema_steps",
        "DROP TABLE service_instances",
        "UPDATE schema_version SET version = 2, oldest_reader = 2, oldest_writer = 2",
    ] {
        let _ = store.database.query(change);
    }
    assert_eq!(sums(store).await, "");
    assert!(!store.store.is_migrated().await.unwrap());
    store.store.migrate().await.unwrap();
    store.insert(CASH, r#"{"year":2026,"feb_amount":1}"#).await;
    assert_eq!(sums(store).await, "2026-01 500|2026-02 100");
    assert_eq!(of_files(store).await, "budget 1", "counts are made again too");
}
