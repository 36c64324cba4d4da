//! `page` with filters: which items each condition finds, the same on both stores.

use std::sync::Arc;

use application::Scope;
use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, Selection, Subject, Total,
};
use domain::proposal::{FIELDS, FieldKind};
use domain::{Collection, WriteOperation};

use crate::store::{NOW, TestStore, all, at, everything, lib_of, new_item, replacement};

on_both_stores! {
    numbers_compare_as_numbers_and_texts_as_texts
    equality_knows_the_type_of_what_is_stored
    a_list_matches_when_an_element_does
    presence_is_a_value_that_is_not_null
    pieces_are_found_without_regard_to_case_and_without_wildcards
    names_may_have_any_characters
    fields_of_proposals_are_found_by_their_kind
    times_are_compared
    long_values_of_indexed_fields_are_told_apart
    filters_hold_together_and_stay_in_their_scope
    matches_are_counted_up_to_a_limit
}

const COLLECTION: Scope = all(Collection::known("files"));

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

/// The numbers `n` of the items found.
async fn found(store: &TestStore, scope: Scope, filters: Vec<Filter>) -> String {
    let page = store.select(scope, &selecting(scope, filters)).await;
    assert_eq!(page.total, Total::Exact(page.items.len() as u64));
    let number =
        |members: &str| members.rsplit("\"n\":").next().unwrap().trim_end_matches('}').to_owned();
    page.items.iter().map(|listed| number(&listed.shown.item.members)).collect::<Vec<_>>().join(" ")
}

/// Stores an item for each value of the member `x`; `-` is none.
async fn store_values(store: &TestStore, values: &[&str]) {
    for (number, value) in values.iter().enumerate() {
        let members = if *value == "-" {
            format!("{{\"n\":{number}}}")
        } else {
            format!("{{\"x\":{value},\"n\":{number}}}")
        };
        store.insert(COLLECTION, &members).await;
    }
}

