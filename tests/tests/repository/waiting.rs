//! Pages that wait for one another, and pages that are read while others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use application::query::{PageQuery, PageStart, Total};
use domain::WriteOperation;
use tokio::task::JoinSet;

use crate::store::{
    CASH, FILES, NOW, TestStore, at, best_first, contains, equal, member, new_item, reach,
    replacement, searching, selecting,
};

on_both_stores! {
    a_cheap_page_does_not_wait_for_expensive_ones
    expensive_pages_are_answered_one_by_one
    a_filtered_page_shows_only_matches_during_writes
    the_newest_matches_are_ranked_and_can_be_walked
}

const EXPENSIVE: usize = 64;

/// Asks for many different pages for which every item is looked at; the number of those that were
/// answered.
async fn ask_for_expensive_pages(store: &TestStore) -> (JoinSet<()>, Arc<AtomicUsize>) {
    let text = "many words, because it takes a while to look at all of them ".repeat(2);
    let items = (0..2_500).map(|n| new_item(&format!(r#"{{"n":{n},"text":"{text}"}}"#)));
    store.insert_all(CASH, items).await;
    let (mut pages, answered) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for number in 0..EXPENSIVE {
        let (items, answered) = (Arc::clone(&store.items), Arc::clone(&answered));
        let filter = contains(&member("text"), &format!("nothing {number}"));
        let query = selecting(CASH, vec![filter]);
        pages.spawn(async move {
            assert_eq!(items.page(&reach(CASH), &query).await.unwrap().items.len(), 0);
            answered.fetch_add(1, Ordering::Relaxed);
        });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    (pages, answered)
}

async fn a_cheap_page_does_not_wait_for_expensive_ones(store: &TestStore) {
    let scope = FILES;
    store.insert(scope, "{}").await;
    let (pages, answered) = ask_for_expensive_pages(store).await;
    let asked = Instant::now();
    assert_eq!(store.list(scope).await.items.len(), 1);
    let (before, waited) = (answered.load(Ordering::Relaxed), asked.elapsed());
    assert!(before < EXPENSIVE / 2, "it came after {before} of {EXPENSIVE}");
    assert!(waited < Duration::from_secs(20), "it took {waited:?}");
    pages.join_all().await;
}

/// The pages of one kind wait for one another, and none for those that come after it.
async fn expensive_pages_are_answered_one_by_one(store: &TestStore) {
    let (mut pages, answered) = ask_for_expensive_pages(store).await;
    let mut steps = 0;
    while pages.join_next().await.is_some() {
        steps += usize::from(answered.load(Ordering::Relaxed) < EXPENSIVE);
    }
    assert!(steps > EXPENSIVE / 2, "but for {steps} they came at once");
}

async fn a_filtered_page_shows_only_matches_during_writes(store: &TestStore) {
    let scope = FILES;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let (items, is_over) = (Arc::clone(&store.items), Arc::clone(&is_over));
        let mut shown = store.insert(scope, r#"{"state":"on"}"#).await;
        writers.spawn(async move {
            for state in ["off", "on"].iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let next = replacement(&shown, &format!(r#"{{"state":"{state}"}}"#));
                shown = items.update(scope, next, WriteOperation::Replace, at(NOW)).await.unwrap();
            }
        });
    }
    let mut readers = JoinSet::new();
    for reader in 0..4 {
        let items = Arc::clone(&store.items);
        // Each has its own query, so that no page is shared.
        let query = PageQuery {
            limit: 100 + reader,
            ..selecting(scope, vec![equal(&member("state"), "on")])
        };
        readers.spawn(async move {
            for _ in 0..400 {
                let page = items.page(&reach(scope), &query).await.unwrap();
                let shown = page.items.iter().map(|listed| &*listed.shown.item.members);
                assert!(shown.clone().all(|members| members == r#"{"state":"on"}"#), "{page:?}");
                assert_eq!(page.total, Total::Exact(shown.count() as u64));
            }
        });
    }
    readers.join_all().await;
    is_over.store(true, Ordering::Relaxed);
    writers.join_all().await;
}

async fn the_newest_matches_are_ranked_and_can_be_walked(store: &TestStore) {
    const RANKED: usize = 10_000;
    let items = (0..RANKED + 50).map(|n| {
        let rice = if n < 50 { "rice ".repeat(4) } else { "rice ".repeat(1 + n % 3) + "and wheat" };
        new_item(&format!(r#"{{"n":{n},"text":"{rice}"}}"#))
    });
    store.insert_all(CASH, items).await;
    let mut query = PageQuery { limit: 500, ..best_first(searching(CASH, "rice")) };
    let (mut scores, mut seen) = (Vec::new(), Vec::new());
    loop {
        let page = store.select(CASH, &query).await;
        assert_eq!(page.total, Total::AtLeast(RANKED as u64));
        scores.extend(page.items.iter().filter_map(|listed| listed.score));
        seen.extend(page.items.iter().map(|listed| listed.shown.clone()));
        // A write does not change the scores of the matches that are still to come.
        store.insert(CASH, r#"{"text":"wheat wheat"}"#).await;
        let Some(last) = page.last.clone().filter(|_| page.has_more) else { break };
        query.position = PageStart::After(last);
    }
    assert_eq!(seen.len(), RANKED);
    assert!(scores.is_sorted_by(|one, next| one >= next));
    let is_old = |members: &str| members.contains("rice rice rice rice");
    assert!(!seen.iter().any(|shown| is_old(&shown.item.members)), "the oldest are not ranked");
    seen.sort_unstable_by_key(|shown| shown.item.id);
    seen.dedup_by_key(|shown| shown.item.id);
    assert_eq!(seen.len(), RANKED, "none came twice");
    query.selection.filters = vec![equal(&member("n"), "7")];
    query.position = PageStart::Offset(0);
    let page = store.select(CASH, &query).await;
    assert_eq!((page.items.len(), page.total), (1, Total::Exact(1)));
}
