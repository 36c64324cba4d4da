//! `page` with an order, and the walk along it.

use application::Scope;
use application::query::{PageQuery, SortKey, Subject};
use domain::proposal::FIELDS;

use crate::store::{PROPOSALS, TestStore, everything};

on_both_stores! {
    ; every_server:
    texts_are_ordered_by_code_point
}

fn key(name: &str) -> SortKey {
    let kind = FIELDS.iter().find(|field| field.name == name).map(|field| field.kind);
    SortKey { subject: Subject::Member { name: name.into(), kind }, descending: false }
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

async fn texts_are_ordered_by_code_point(store: &TestStore) {
    let scope = PROPOSALS;
    let titles = ["b", "B", "é", "a\u{ffff}", "a😀", "a", "a b", "a!", ""];
    let members: Vec<_> = titles
        .iter()
        .map(|title| format!("\"project_title\":\"{title}\",\"y\":\"{title}\""))
        .collect();
    store_all(store, scope, &members.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for name in ["project_title", "y"] {
        assert_eq!(numbers(store, scope, &[key(name)]).await, "8 1 5 6 7 3 4 0 2", "{name}");
    }
}
