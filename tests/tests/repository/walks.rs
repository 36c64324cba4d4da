//! Walking a collection page by page while others write, and jumping into it.

use application::query::{PageQuery, PageStart};
use application::{NewItem, WriteMetadata};
use domain::WriteOperation;
use tokio::task::JoinSet;

use crate::store::{
    CASH, FILES, NOW, STATUS, TestStore, at, everything, ids, new_item, reach, replacement,
};

on_both_stores! {
    a_walk_skips_and_repeats_nothing_while_others_write
    no_client_reads_a_state_older_than_its_last_response
    ; every_server:
    only_the_members_asked_for_come_back
}

async fn a_walk_skips_and_repeats_nothing_while_others_write(store: &TestStore) {
    let scope = FILES;
    let mut stored = Vec::new();
    for _ in 0..20 {
        stored.push(store.insert(scope, "{}").await);
    }
    let mut query = PageQuery { limit: 4, ..everything(scope) };
    let mut seen = Vec::new();
    loop {
        let page = store.select(scope, &query).await;
        seen.extend(page.items.iter().map(|listed| listed.shown.item.id));
        // The item at the position of the walk is deleted, and one behind it.
        let place = page.last.clone().unwrap();
        let position = stored.iter().position(|shown| shown.item.id == place.id).unwrap();
        store.delete(scope, &stored[position]).await.unwrap();
        store.delete(scope, &stored[position - 2]).await.unwrap();
        if !page.has_more {
            break;
        }
        query.position = PageStart::After(place);
    }
    assert_eq!(seen, ids(&stored));
}

async fn only_the_members_asked_for_come_back(store: &TestStore) {
    let scope = FILES;
    let shown = store
        .insert(scope, r#"{"z":100.10,"a\"b":"é\n","l":[1.50,{"x":null}],"none":null,"other":1}"#)
        .await;
    let fields = ["l", "a\"b", "missing", "z", "none"].map(std::sync::Arc::from).to_vec().into();
    let expected = r#"{"l":[1.50,{"x":null}],"a\"b":"é\n","z":100.10,"none":null}"#;
    let found =
        store.items.find_fields(&reach(scope), shown.item.id, &fields).await.unwrap().unwrap();
    assert_eq!(
        (&*found.item.members, found.item.version, &found.links),
        (expected, shown.item.version, &shown.links)
    );
    let page =
        store.select(scope, &PageQuery { fields: Some(fields.clone()), ..everything(scope) }).await;
    assert_eq!(&*page.items[0].shown.item.members, expected);
    assert_eq!(store.items.find_fields(&reach(STATUS), shown.item.id, &fields).await, Ok(None));
    let none = store
        .items
        .find_fields(&reach(scope), shown.item.id, &Vec::new().into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&*none.item.members, "{}");
}

/// Readers fill the caches while writers write; after every acknowledged write the
/// item, its page and its neighbours' relations must be as written.
async fn no_client_reads_a_state_older_than_its_last_response(store: &TestStore) {
    let scope = CASH;
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let items = std::sync::Arc::clone(&store.items);
        let mut shown = store.insert(scope, "{\"n\":0}").await;
        tasks.spawn(async move {
            let change = || -> WriteMetadata { at(NOW) };
            for number in 1..60 {
                let members = format!("{{\"n\":{number}}}");
                shown = items
                    .update(scope, replacement(&shown, &members), WriteOperation::Replace, change())
                    .await
                    .unwrap();
                assert_eq!(
                    items.find(&reach(scope), shown.item.id).await.unwrap().as_ref(),
                    Some(&shown)
                );
                let page = items.page(&reach(scope), &everything(scope)).await.unwrap();
                assert!(
                    page.items.iter().any(|listed| listed.shown == shown),
                    "a page is older than a write that was answered"
                );
            }
            let next = NewItem { continues: Some(shown.item.id), ..new_item("{}") };
            let next = items.insert(scope, next, change()).await.unwrap();
            let found = items.find(&reach(scope), shown.item.id).await.unwrap().unwrap();
            assert_eq!(found.links.continued_by, [next.item.id]);
            items.delete(scope, next.item.id, next.item.version, change()).await.unwrap();
            assert_eq!(items.find(&reach(scope), next.item.id).await.unwrap(), None);
            let found = items.find(&reach(scope), shown.item.id).await.unwrap().unwrap();
            assert!(found.links.continued_by.is_empty());
        });
    }
    tasks.join_all().await;
}
