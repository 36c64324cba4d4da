//! `page` with `count_by`: how many of the selected items have each value of a member, at the state of
//! the page.

use std::collections::BTreeMap;
use std::sync::Arc;

use application::query::{PageQuery, Total};
use application::{ListedItem, ListedPage, MemberCounts, Scope, ValueCount};
use domain::{Value, WriteOperation};
use tokio::task::JoinSet;

use crate::store::{
    FILES, NOW, TestStore, at, best_first, equal, everything, member, new_item, reach, replacement,
    searching,
};

on_both_stores! {
    long_values_and_those_that_are_rare_are_the_rest
    counts_of_a_search_are_of_the_items_that_it_lists
    counts_are_of_the_same_state_as_the_page
    ; every_server:
    values_count_as_they_were_written
}

fn counting(scope: Scope, name: &str) -> PageQuery {
    PageQuery { count_by: Some(member(name)), ..everything(scope) }
}

/// The counts of a page, as `value items|… + rest, absent`.
async fn counts(store: &TestStore, scope: Scope, query: &PageQuery) -> String {
    let page = store.select(scope, query).await;
    let MemberCounts { values, rest, absent } = page.counts.clone().expect("they were asked for");
    let values = values.iter().map(|count| format!("{} {}", count.value, count.items));
    format!("{} + {rest}, {absent}", values.collect::<Vec<_>>().join("|"))
}

async fn store_values(store: &TestStore, values: &[&str]) {
    let members = |value: &&str| format!(r#"{{"x":{value}}}"#);
    let items = values.iter().map(|value| new_item(&members(value)));
    store.insert_all(FILES, items).await;
}

/// The counts of JSON texts, as the documentation specifies them.
pub fn naive<'a>(members: impl Iterator<Item = Option<&'a str>>) -> MemberCounts {
    let (mut counted, mut absent, mut rest) = (BTreeMap::<&str, u64>::new(), 0, 0);
    for member in members {
        match member {
            None | Some("null") => absent += 1,
            Some(value) if value.chars().count() > 200 => rest += 1,
            Some(value) => *counted.entry(value).or_default() += 1,
        }
    }
    let values = counted.into_iter().map(|(value, items)| (value.to_owned(), items));
    let mut values: Vec<_> = values.map(|(value, items)| ValueCount { value, items }).collect();
    values.sort_by_key(|count| std::cmp::Reverse(count.items));
    let beyond = values.split_off(values.len().min(100));
    rest += beyond.iter().map(|count| count.items).sum::<u64>();
    MemberCounts { values, rest, absent }
}

/// The same counts, made of the items of a page that holds all of them.
fn naive_of(page: &ListedPage) -> MemberCounts {
    let member = |listed: &'_ ListedItem| {
        let members = Value::from_encoded(&listed.shown.item.members);
        members.member("x").map(|value| value.encoded().to_owned())
    };
    let members: Vec<_> = page.items.iter().map(member).collect();
    naive(members.iter().map(Option::as_deref))
}

