//! `page` with `count_by`: how many of the selected items have each value of a member, at the state of
//! the page.

use std::collections::BTreeMap;
use std::sync::Arc;

use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, PageStart, Selection, SortKey, Subject,
};
use application::{ListedPage, MemberCounts, Scope, Search, ValueCount};
use domain::Value;
use domain::proposal::FieldKind;
use fastrand::Rng;
use tokio::task::JoinSet;

use crate::store::{
    FILES, LIB, NOW, PROPOSALS, TestStore, at, everything, lib_of, new_item, reach, replacement,
};

on_both_stores! {
    long_values_and_those_that_are_rare_are_the_rest
    counts_are_of_the_selection_and_not_of_the_page
    counts_are_of_a_scope
    counts_of_a_search_are_of_the_items_that_it_lists
    a_page_without_counts_is_another_one
    counts_are_of_the_same_state_as_the_page
    counts_of_any_items_are_right
    ; every_server:
    values_count_as_they_were_written
    members_of_any_name_are_counted
}

fn member(name: &str) -> Subject {
    Subject::Member { name: name.into(), kind: None }
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

/// The same counts, made of the items of a page that holds all of them.
fn naive(page: &ListedPage, name: &str) -> MemberCounts {
    let (mut counted, mut absent, mut rest) = (BTreeMap::<String, u64>::new(), 0, 0);
    for listed in &page.items {
        match Value::from_encoded(&listed.shown.item.members).member(name) {
            None => absent += 1,
            Some(value) if value.is_null() => absent += 1,
            Some(value) if value.encoded().chars().count() > 200 => rest += 1,
            Some(value) => *counted.entry(value.encoded().to_owned()).or_default() += 1,
        }
    }
    let mut values: Vec<_> =
        counted.into_iter().map(|(value, items)| ValueCount { value, items }).collect();
    values.sort_by_key(|count| std::cmp::Reverse(count.items));
    let beyond = values.split_off(values.len().min(100));
    rest += beyond.iter().map(|count| count.items).sum::<u64>();
    MemberCounts { values, rest, absent }
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
    assert_eq!(found, naive(&page, "x"));
    assert_eq!(found.values[..2].iter().map(|count| count.items).collect::<Vec<_>>(), [2, 2]);
}

async fn counts_are_of_the_selection_and_not_of_the_page(store: &TestStore) {
    for n in 0..20 {
        let x = ["\"a\"", "\"b\"", "1"][n % 3];
        store.insert(FILES, &format!(r#"{{"x":{x},"n":{n}}}"#)).await;
    }
    let operand = Operand::read(&member("n"), "10").unwrap();
    let less = Condition::Compare(Comparison::Less, operand);
    let filters = vec![Filter { subject: member("n"), condition: less }];
    let filtered = Selection { filters, search: None };
    let (all, few) = ("\"a\" 7|\"b\" 7|1 6 + 0, 0", "\"a\" 4|\"b\" 3|1 3 + 0, 0");
    for (selection, expected) in [(Selection::default(), all), (filtered, few)] {
        let query = PageQuery { selection, ..counting(FILES, "x") };
        assert_eq!(counts(store, FILES, &query).await, expected);
        let order = vec![SortKey { subject: member("n"), descending: true }];
        let fields = Some(Arc::from([Arc::<str>::from("n")]));
        let page = PageQuery { order, limit: 2, fields, is_counted: false, ..query.clone() };
        assert_eq!(counts(store, FILES, &page).await, expected);
        let start = store.select(FILES, &page).await.last.clone().unwrap();
        for position in [
            PageStart::After(start.clone()),
            PageStart::Before(start),
            PageStart::Offset(7),
            PageStart::Offset(1_000),
        ] {
            let page = PageQuery { position, ..page.clone() };
            assert_eq!(counts(store, FILES, &page).await, expected, "{page:?}");
        }
        let order = vec![SortKey { subject: Subject::UpdatedAt, descending: true }];
        assert_eq!(counts(store, FILES, &PageQuery { order, ..query }).await, expected);
    }
}

async fn counts_are_of_a_scope(store: &TestStore) {
    let proposal = store.insert(PROPOSALS, r#"{"research_type":"Basic","x":1}"#).await;
    store.insert(PROPOSALS, r#"{"research_type":["Basic"]}"#).await;
    store.insert(lib_of(&proposal), r#"{"x":1}"#).await;
    store.insert(LIB, r#"{"x":2}"#).await;
    let lib = LIB;
    assert_eq!(counts(store, lib, &counting(lib, "x")).await, "1 1|2 1 + 0, 0");
    let own = lib_of(&proposal);
    assert_eq!(counts(store, own, &counting(own, "x")).await, "1 1 + 0, 0");
    let subject =
        Subject::Member { name: "research_type".into(), kind: Some(FieldKind::StringOrList) };
    let by_type = PageQuery { count_by: Some(subject), ..everything(PROPOSALS) };
    assert_eq!(counts(store, PROPOSALS, &by_type).await, "\"Basic\" 1|[\"Basic\"] 1 + 0, 0");
}

async fn counts_of_a_search_are_of_the_items_that_it_lists(store: &TestStore) {
    for (x, text) in [("1", "rice"), ("1", "rice wheat"), ("2", "ricefield"), ("2", "wheat")] {
        store.insert(FILES, &format!(r#"{{"x":{x},"text":"{text}"}}"#)).await;
    }
    let searching = |written: &str| {
        let search = Some(Search::read(written).unwrap());
        let selection = Selection { filters: Vec::new(), search };
        let order = vec![SortKey { subject: Subject::Score, descending: true }];
        PageQuery { selection, order, limit: 1, ..counting(FILES, "x") }
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
    let condition = Condition::In(vec![Operand::read(&member("x"), "2").unwrap()]);
    filtered.selection.filters.push(Filter { subject: member("x"), condition });
    assert_eq!(counts(store, FILES, &filtered).await, "2 1 + 0, 0");
    let many = (0..10_020).map(|n| new_item(&format!(r#"{{"x":{},"text":"oats"}}"#, n % 3)));
    store.insert_all(FILES, many).await;
    let page = store.select(FILES, &searching("oats")).await;
    let MemberCounts { values, rest, absent } = page.counts.clone().unwrap();
    let listed: u64 = values.iter().map(|count| count.items).sum();
    assert_eq!((listed, values.len(), rest, absent), (10_000, 3, 0, 0), "those that are ranked");
    assert_eq!(page.total, application::query::Total::AtLeast(10_000));
}

async fn members_of_any_name_are_counted(store: &TestStore) {
    let names = [
        "a b", "a.b", "$", "$.x", "$[0]", "[", "']", "'", "a'b", "a\"b", "a\\b", "%", "?", "$1",
        ":a", "value", "items", "counts", "🐟", "\u{1}", "e\u{301}", "",
    ];
    for name in names.into_iter().chain(["'); DROP TABLE items; --"]) {
        let escaped = serde_json::to_string(name).unwrap();
        let item = store.insert(FILES, &format!("{{{escaped}:7}}")).await;
        assert_eq!(counts(store, FILES, &counting(FILES, name)).await, "7 1 + 0, 0", "{name:?}");
        store.delete(FILES, &item).await.unwrap();
    }
}

async fn a_page_without_counts_is_another_one(store: &TestStore) {
    store_values(store, &["1", "2"]).await;
    for _ in 0..2 {
        let plain = store.select(FILES, &everything(FILES)).await;
        assert_eq!(plain.counts, None);
        assert_eq!(counts(store, FILES, &counting(FILES, "x")).await, "1 1|2 1 + 0, 0");
        assert_eq!(counts(store, FILES, &counting(FILES, "y")).await, " + 0, 2");
    }
    store_values(store, &["2"]).await;
    assert_eq!(counts(store, FILES, &counting(FILES, "x")).await, "2 2|1 1 + 0, 0");
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
                    let kind = domain::WriteOperation::Replace;
                    items.update(FILES, update, kind, at(NOW)).await.unwrap();
                }
            }
        });
    }
    while !writers.is_empty() {
        let page = store.items.page(&reach(FILES), &counting(FILES, "x")).await.unwrap();
        assert_eq!(page.counts, Some(naive(&page, "x")));
        while let Some(done) = writers.try_join_next() {
            done.unwrap();
        }
    }
}

async fn counts_of_any_items_are_right(store: &TestStore) {
    let mut random = Rng::with_seed(11);
    for _ in 0..6 {
        let values: Vec<_> = (0..40)
            .map(|_| match random.u8(..6) {
                0 => random.u8(..5).to_string(),
                1 => format!("\"{}\"", random.u8(..5)),
                2 => format!("{}.{}0", random.u8(..2), random.u8(..3)),
                3 => ["true", "false", "null", "[]", "{}"][random.usize(..5)].to_owned(),
                4 => format!("\"{}\"", "ñ".repeat(random.usize(195..202))),
                _ => format!("[{},null]", random.u8(..3)),
            })
            .collect();
        store_values(store, &values.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let page = store.select(FILES, &counting(FILES, "x")).await;
        assert_eq!(page.counts, Some(naive(&page, "x")));
    }
}
