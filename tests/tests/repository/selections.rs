//! `page` with filters: which items each condition finds, the same on both stores.

use std::sync::Arc;

use application::Scope;
use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, Selection, Subject, Total,
};
use domain::Collection;
use domain::proposal::{FIELDS, FieldKind};

use crate::store::{CASH, FILES, NOW, PROPOSALS, TestStore, at, everything, new_item};

on_both_stores! {
    matches_are_counted_up_to_a_limit
    ; every_server:
    equality_knows_the_type_of_what_is_stored
    a_list_matches_when_an_element_does
    pieces_are_found_without_regard_to_case_and_without_wildcards
    names_may_have_any_characters
    fields_of_proposals_are_found_by_their_kind
    long_values_of_indexed_fields_are_distinguished
}

fn member(name: &str) -> Subject {
    let kind: Option<FieldKind> = None;
    Subject::Member { name: Arc::from(name), kind }
}

fn field(name: &str) -> Subject {
    let kind = FIELDS.iter().find(|field| field.name == name).map(|field| field.kind);
    Subject::Member { name: Arc::from(name), kind }
}

fn compare(subject: &Subject, comparison: Comparison, written: &str) -> Filter {
    let operand = Operand::read(subject, written).unwrap();
    Filter { subject: subject.clone(), condition: Condition::Compare(comparison, operand) }
}

fn equal(subject: &Subject, written: &str) -> Filter {
    compare(subject, Comparison::Equal, written)
}

fn contains(subject: &Subject, piece: &str) -> Filter {
    Filter { subject: subject.clone(), condition: Condition::Contains(piece.into()) }
}

fn exists(subject: &Subject, wanted: bool) -> Filter {
    Filter { subject: subject.clone(), condition: Condition::Exists(wanted) }
}

fn selecting(scope: Scope, filters: Vec<Filter>) -> PageQuery {
    PageQuery { selection: Selection { filters, search: None }, ..everything(scope) }
}

async fn found(store: &TestStore, scope: Scope, filters: Vec<Filter>) -> String {
    let page = store.select(scope, &selecting(scope, filters)).await;
    assert_eq!(page.total, Total::Exact(page.items.len() as u64));
    let number =
        |members: &str| members.rsplit("\"n\":").next().unwrap().trim_end_matches('}').to_owned();
    page.items.iter().map(|listed| number(&listed.shown.item.members)).collect::<Vec<_>>().join(" ")
}

async fn matching(store: &TestStore, filter: Filter) -> String {
    found(store, FILES, vec![filter]).await
}

/// Stores an item for each value of the member `x`; `-` is none.
async fn store_values(store: &TestStore, values: &[&str]) {
    for (number, value) in values.iter().enumerate() {
        let members = if *value == "-" {
            format!("{{\"n\":{number}}}")
        } else {
            format!("{{\"x\":{value},\"n\":{number}}}")
        };
        store.insert(FILES, &members).await;
    }
}

async fn equality_knows_the_type_of_what_is_stored(store: &TestStore) {
    store_values(
        store,
        &[
            "7",
            r#""7""#,
            "7.0",
            "14.5",
            r#""14.50""#,
            "true",
            r#""true""#,
            "9007199254740993",
            "9007199254740992",
            "null",
            "-",
            r#""""#,
        ],
    )
    .await;
    let x = member("x");
    for (written, expected) in [
        ("7", "0 1 2"),
        ("14.50", "3"),
        ("true", "5 6"),
        ("9007199254740993", "7"),
        ("", "11"),
        ("null", ""),
        ("07", ""),
        ("'; DROP TABLE items; --", ""),
    ] {
        assert_eq!(matching(store, equal(&x, written)).await, expected, "{written}");
    }
    assert_eq!(matching(store, compare(&x, Comparison::NotEqual, "7")).await, "3 4 5 6 7 8 11");
    let operands =
        ["7", "true", "nothing"].map(|written| Operand::read(&x, written).unwrap()).to_vec();
    assert_eq!(
        matching(store, Filter { subject: x, condition: Condition::In(operands) }).await,
        "0 1 2 5 6"
    );
}

async fn a_list_matches_when_an_element_does(store: &TestStore) {
    store_values(
        store,
        &[
            r#"["a","B"]"#,
            r#"["c",7]"#,
            "[]",
            r#"[["a"]]"#,
            r#"{"a":"a"}"#,
            r#""a""#,
            "[null]",
            "[1,20]",
        ],
    )
    .await;
    let x = member("x");
    assert_eq!(matching(store, equal(&x, "a")).await, "0 5");
    assert_eq!(matching(store, equal(&x, "7")).await, "1");
    assert_eq!(matching(store, contains(&x, "b")).await, "0");
    assert_eq!(matching(store, compare(&x, Comparison::Greater, "8")).await, "0 1 5 7");
    assert_eq!(matching(store, compare(&x, Comparison::NotEqual, "a")).await, "1 2 3 4 6 7");
}

async fn pieces_are_found_without_regard_to_case_and_without_wildcards(store: &TestStore) {
    store_values(
        store,
        &[r#""100 % Peñaranda""#, r#""PEÑARANDA""#, r#""a_b*c?[d]^e\\f.g""#, r#""axbyc""#, "100"],
    )
    .await;
    for (piece, expected) in [
        ("peñaranda", "0 1"),
        ("Peña", "0 1"),
        ("%", "0"),
        ("_", "2"),
        ("*c?", "2"),
        ("[D]", "2"),
        ("^E\\F", "2"),
        (".", "2"),
        ("100", "0"),
        ("x.y", ""),
        ("]^", "2"),
    ] {
        assert_eq!(matching(store, contains(&member("x"), piece)).await, expected, "{piece}");
    }
}

async fn names_may_have_any_characters(store: &TestStore) {
    let names = ["a\"b", "a.b", "$[0]", "a'b", "", "ñ 😀", "a\\b", "a]b[", "tab\t"];
    for (number, name) in names.iter().enumerate() {
        let name = domain::json::encode_string(name);
        store.insert(FILES, &format!("{{{name}:\"here\",\"n\":{number}}}")).await;
    }
    for (number, name) in names.iter().enumerate() {
        let subject = member(name);
        for filter in [equal(&subject, "here"), exists(&subject, true), contains(&subject, "ER")] {
            assert_eq!(matching(store, filter).await, number.to_string(), "{name:?}");
        }
    }
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
    let members = "{\"x\":1}";
    let additions = (0..10_001).map(|_| new_item(members)).collect();
    store
        .items
        .replace_all(
            Collection::known("cashprogram"),
            crate::store::content(Vec::new(), additions),
            at(NOW),
        )
        .await
        .unwrap();
    let scope = CASH;
    let query = PageQuery { limit: 5, ..selecting(scope, vec![exists(&member("x"), true)]) };
    assert_eq!(store.select(scope, &query).await.total, Total::AtLeast(10_000));
    assert_eq!(
        store.select(scope, &PageQuery { is_counted: false, ..query }).await.total,
        Total::NotCounted
    );
    let first = store.page(scope, 0, 1).await;
    assert_eq!(first.total_items, 10_001);
    store.delete(scope, &first.items[0]).await.unwrap();
    let query = PageQuery { limit: 5, ..selecting(scope, vec![exists(&member("x"), true)]) };
    assert_eq!(store.select(scope, &query).await.total, Total::Exact(10_000));
}
