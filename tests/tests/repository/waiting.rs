//! Pages that wait for one another, and pages that are read while others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, PageStart, Selection, Subject, Total,
};
use application::{Scope, Search};
use domain::{Collection, WriteOperation};
use tokio::task::JoinSet;

use crate::store::{
    FILES, NOW, TestStore, all, at, content, everything, new_item, reach, replacement,
};

on_both_stores! {
    a_cheap_page_does_not_wait_for_expensive_ones
    expensive_pages_are_answered_one_by_one
    a_filtered_page_shows_only_matches_during_writes
    the_newest_matches_are_ranked_and_can_be_walked
}

const LARGE: Collection = Collection::known("cashprogram");

const EXPENSIVE: usize = 64;

async fn fill(store: &TestStore, items: usize, members: impl Fn(usize) -> String) {
    let additions = (0..items).map(|number| new_item(&members(number))).collect();
    store.items.replace_all(LARGE, content(Vec::new(), additions), at(NOW)).await.unwrap();
}

fn filtered(scope: Scope, name: &str, condition: impl Fn(&Subject) -> Condition) -> PageQuery {
    let subject = Subject::Member { name: name.into(), kind: None };
    let filters = vec![Filter { condition: condition(&subject), subject }];
    PageQuery { selection: Selection { filters, search: None }, ..everything(scope) }
}

fn equals(wanted: &str) -> impl Fn(&Subject) -> Condition {
    move |subject| Condition::Compare(Comparison::Equal, Operand::read(subject, wanted).unwrap())
}

/// Asks for many different pages for which every item is looked at; the number of those that were
/// answered.
async fn ask_for_expensive_pages(store: &TestStore) -> (JoinSet<()>, Arc<AtomicUsize>) {
    let text = "many words, because it takes a while to look at all of them ".repeat(2);
    fill(store, 2_500, |number| format!(r#"{{"n":{number},"text":"{text}"}}"#)).await;
    let (mut pages, answered) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for number in 0..EXPENSIVE {
        let (items, answered) = (Arc::clone(&store.items), Arc::clone(&answered));
        let word = format!("nothing {number}");
        let query =
            filtered(all(LARGE), "text", move |_| Condition::Contains(word.as_str().into()));
        pages.spawn(async move {
            assert_eq!(items.page(&reach(all(LARGE)), &query).await.unwrap().items.len(), 0);
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
        let query = PageQuery { limit: 100 + reader, ..filtered(scope, "state", equals("on")) };
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
    fill(store, RANKED + 50, |number| match number {
        0..50 => format!(r#"{{"n":{number},"text":"rice rice rice rice"}}"#),
        _ => format!(r#"{{"n":{number},"text":"{}and wheat"}}"#, "rice ".repeat(1 + number % 3)),
    })
    .await;
    let search = Some(Search::read("rice").unwrap());
    let order = vec![application::query::SortKey { subject: Subject::Score, descending: true }];
    let selection = Selection { filters: Vec::new(), search };
    let mut query = PageQuery { selection, order, limit: 500, ..everything(all(LARGE)) };
    let (mut scores, mut seen) = (Vec::new(), Vec::new());
    loop {
        let page = store.select(all(LARGE), &query).await;
        assert_eq!(page.total, Total::AtLeast(RANKED as u64));
        scores.extend(page.items.iter().filter_map(|listed| listed.score));
        seen.extend(page.items.iter().map(|listed| listed.shown.clone()));
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
    let subject = Subject::Member { name: "n".into(), kind: None };
    query.selection.filters = vec![Filter { condition: equals("7")(&subject), subject }];
    query.position = PageStart::Offset(0);
    let page = store.select(all(LARGE), &query).await;
    assert_eq!((page.items.len(), page.total), (1, Total::Exact(1)));
}
