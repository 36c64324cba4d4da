//! Random conditions hold of the same items in a database as in memory.

use std::sync::Arc;

use application::query::{PageQuery, PageStart, Total};
use application::{DeletableItems, PastPageQuery, Reach, ShownItem};
use domain::{Collection, Item, ItemId, Predicate, Version};
use tests::number;

use super::random::{Choices, Known, filled, written};
use crate::store::{TestStore, all, everything, reach};

const PAIRS: u64 = 5_000;

pub async fn random_conditions_hold_of_the_same_items_as_in_memory(store: &TestStore) {
    let mut choices = filled(store).await;
    let pairs = number("TEST_PREDICATE_PAIRS", PAIRS);
    let (mut known, mut judged, mut held) = (Known::default(), 0, 0);
    while judged < pairs {
        let depth = choices.random.u8(..4);
        let is_selective = choices.random.u8(..3) == 0;
        let predicate =
            if is_selective { choices.selective(depth) } else { choices.predicate(depth) };
        let scope = all(choices.collection());
        let mut expected = Vec::new();
        for (collection, item) in choices.items.clone() {
            if collection == scope.collection {
                judged += 1;
                if known.judge(&*store.items, &predicate, &item).await {
                    expected.push(item.id);
                }
            }
        }
        held += expected.len() as u64;
        expected.sort_unstable();
        let reach = reach(scope).only(Arc::new(predicate));
        let ids: Vec<_> = choices.items.iter().map(|(_, item)| item.id).collect();
        let mut found = store.items.in_reach(&reach, &ids).await.unwrap();
        found.sort_unstable();
        assert_eq!(found, expected, "{reach:?}");
        if is_selective || choices.random.u8(..4) == 0 {
            compare_reads(store, &mut choices, &reach, &expected).await;
            compare_history(store, &mut choices, &reach, &expected).await;
        }
    }
    println!("{held} of {judged} hold");
    assert!(held > judged / 20 && held < judged * 9 / 10, "{held} of {judged} hold");
}

fn ids_of(shown: &[ShownItem]) -> Vec<ItemId> {
    let mut ids: Vec<_> = shown.iter().map(|shown| shown.item.id).collect();
    ids.sort_unstable();
    ids
}

/// Compares the reads of items with those that are in reach.
async fn compare_reads(
    store: &TestStore,
    choices: &mut Choices,
    reach: &Reach,
    expected: &[ItemId],
) {
    let (items, scope) = (&store.items, reach.scope());
    let ids: Vec<_> = choices.items.iter().map(|(_, item)| item.id).collect();
    let many = items.find_many(reach, &ids).await.unwrap();
    assert_eq!(ids_of(&many), expected, "{reach:?}");
    let id = choices.id();
    let is_reached = expected.contains(&id);
    let one = items.find(reach, id).await.unwrap();
    assert_eq!(one.is_some(), is_reached, "{id}: {reach:?}");
    let fields = [Arc::from("x")].into();
    let part = items.find_fields(reach, &ids, &fields).await.unwrap();
    assert_eq!(ids_of(&part), expected, "{reach:?}");
    let limit = choices.random.u64(1..6);
    let start = choices.random.usize(..4);
    let query = PageQuery { position: PageStart::Offset(start as u64), limit, ..everything(scope) };
    let page = items.page(reach, &query).await.unwrap();
    let listed: Vec<_> = page.items.iter().map(|listed| listed.shown.item.id).collect();
    let after = &expected[start.min(expected.len())..];
    let count = after.len().min(limit.try_into().unwrap());
    assert_eq!(listed, after[..count], "{query:?} {reach:?}");
    assert_eq!(page.total, Total::Exact(expected.len() as u64), "{query:?} {reach:?}");
    assert_eq!(page.has_more, count < after.len(), "{query:?} {reach:?}");
    let totals = items.totals(reach, &[]).await.unwrap();
    assert_eq!(totals.items, expected.len() as u64, "{reach:?}");
    let selected = items.select(reach, &everything(scope)).await.unwrap();
    assert_eq!(selected.len(), expected.len(), "{reach:?}");
    let counts = items.value_counts(reach, "research_type", 1000).await.unwrap();
    let counted = many.iter().filter(|shown| written(&shown.item, "research_type").is_some());
    let is_counted = scope.collection.name() == "proposals";
    let counted = if is_counted { counted.count() as u64 } else { 0 };
    assert_eq!(counts.counts.iter().map(|count| count.items).sum::<u64>(), counted, "{reach:?}");
    let children: Vec<_> = items.belonging_to(reach, &ids, limit).await.unwrap();
    let count = expected.len().min(limit.try_into().unwrap());
    let is_below = scope.collection.parent().is_some();
    assert_eq!(ids_of(&children), expected[..if is_below { count } else { 0 }], "{reach:?}");
    let deletable = reach.condition().map_or_else(|| Arc::new(Predicate::TRUE), Arc::clone);
    let limit = DeletableItems { collection: scope.collection, deletable };
    let is_kept =
        |(_, item): &(_, Arc<Item>)| item.parent == Some(id) && !expected.contains(&item.id);
    let of_collection = |item: &&(Collection, Arc<Item>)| item.0 == scope.collection;
    let keeps = choices.items.iter().filter(of_collection).any(is_kept);
    assert_eq!(items.has_undeletable(id, &[limit]).await, Ok(keeps), "{id}: {reach:?}");
}

/// Compares the reads of versions with the items that are in reach: each is at its first version.
async fn compare_history(
    store: &TestStore,
    choices: &mut Choices,
    reach: &Reach,
    expected: &[ItemId],
) {
    let history = store.store.history();
    let all = store.items.select(&self::reach(reach.scope()), &everything(reach.scope())).await;
    let contents = history.contents(reach, &all.unwrap()).await.unwrap();
    let ids: Vec<_> = contents.iter().map(|content| content.id).collect();
    assert_eq!(ids, expected, "{reach:?}");
    let versions: Vec<_> =
        choices.items.iter().map(|(_, item)| (item.id, Version::FIRST)).collect();
    let reached = history.versions_in_reach(reach, &versions).await.unwrap();
    let mut ids: Vec<_> = reached.iter().map(|reached| reached.item).collect();
    ids.sort_unstable();
    assert_eq!(ids, expected, "{reach:?}");
    let id = choices.id();
    let is_reached = expected.contains(&id);
    let version = history.version(reach, id, Version::FIRST).await.unwrap();
    assert_eq!(version.is_some(), is_reached, "{id}: {reach:?}");
    let time = history.latest_time().await.unwrap().unwrap();
    let version = history.version_at(reach, id, time).await.unwrap();
    assert_eq!(version.is_some(), is_reached, "{id}: {reach:?}");
    let versions = history.versions(reach, id, Version::from_number(9), 9).await.unwrap();
    assert_eq!(versions.len(), usize::from(is_reached), "{id}: {reach:?}");
    let query = PastPageQuery {
        position: PageStart::Offset(0),
        limit: 1000,
        is_counted: true,
        naming: None,
    };
    let page = history.page_at(reach, time, &query).await.unwrap();
    let listed: Vec<_> = page.items.iter().map(|listed| listed.shown.item.id).collect();
    assert_eq!(listed, expected, "{reach:?}");
    assert_eq!(page.total, Total::Exact(expected.len() as u64), "{reach:?}");
}
