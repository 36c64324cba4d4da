//! `page` with an order, and the walk along it.

use std::sync::Arc;

use application::Scope;
use application::query::{PageQuery, PageStart, SortKey, Subject};
use domain::Collection;
use domain::proposal::FIELDS;

use crate::store::{TestStore, all, everything};

on_both_stores! {
    numbers_come_before_texts_and_nothing_comes_last
    texts_are_ordered_by_code_point
    several_keys_break_ties_and_the_id_breaks_the_last
    every_order_can_be_walked_in_both_directions
}

const COLLECTION: Scope = all(Collection::known("files"));

fn key(name: &str, descending: bool) -> SortKey {
    let kind = FIELDS.iter().find(|field| field.name == name).map(|field| field.kind);
    let subject = match name {
        "id" => Subject::Id,
        "updated_at" => Subject::UpdatedAt,
        _ => Subject::Member { name: Arc::from(name), kind },
    };
    SortKey { subject, descending }
}

fn ordered(scope: Scope, order: &[SortKey]) -> PageQuery {
    PageQuery { order: order.to_vec(), ..everything(scope) }
}

fn number(members: &str) -> String {
    members.rsplit("\"n\":").next().unwrap().trim_end_matches('}').to_owned()
}

async fn numbers(store: &TestStore, scope: Scope, order: &[SortKey]) -> String {
    let page = store.select(scope, &ordered(scope, order)).await;
    page.items.iter().map(|listed| number(&listed.shown.item.members)).collect::<Vec<_>>().join(" ")
}

async fn store_all(store: &TestStore, scope: Scope, members: &[&str]) {
    for (number, members) in members.iter().enumerate() {
        let comma = if members.is_empty() { "" } else { "," };
        store.insert(scope, &format!("{{{members}{comma}\"n\":{number}}}")).await;
    }
}

const MIXED: [&str; 12] = [
    r#""x":"10""#,
    r#""x":9"#,
    r#""x":null"#,
    r#""x":10.5"#,
    "",
    r#""x":"""#,
    r#""x":true"#,
    r#""x":-1e2"#,
    r#""x":[1]"#,
    r#""x":"10""#,
    r#""x":{"a":1}"#,
    r#""x":0"#,
];

async fn numbers_come_before_texts_and_nothing_comes_last(store: &TestStore) {
    store_all(store, COLLECTION, &MIXED).await;
    assert_eq!(numbers(store, COLLECTION, &[key("x", false)]).await, "7 11 1 3 5 0 9 8 6 10 2 4");
    assert_eq!(numbers(store, COLLECTION, &[key("x", true)]).await, "10 6 8 0 9 5 3 1 11 7 2 4");
}

async fn texts_are_ordered_by_code_point(store: &TestStore) {
    let scope = all(Collection::known("proposals"));
    let titles = ["b", "B", "é", "a\u{ffff}", "a😀", "a", "a b", "a!", ""];
    let members: Vec<_> = titles
        .iter()
        .map(|title| format!("\"project_title\":\"{title}\",\"y\":\"{title}\""))
        .collect();
    store_all(store, scope, &members.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for name in ["project_title", "y"] {
        assert_eq!(numbers(store, scope, &[key(name, false)]).await, "8 1 5 6 7 3 4 0 2", "{name}");
    }
}

async fn several_keys_break_ties_and_the_id_breaks_the_last(store: &TestStore) {
    store_all(
        store,
        COLLECTION,
        &[r#""a":2,"b":1"#, r#""a":1,"b":1"#, r#""a":2,"b":2"#, r#""a":1,"b":1"#],
    )
    .await;
    assert_eq!(numbers(store, COLLECTION, &[key("a", true), key("b", false)]).await, "0 2 1 3");
    assert_eq!(numbers(store, COLLECTION, &[key("a", false), key("b", true)]).await, "1 3 2 0");
    assert_eq!(numbers(store, COLLECTION, &[key("a", false), key("id", true)]).await, "3 1 2 0");
    assert_eq!(numbers(store, COLLECTION, &[key("id", true)]).await, "3 2 1 0");
    assert_eq!(numbers(store, COLLECTION, &[]).await, "0 1 2 3");
}

async fn every_order_can_be_walked_in_both_directions(store: &TestStore) {
    store_all(store, COLLECTION, &MIXED).await;
    let orders = [
        vec![],
        vec![key("id", true)],
        vec![key("x", false)],
        vec![key("x", true)],
        vec![key("updated_at", true)],
        vec![key("updated_at", false), key("x", true), key("id", true)],
        vec![key("missing", false), key("n", true)],
        vec![key("start_date", true)],
    ];
    for order in orders {
        let whole = numbers(store, COLLECTION, &order).await;
        let (forward, last) = walk(store, &order, None).await;
        assert_eq!(forward, whole, "{order:?}");
        let (backward, _) = walk(store, &order, last).await;
        let all_but_last: Vec<_> = whole.split(' ').take(11).collect();
        assert_eq!(backward, all_but_last.join(" "), "{order:?} backward");
    }
}

/// Walks by fives from the beginning, or backward from a place; the items seen in their order, and
/// the last place.
async fn walk(
    store: &TestStore,
    order: &[SortKey],
    from: Option<PageStart>,
) -> (String, Option<PageStart>) {
    let is_backward = from.is_some();
    let mut query = PageQuery {
        limit: 5,
        position: from.unwrap_or(PageStart::Offset(0)),
        ..ordered(COLLECTION, order)
    };
    let mut pages = Vec::new();
    loop {
        let page = store.select(COLLECTION, &query).await;
        let seen: Vec<_> =
            page.items.iter().map(|listed| number(&listed.shown.item.members)).collect();
        pages.push(seen.join(" "));
        let (first, last) = (page.first.clone().unwrap(), page.last.clone().unwrap());
        query.position =
            if is_backward { PageStart::Before(first) } else { PageStart::After(last.clone()) };
        if !page.has_more {
            if is_backward {
                pages.reverse();
            }
            return (pages.join(" "), Some(PageStart::Before(last)));
        }
    }
}
