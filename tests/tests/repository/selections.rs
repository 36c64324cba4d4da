//! `page` with filters: which items each condition finds, the same on both stores.

use application::Scope;
use application::query::{Comparison, Filter, PageQuery, Subject, Total};
use domain::proposal::FIELDS;

use crate::store::{
    CASH, PROPOSALS, TestStore, compare, contains, equal, exists, member, new_item, selecting,
};

on_both_stores! {
    matches_are_counted_up_to_a_limit
    ; every_server:
    fields_of_proposals_are_found_by_their_kind
    long_values_of_indexed_fields_are_distinguished
}

fn field(name: &str) -> Subject {
    let kind = FIELDS.iter().find(|field| field.name == name).map(|field| field.kind);
    Subject::Member { name: name.into(), kind }
}

async fn found(store: &TestStore, scope: Scope, filters: Vec<Filter>) -> String {
    let page = store.select(scope, &selecting(scope, filters)).await;
    assert_eq!(page.total, Total::Exact(page.items.len() as u64));
    let number =
        |members: &str| members.rsplit("\"n\":").next().unwrap().trim_end_matches('}').to_owned();
    page.items.iter().map(|listed| number(&listed.shown.item.members)).collect::<Vec<_>>().join(" ")
}

async fn fields_of_proposals_are_found_by_their_kind(store: &TestStore) {
    let scope = PROPOSALS;
    for members in [
        r#"{"start_date":"2026-01-01","researcher_id":7,"project_title":"14.50","implementation_sites":["Albay","Bato"],"n":0}"#,
        r#"{"start_date":"2026-06-30","researcher_id":"7","project_title":"Título","implementation_sites":"Bato","n":1}"#,
        r#"{"researcher_id":"R-1","n":2}"#,
        r#"{"researcher_id":123456789012345678901234567890,"n":3}"#,
    ] {
        store.insert(scope, members).await;
    }
    for (filter, expected) in [
        (compare(&field("start_date"), Comparison::AtLeast, "2026-01-01"), "0 1"),
        (compare(&field("start_date"), Comparison::Greater, "2026-01-01"), "1"),
        (compare(&field("start_date"), Comparison::NotEqual, "2026-01-01"), "1"),
        (equal(&field("researcher_id"), "7"), "0 1"),
        (equal(&field("researcher_id"), "R-1"), "2"),
        (equal(&field("researcher_id"), "123456789012345678901234567890"), "3"),
        (compare(&field("researcher_id"), Comparison::NotEqual, "7"), "2 3"),
        (compare(&field("researcher_id"), Comparison::Greater, "7"), "2 3"),
        (equal(&field("project_title"), "14.50"), "0"),
        (contains(&field("project_title"), "TÍT"), "1"),
        (equal(&field("implementation_sites"), "Bato"), "0 1"),
        (contains(&field("implementation_sites"), "ALB"), "0"),
        (exists(&field("start_date"), false), "2 3"),
    ] {
        assert_eq!(found(store, scope, vec![filter.clone()]).await, expected, "{filter:?}");
    }
}

/// An index holds the beginning of a value only.
async fn long_values_of_indexed_fields_are_distinguished(store: &TestStore) {
    let scope = PROPOSALS;
    let (beginning, whole) = ("ñ".repeat(200), "ñ".repeat(5_000));
    let longer = ["a", "b"].map(|end| format!("{whole}{end}"));
    let values = [&beginning[..398], &beginning, &format!("{beginning}a"), &longer[0], &longer[1]];
    for (number, value) in values.iter().enumerate() {
        let members =
            format!(r#"{{"researcher_id":"{value}","research_type":"{value}","n":{number}}}"#);
        store.insert(scope, &members).await;
    }
    for name in ["researcher_id", "research_type"] {
        let field = field(name);
        for (number, value) in values.iter().enumerate() {
            let found = found(store, scope, vec![equal(&field, value)]).await;
            assert_eq!(found, number.to_string(), "{name}");
        }
        assert_eq!(found(store, scope, vec![contains(&field, "ñb")]).await, "4");
    }
    let kind = field("research_type");
    for (comparison, value, expected) in [
        (Comparison::Greater, &beginning[..398], "1 2 3 4"),
        (Comparison::Greater, &beginning, "2 3 4"),
        (Comparison::Less, &beginning, "0"),
        (Comparison::AtMost, &format!("{beginning}a"), "0 1 2"),
        (Comparison::Greater, &format!("{whole}a"), "4"),
    ] {
        assert_eq!(
            found(store, scope, vec![compare(&kind, comparison, value)]).await,
            expected,
            "{comparison:?} {}",
            value.len()
        );
    }
}

async fn matches_are_counted_up_to_a_limit(store: &TestStore) {
    let scope = CASH;
    store.insert_all(scope, (0..10_001).map(|_| new_item(r#"{"x":1}"#))).await;
    let query = PageQuery { limit: 5, ..selecting(scope, vec![exists(&member("x"), true)]) };
    assert_eq!(store.select(scope, &query).await.total, Total::AtLeast(10_000));
    let not_counted = PageQuery { is_counted: false, ..query.clone() };
    assert_eq!(store.select(scope, &not_counted).await.total, Total::NotCounted);
    let first = store.page(scope, 0, 1).await;
    assert_eq!(first.total_items, 10_001);
    store.delete(scope, &first.items[0]).await.unwrap();
    assert_eq!(store.select(scope, &query).await.total, Total::Exact(10_000));
}
