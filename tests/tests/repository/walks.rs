//! Walking a collection page by page while others write, and jumping into it.

use application::query::{PageQuery, PageStart};
use application::{NewItem, WriteMetadata};
use domain::{Collection, WriteOperation};
use tokio::task::JoinSet;

use crate::store::{
    NOW, TestStore, all, at, content, everything, ids, new_item, reach, replacement,
};

on_both_stores! {
    a_walk_skips_and_repeats_nothing_while_others_write
    every_bare_page_number_finds_its_items
    only_the_members_asked_for_come_back
    items_are_found_by_their_owners
    nobody_who_was_answered_reads_what_was_before
}

async fn a_walk_skips_and_repeats_nothing_while_others_write(store: &TestStore) {
    let scope = all(Collection::known("files"));
    let mut stored = Vec::new();
    for _ in 0..20 {
        stored.push(store.insert(scope, "{}").await);
    }
    let mut query = PageQuery { limit: 4, ..everything(scope) };
    let mut seen = Vec::new();
    loop {
        let page = store.select(scope, &query).await;
        seen.extend(page.items.iter().map(|listed| listed.shown.item.id));
        // The item the walk stands on goes, and so does one that is behind.
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

async fn every_bare_page_number_finds_its_items(store: &TestStore) {
    let additions: Vec<_> = (0..103).map(|_| new_item("{}")).collect();
    let expected: Vec<_> = additions.iter().map(|item| item.id).collect();
    store
        .items
        .replace_all(Collection::known("cashprogram"), content(Vec::new(), additions), at(NOW))
        .await
        .unwrap();
    let scope = all(Collection::known("cashprogram"));
    for offset in [0, 10, 49, 50, 60, 90, 95, 100, 102] {
        let query =
            PageQuery { position: PageStart::Offset(offset), limit: 10, ..everything(scope) };
        let page = store.select(scope, &query).await;
        let found: Vec<_> = page.items.iter().map(|listed| listed.shown.item.id).collect();
        let from = usize::try_from(offset).unwrap();
        assert_eq!(found, expected[from..(from + 10).min(103)], "{offset}");
        assert_eq!(page.has_more, offset + 10 < 103, "{offset}");
        assert_eq!(
            (page.first.as_ref().unwrap().id, page.last.as_ref().unwrap().id),
            (found[0], *found.last().unwrap())
        );
    }
}

async fn only_the_members_asked_for_come_back(store: &TestStore) {
    let scope = all(Collection::known("files"));
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
    assert_eq!(
        store
            .items
            .find_fields(&reach(all(Collection::known("status"))), shown.item.id, &fields)
            .await,
        Ok(None)
    );
    let none = store
        .items
        .find_fields(&reach(scope), shown.item.id, &Vec::new().into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&*none.item.members, "{}");
}

async fn items_are_found_by_their_owners(store: &TestStore) {
    let mut parents = Vec::new();
    let mut owned = Vec::new();
    for _ in 0..3 {
        let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
        for _ in 0..2 {
            owned.push(store.insert(crate::store::lib_of(&proposal), "{}").await);
        }
        parents.push(proposal.item.id);
    }
    store.insert(all(Collection::known("lib")), "{}").await;
    assert_eq!(
        store
            .items
            .belonging_to(&reach(all(Collection::known("lib"))), &parents[..2], 10)
            .await
            .unwrap(),
        owned[..4]
    );
    assert_eq!(
        store.items.belonging_to(&reach(all(Collection::known("lib"))), &parents, 5).await.unwrap(),
        owned[..5]
    );
    assert_eq!(
        store
            .items
            .belonging_to(&reach(all(Collection::known("files"))), &parents, 5)
            .await
            .unwrap(),
        []
    );
}

/// Readers fill whatever is kept in memory while writers write; after every acknowledged write the
/// item, its page and its neighbours' relations must be as written.
async fn nobody_who_was_answered_reads_what_was_before(store: &TestStore) {
    let scope = all(Collection::known("cashprogram"));
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
