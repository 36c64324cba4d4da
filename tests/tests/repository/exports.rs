//! `select` and `contents`: items as they were at one moment, read some at a time.

use application::query::{Comparison, Condition, Filter, Operand, PageQuery, SortKey, Subject};
use application::{Scope, Search, Sequence};

use crate::store::{FILES, PROPOSALS, TestStore, all, everything, lib_of, new_item, reach};

on_both_stores! {
    a_selection_is_read_as_it_was
    a_selection_has_the_filters_the_search_and_the_order_of_a_page
    contents_have_their_parents
    large_items_are_read_a_few_at_a_time
    ; every_server:
    more_items_than_a_row_of_the_answer_names_keep_their_order
}

async fn members(store: &TestStore, scope: Scope, changes: &[Sequence]) -> Vec<String> {
    let contents = store.store.history().contents(&reach(scope), changes).await.unwrap();
    contents.iter().map(|content| content.members.to_string()).collect()
}

async fn selected(store: &TestStore, query: &PageQuery) -> Vec<String> {
    let changes = store.items.select(&reach(FILES), query).await.unwrap();
    members(store, FILES, &changes).await
}

fn subject(name: &str) -> Subject {
    Subject::Member { name: name.into(), kind: None }
}

async fn a_selection_is_read_as_it_was(store: &TestStore) {
    let first = store.insert(FILES, r#"{"n":1.0}"#).await;
    let second = store.insert(FILES, r#"{"n":2}"#).await;
    let changes = store.items.select(&reach(FILES), &everything(FILES)).await.unwrap();
    store.update(FILES, &first, r#"{"n":3}"#).await.unwrap();
    store.delete(FILES, &second).await.unwrap();
    store.insert(FILES, r#"{"n":4}"#).await;
    assert_eq!(members(store, FILES, &changes).await, [r#"{"n":1.0}"#, r#"{"n":2}"#]);
    assert_eq!(members(store, PROPOSALS, &changes).await, [""; 0], "they are in another scope");
    assert_eq!(selected(store, &everything(FILES)).await, [r#"{"n":3}"#, r#"{"n":4}"#]);
    let none = store.items.select(&reach(PROPOSALS), &everything(PROPOSALS)).await.unwrap();
    assert_eq!(none, []);
    assert_eq!(members(store, PROPOSALS, &none).await, [""; 0]);
}

async fn a_selection_has_the_filters_the_search_and_the_order_of_a_page(store: &TestStore) {
    for (number, words) in [(1, "rice"), (2, "maize"), (3, "rice and maize")] {
        store.insert(FILES, &format!(r#"{{"n":{number},"text":"{words}"}}"#)).await;
    }
    let numbers = async |query: &PageQuery| {
        let found = selected(store, query).await;
        found.iter().map(|members| members[5..6].to_owned()).collect::<String>()
    };
    let mut query = everything(FILES);
    query.order = vec![SortKey { subject: subject("n"), descending: true }];
    query.limit = 1;
    assert_eq!(numbers(&query).await, "321", "of all pages");
    query.selection.search = Some(Search::read("rice").unwrap());
    assert_eq!(numbers(&query).await, "31");
    let operand = Operand::read(&subject("n"), "2").unwrap();
    let condition = Condition::Compare(Comparison::Less, operand);
    query.selection.filters.push(Filter { subject: subject("n"), condition });
    assert_eq!(numbers(&query).await, "1");
    query.selection.search = None;
    query.order = vec![SortKey { subject: Subject::UpdatedAt, descending: true }];
    assert_eq!(numbers(&query).await, "1");
}

async fn contents_have_their_parents(store: &TestStore) {
    let parent = store.insert(PROPOSALS, "{}").await;
    let scope = all(lib_of(&parent).collection);
    let item = store.insert(lib_of(&parent), "{}").await;
    let changes = store.items.select(&reach(scope), &everything(scope)).await.unwrap();
    let contents = store.store.history().contents(&reach(scope), &changes).await.unwrap();
    let found: Vec<_> = contents.iter().map(|own| (own.id, own.parent, own.version)).collect();
    assert_eq!(found, [(item.item.id, Some(parent.item.id), item.item.version)]);
}

async fn more_items_than_a_row_of_the_answer_names_keep_their_order(store: &TestStore) {
    const MANY: usize = 20_000;
    let items = (0..MANY).map(|number| new_item(&format!(r#"{{"n":{}}}"#, MANY - number)));
    store.insert_all(FILES, items).await;
    let query = PageQuery {
        order: vec![SortKey { subject: subject("n"), descending: false }],
        ..everything(FILES)
    };
    let changes = store.items.select(&reach(FILES), &query).await.unwrap();
    assert_eq!(changes.len(), MANY);
    let ends = [changes[0], changes[8_191], changes[8_192], changes[MANY - 1]];
    let expected = [1, 8_192, 8_193, MANY].map(|number| format!(r#"{{"n":{number}}}"#));
    assert_eq!(members(store, FILES, &ends).await, expected);
}

async fn large_items_are_read_a_few_at_a_time(store: &TestStore) {
    let large = format!(r#"{{"t":"{}"}}"#, "x".repeat(3 << 20));
    let items = [large.as_str(), "{}", &large, r#"{"last":1}"#];
    store.insert_all(FILES, items.map(new_item)).await;
    let changes = store.items.select(&reach(FILES), &everything(FILES)).await.unwrap();
    let found = async |changes: &[Sequence]| {
        let contents = store.store.history().contents(&reach(FILES), changes).await.unwrap();
        contents.into_iter().map(|content| content.change).collect::<Vec<_>>()
    };
    assert_eq!(found(&changes).await, changes[..3], "the third makes them too many");
    assert_eq!(found(&changes[3..]).await, changes[3..]);
    assert_eq!(found(&[changes[3], changes[0], changes[1]]).await.len(), 3);
}