async fn values_count_as_they_were_written(store: &TestStore) {
    assert_eq!(counts(store, FILES, &counting(FILES, "x")).await, " + 0, 0");
    store_values(store, &["7", "7", "\"7\"", "7.0", "7e0", "-0", "9223372036854775808"]).await;
    store_values(store, &["true", "false", "null", "[1,\"a\"]", "[1,\"a\"]", "{\"b\":1,\"a\":[]}"])
        .await;
    store_values(store, &["\"\"", r#""a\"b\\c\n""#, "\"ñ₱🐟\"", "100000000000000000000.10"]).await;
    store.insert(FILES, r#"{"y":1}"#).await;
    let expected = "7 2|[1,\"a\"] 2|\"\" 1|\"7\" 1|\"a\\\"b\\\\c\\n\" 1|\"ñ₱🐟\" 1|-0 1|100000000000000000000.10 1|\
                    7.0 1|7e0 1|9223372036854775808 1|false 1|true 1|{\"b\":1,\"a\":[]} 1 + 0, 2";
    assert_eq!(counts(store, FILES, &counting(FILES, "x")).await, expected);
}

async fn long_values_and_those_that_are_rare_are_the_rest(store: &TestStore) {
    let longest = format!("\"{}\"", "é".repeat(198));
    let longer = format!("\"{}\"", "é".repeat(199));
    let huge = format!("[\"{}\"]", "x".repeat(3_000_000));
    store_values(store, &[&longest, &longest, &longer, &longer, &longer, &huge]).await;
    let expected = format!("{longest} 2 + 4, 0");
    assert_eq!(counts(store, FILES, &counting(FILES, "x")).await, expected);
    let many: Vec<_> = (0..120).map(|number| number.to_string()).collect();
    store_values(store, &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    store_values(store, &["119", "null"]).await;
    let page = store.select(FILES, &counting(FILES, "x")).await;
    let found = page.counts.clone().unwrap();
    assert_eq!((found.values.len(), found.rest, found.absent), (100, 4 + 119 - 98, 1));
    assert_eq!(found, naive_of(&page));
    assert_eq!(found.values[..2].iter().map(|count| count.items).collect::<Vec<_>>(), [2, 2]);
}

async fn counts_of_a_search_are_of_the_items_that_it_lists(store: &TestStore) {
    for (x, text) in [("1", "rice"), ("1", "rice wheat"), ("2", "ricefield"), ("2", "wheat")] {
        store.insert(FILES, &format!(r#"{{"x":{x},"text":"{text}"}}"#)).await;
    }
    let searching = |written: &str| {
        let query = best_first(searching(FILES, written));
        PageQuery { limit: 1, count_by: Some(member("x")), ..query }
    };
    for (written, expected) in [
        ("rice", "1 2 + 0, 0"),
        ("ric*", "1 2|2 1 + 0, 0"),
        ("wheat", "1 1|2 1 + 0, 0"),
        ("maize", " + 0, 0"),
    ] {
        assert_eq!(counts(store, FILES, &searching(written)).await, expected, "{written}");
    }
    let mut filtered = searching("wheat");
    filtered.selection.filters.push(equal(&member("x"), "2"));
    assert_eq!(counts(store, FILES, &filtered).await, "2 1 + 0, 0");
    let many = (0..10_020).map(|n| new_item(&format!(r#"{{"x":{},"text":"oats"}}"#, n % 3)));
    store.insert_all(FILES, many).await;
    let page = store.select(FILES, &searching("oats")).await;
    let MemberCounts { values, rest, absent } = page.counts.clone().unwrap();
    let listed: u64 = values.iter().map(|count| count.items).sum();
    assert_eq!((listed, values.len(), rest, absent), (10_000, 3, 0, 0), "those that are ranked");
    assert_eq!(page.total, Total::AtLeast(10_000));
}

async fn counts_are_of_the_same_state_as_the_page(store: &TestStore) {
    for n in 0..12 {
        store.insert(FILES, &format!(r#"{{"x":{}}}"#, n % 2)).await;
    }
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let items = Arc::clone(&store.items);
        writers.spawn(async move {
            for number in 0..15 {
                let added = new_item(&format!(r#"{{"x":{writer}}}"#));
                let shown = items.insert(FILES, added, at(NOW)).await.unwrap();
                if number % 2 == 0 {
                    let version = shown.item.version;
                    items.delete(FILES, shown.item.id, version, at(NOW)).await.unwrap();
                } else {
                    let update = replacement(&shown, r#"{"x":9}"#);
                    let kind = WriteOperation::Replace;
                    items.update(FILES, update, kind, at(NOW)).await.unwrap();
                }
            }
        });
    }
    while !writers.is_empty() {
        let page = store.items.page(&reach(FILES), &counting(FILES, "x")).await.unwrap();
        assert_eq!(page.counts, Some(naive_of(&page)));
        while let Some(done) = writers.try_join_next() {
            done.unwrap();
        }
    }
}
