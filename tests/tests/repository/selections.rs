//! `page` with filters: which items each condition finds, the same on both stores.

use application::Scope;
use application::query::{
    Comparison, Filter, PageQuery, PageStart, SortKey, SortPosition, Subject, Total,
};
use domain::ItemId;
use domain::proposal::FIELDS;

use crate::store::{
    CASH, PROPOSALS, TestStore, compare, contains, equal, exists, member, new_item, selecting,
};

on_both_stores! {
    matches_are_counted_up_to_a_limit
    ; every_server:
    fields_of_proposals_are_found_by_their_kind
    long_values_of_indexed_fields_are_distinguished
    orders_by_indexed_fields_are_exact_from_any_place
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

/// An index holds the beginning of a value only, and no row without a value.
async fn orders_by_indexed_fields_are_exact_from_any_place(store: &TestStore) {
    let long = [(199, ""), (200, ""), (200, "b"), (200, "a")];
    let long = long.map(|(count, end)| format!("{}{end}", "ñ".repeat(count)));
    let texts =
        ["b", "", "\\\"q\\n\u{1f41f}", "B"].into_iter().chain(long.iter().map(String::as_str));
    let texts: Vec<_> = texts.map(|text| format!("\"{text}\"")).collect();
    let days = [r#""2026-06-30""#, r#""2026-01-01""#, "null", r#""2027-01-01""#, r#""2026-01-01""#];
    for number in 0..24 {
        let mut members = vec![format!("\"n\":{}", number % 5)];
        if number % 3 > 0 {
            members.push(format!("\"research_type\":{}", texts[number % texts.len()]));
        }
        if number % 4 > 0 {
            members.push(format!("\"start_date\":{}", days[number % days.len()]));
        }
        store.insert(PROPOSALS, &format!("{{{}}}", members.join(","))).await;
    }
    for name in ["research_type", "start_date"] {
        for descending in [false, true] {
            for second in [None, Some(member("n")), Some(field("research_type"))] {
                let second = second.filter(|second| *second != field(name));
                let subjects = [Some(field(name)), second].into_iter().flatten();
                let order: Vec<_> =
                    subjects.map(|subject| SortKey { subject, descending }).collect();
                check_order(store, &order, name, descending).await;
            }
        }
    }
}

async fn check_order(store: &TestStore, order: &[SortKey], name: &str, descending: bool) {
    let context = format!("{order:?}");
    let page = async |position: PageStart, limit: u64| {
        let order = order.to_vec();
        store
            .select(
                PROPOSALS,
                &PageQuery { order, position, limit, ..selecting(PROPOSALS, Vec::new()) },
            )
            .await
    };
    let all = page(PageStart::Offset(0), 1_000).await;
    assert_eq!((all.items.len(), all.has_more), (24, false), "{context}");
    let ids: Vec<ItemId> = all.items.iter().map(|listed| listed.shown.item.id).collect();
    let values: Vec<_> =
        all.items.iter().map(|listed| text(&listed.shown.item.members, name)).collect();
    let is_before = |one: &Option<String>, next: &Option<String>| match (one, next) {
        (Some(one), Some(next)) if descending => one >= next,
        (Some(one), Some(next)) => one <= next,
        (one, _) => one.is_some() || next.is_none(),
    };
    assert!(values.is_sorted_by(is_before), "{context}: {values:?}");
    let mut places: Vec<SortPosition> = Vec::new();
    for (offset, id) in (0..).zip(&ids) {
        let one = page(PageStart::Offset(offset), 1).await;
        assert_eq!(one.items[0].shown.item.id, *id, "{context}: {offset}");
        places.extend(one.first.clone());
    }
    let found = |page: &application::ListedPage| {
        page.items.iter().map(|listed| listed.shown.item.id).collect::<Vec<_>>()
    };
    assert_eq!(page(PageStart::Offset(u64::MAX), 5).await.items.len(), 0, "{context}");
    for (index, place) in places.into_iter().enumerate() {
        for (limit, items) in [(1, 1), (5, 5), (30, 30)] {
            let after = page(PageStart::After(place.clone()), limit).await;
            let expected: Vec<_> = ids[index + 1..].iter().copied().take(items).collect();
            assert_eq!(found(&after), expected, "{context}: {limit} after {index}");
            assert_eq!(after.has_more, ids.len() - index - 1 > items, "{context}");
            let before = page(PageStart::Before(place.clone()), limit).await;
            let first = index.saturating_sub(items);
            assert_eq!(found(&before), ids[first..index], "{context}: {limit} before {index}");
            assert_eq!(before.has_more, first > 0, "{context}");
        }
    }
}

fn text(members: &str, name: &str) -> Option<String> {
    let members: serde_json::Value = serde_json::from_str(members).unwrap();
    members[name].as_str().map(str::to_owned)
}
