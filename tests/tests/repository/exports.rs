//! `select` and `contents`: items as they were at one moment, read some at a time.

use application::Sequence;
use application::query::{PageQuery, SortKey};

use crate::store::{FILES, TestStore, everything, member, new_item, reach};

on_both_stores! {
    large_items_are_read_a_few_at_a_time
    ; every_server:
    more_items_than_a_row_of_the_answer_names_keep_their_order
}

async fn more_items_than_a_row_of_the_answer_names_keep_their_order(store: &TestStore) {
    const MANY: usize = 20_000;
    let items = (0..MANY).map(|number| new_item(&format!(r#"{{"n":{}}}"#, MANY - number)));
    store.insert_all(FILES, items).await;
    let query = PageQuery {
        order: vec![SortKey { subject: member("n"), descending: false }],
        ..everything(FILES)
    };
    let changes = store.items.select(&reach(FILES), &query).await.unwrap();
    assert_eq!(changes.len(), MANY);
    let ends = [changes[0], changes[8_191], changes[8_192], changes[MANY - 1]];
    let expected = [1, 8_192, 8_193, MANY].map(|number| format!(r#"{{"n":{number}}}"#));
    let contents = store.store.history().contents(&reach(FILES), &ends).await.unwrap();
    let members: Vec<_> = contents.iter().map(|content| &*content.members).collect();
    assert_eq!(members, expected);
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