async fn numbers_compare_as_numbers_and_texts_as_texts(store: &TestStore) {
    store_values(
        store,
        &[
            "9", "10", "14.50", "-2", "1e1", r#""9""#, r#""10""#, r#""b""#, r#""Z""#, "true",
            "null", "-", "{}",
        ],
    )
    .await;
    let x = member("x");
    for (comparison, written, expected) in [
        (Comparison::Less, "10", "0 3"),
        (Comparison::AtMost, "10", "0 1 3 4 6"),
        (Comparison::Greater, "9", "1 2 4 7 8"),
        (Comparison::AtLeast, "9", "0 1 2 4 5 7 8"),
        (Comparison::Greater, "14.49", "2"),
        (Comparison::Less, "b", "5 6 8"),
        (Comparison::AtLeast, "Z", "7 8"),
    ] {
        assert_eq!(
            found(store, COLLECTION, vec![compare(&x, comparison, written)]).await,
            expected,
            "{comparison:?} {written}"
        );
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
        assert_eq!(found(store, COLLECTION, vec![equal(&x, written)]).await, expected, "{written}");
    }
    assert_eq!(
        found(store, COLLECTION, vec![compare(&x, Comparison::NotEqual, "7")]).await,
        "3 4 5 6 7 8 11"
    );
    let operands =
        ["7", "true", "nothing"].map(|written| Operand::read(&x, written).unwrap()).to_vec();
    assert_eq!(
        found(store, COLLECTION, vec![Filter { subject: x, condition: Condition::In(operands) }])
            .await,
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
    assert_eq!(found(store, COLLECTION, vec![equal(&x, "a")]).await, "0 5");
    assert_eq!(found(store, COLLECTION, vec![equal(&x, "7")]).await, "1");
    assert_eq!(found(store, COLLECTION, vec![contains(&x, "b")]).await, "0");
    assert_eq!(
        found(store, COLLECTION, vec![compare(&x, Comparison::Greater, "8")]).await,
        "0 1 5 7"
    );
    assert_eq!(
        found(store, COLLECTION, vec![compare(&x, Comparison::NotEqual, "a")]).await,
        "1 2 3 4 6 7"
    );
}

async fn presence_is_a_value_that_is_not_null(store: &TestStore) {
    store_values(store, &["0", "null", "-", "[]", "false", r#""""#]).await;
    assert_eq!(found(store, COLLECTION, vec![exists(&member("x"), true)]).await, "0 3 4 5");
    assert_eq!(found(store, COLLECTION, vec![exists(&member("x"), false)]).await, "1 2");
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
        assert_eq!(
            found(store, COLLECTION, vec![contains(&member("x"), piece)]).await,
            expected,
            "{piece}"
        );
    }
}

async fn names_may_have_any_characters(store: &TestStore) {
    for (number, name) in
        [r#"a\"b"#, "a.b", "$[0]", "a'b", "", "ñ 😀", r"a\\b", "a]b[", "tab\\t"].iter().enumerate()
    {
        store.insert(COLLECTION, &format!("{{\"{name}\":\"here\",\"n\":{number}}}")).await;
    }
    for (name, expected) in [
        ("a\"b", "0"),
        ("a.b", "1"),
        ("$[0]", "2"),
        ("a'b", "3"),
        ("", "4"),
        ("ñ 😀", "5"),
        ("a\\b", "6"),
        ("a]b[", "7"),
        ("tab\t", "8"),
    ] {
        let name = member(name);
        assert_eq!(
            found(store, COLLECTION, vec![equal(&name, "here")]).await,
            expected,
            "{name:?}"
        );
        assert_eq!(found(store, COLLECTION, vec![exists(&name, true)]).await, expected, "{name:?}");
        assert_eq!(
            found(store, COLLECTION, vec![contains(&name, "ER")]).await,
            expected,
            "{name:?}"
        );
    }
}

async fn fields_of_proposals_are_found_by_their_kind(store: &TestStore) {
    let scope = all(Collection::known("proposals"));
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
async fn long_values_of_indexed_fields_are_told_apart(store: &TestStore) {
    let scope = all(Collection::known("proposals"));
    let (beginning, whole) = ("ñ".repeat(200), "ñ".repeat(5_000));
    for (number, value) in [
        &beginning[..398],
        &beginning,
        &format!("{beginning}a"),
        &format!("{whole}a"),
        &format!("{whole}b"),
    ]
    .iter()
    .enumerate()
    {
        store
            .insert(
                scope,
                &format!(
                    "{{\"researcher_id\":\"{value}\",\"research_type\":\"{value}\",\"n\":{number}}}"
                ),
            )
            .await;
    }
    for name in ["researcher_id", "research_type"] {
        let field = field(name);
        for (number, value) in
            [&beginning[..398], &beginning, &format!("{beginning}a"), &format!("{whole}a")]
                .iter()
                .enumerate()
        {
            assert_eq!(
                found(store, scope, vec![equal(&field, value)]).await,
                number.to_string(),
                "{name}"
            );
        }
        assert_eq!(
            found(
                store,
                scope,
                vec![Filter { subject: field, condition: Condition::Contains("ñb".into()) }]
            )
            .await,
            "4"
        );
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

async fn times_are_compared(store: &TestStore) {
    let mut items = Vec::new();
    for number in 0..3 {
        let item = new_item(&format!("{{\"n\":{number}}}"));
        items.push(store.items.insert(COLLECTION, item, at(NOW + number)).await.unwrap());
    }
    let later = at(NOW + 1_000_000);
    let updated = store
        .items
        .update(COLLECTION, replacement(&items[1], r#"{"n":1}"#), WriteOperation::Replace, later)
        .await
        .unwrap();
    let (now, later) = (items[2].item.created_at.to_string(), updated.item.updated_at.to_string());
    assert_eq!(
        found(store, COLLECTION, vec![compare(&Subject::UpdatedAt, Comparison::Greater, &now)])
            .await,
        "1"
    );
    assert_eq!(found(store, COLLECTION, vec![equal(&Subject::UpdatedAt, &later)]).await, "1");
    assert_eq!(
        found(store, COLLECTION, vec![compare(&Subject::CreatedAt, Comparison::AtMost, &now)])
            .await,
        "0 1 2"
    );
    assert_eq!(
        found(store, COLLECTION, vec![compare(&Subject::CreatedAt, Comparison::NotEqual, &now)])
            .await,
        "0 1"
    );
}

async fn filters_hold_together_and_stay_in_their_scope(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
    let own = lib_of(&proposal);
    for (scope, members) in [
        (own, r#"{"a":1,"b":1,"n":0}"#),
        (own, r#"{"a":1,"b":2,"n":1}"#),
        (all(Collection::known("lib")), r#"{"a":1,"b":2,"n":2}"#),
        (COLLECTION, r#"{"a":1,"b":2,"n":3}"#),
    ] {
        store.insert(scope, members).await;
    }
    let filters = vec![equal(&member("a"), "1"), equal(&member("b"), "2")];
    assert_eq!(found(store, own, filters.clone()).await, "1");
    assert_eq!(found(store, all(Collection::known("lib")), filters).await, "1 2");
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
    let scope = all(Collection::known("cashprogram"));
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
