//! `VersionBodies`: the bodies of superseded versions are removed, and nothing else.

use application::{CompactionLease, CompactionProgress, Scope, Sequence, ShownItem};
use domain::{Collection, ItemId};
use jiff::{SignedDuration, Timestamp};

use crate::store::{FILES, NOW, PROPOSALS, TestStore, all, lib_of, next_id, reach};

on_both_stores! {
    a_log_is_looked_through_some_changes_at_a_time
    what_is_not_indexed_keeps_its_body
    counts_and_searches_can_be_rebuilt
    related_items_are_found_in_bodies
    ; every_server:
    one_worker_has_the_lease
}

fn then() -> Timestamp {
    Timestamp::from_microsecond(NOW + 7).unwrap()
}

/// The changes that left superseded bodies, whenever that was.
async fn superseded(store: &TestStore) -> Vec<Sequence> {
    store.store.wait_until_indexed().await.unwrap();
    let bodies = store.store.version_bodies();
    let page = bodies.superseded(Sequence(0), Timestamp::MAX, 1_000).await.unwrap();
    assert_eq!(page.read_to, None);
    page.versions.iter().map(|version| version.change).collect()
}

async fn remove(store: &TestStore, changes: &[Sequence]) -> u64 {
    store.store.version_bodies().remove(changes, then()).await.unwrap()
}

async fn updated(store: &TestStore, scope: Scope, shown: &ShownItem, members: &str) -> ShownItem {
    store.update(scope, shown, members).await.unwrap()
}

async fn a_log_is_looked_through_some_changes_at_a_time(store: &TestStore) {
    let mut shown = store.insert(FILES, "{}").await;
    for number in 0..9 {
        shown = updated(store, FILES, &shown, &format!("{{\"n\":{number}}}")).await;
    }
    let all = superseded(store).await;
    let (mut found, mut after, mut pages) = (Vec::new(), Sequence(0), 0);
    loop {
        let page = store.store.version_bodies().superseded(after, Timestamp::MAX, 4).await.unwrap();
        found.extend(page.versions.iter().map(|version| version.change));
        pages += 1;
        match page.read_to {
            Some(read_to) => after = read_to,
            None => break,
        }
    }
    assert_eq!((found, pages), (all, 3));
}

async fn what_is_not_indexed_keeps_its_body(store: &TestStore) {
    let first = store.insert(FILES, r#"{"n":1}"#).await;
    updated(store, FILES, &first, r#"{"n":2}"#).await;
    let all = superseded(store).await;
    // As if the index had come as far as the first of the two.
    let _ = store.database.query(&format!("UPDATE search_progress SET sequence = {}", all[0].0));
    let bodies = store.store.version_bodies();
    let page = bodies.superseded(Sequence(0), Timestamp::MAX, 10).await.unwrap();
    assert_eq!(page.versions, []);
}

async fn counts_and_searches_can_be_rebuilt(store: &TestStore) {
    let of_type = |name: &str| format!(r#"{{"document_type":"{name}"}}"#);
    let mut shown = store.insert(FILES, &of_type("budget")).await;
    let gone = store.insert(FILES, &of_type("budget")).await;
    store.insert(FILES, &of_type("letter")).await;
    for name in ["letter", "plan", "plan"] {
        shown = updated(store, FILES, &shown, &of_type(name)).await;
    }
    store.delete(FILES, &gone).await.unwrap();
    let counts = async || {
        store.store.wait_until_indexed().await.unwrap();
        let counts = store.items.value_counts(&reach(FILES), "document_type", 9).await.unwrap();
        let mut counts: Vec<_> =
            counts.counts.iter().map(|count| format!("{} {}", count.value, count.items)).collect();
        counts.sort();
        counts.join("|")
    };
    assert_eq!(counts().await, "letter 1|plan 1");
    assert_eq!(remove(store, &superseded(store).await).await, 4);
    assert_eq!(counts().await, "letter 1|plan 1");
    let _ = store.database.query("DELETE FROM value_counts");
    let _ = store.database.query("UPDATE search_progress SET sequence = 0");
    store.insert(FILES, &of_type("letter")).await;
    assert_eq!(counts().await, "letter 2|plan 1");
    updated(store, FILES, &shown, &of_type("letter")).await;
    assert_eq!(counts().await, "letter 3");
}

async fn related_items_are_found_in_bodies(store: &TestStore) {
    let [program, other] = [next_id(), next_id()];
    let naming = |program: ItemId| format!(r#"{{"program_id":"{program}"}}"#);
    let proposal = store.insert(PROPOSALS, &naming(program)).await;
    updated(store, PROPOSALS, &proposal, &naming(other)).await;
    let item = store.insert(lib_of(&proposal), &naming(program)).await;
    let members = format!(r#"{{"proposal_id":"{}"}}"#, proposal.item.id);
    let sheet = store.insert(all(Collection::known("gadscores")), &members).await;
    let odd =
        store.insert(PROPOSALS, r#"{"program_id":123456789012345678901234567890123456}"#).await;
    let related = async |items: &[ItemId]| {
        let mut found = store.store.version_bodies().related(items).await.unwrap();
        found.sort();
        found
    };
    let [proposal, item, sheet] = [&proposal, &item, &sheet].map(|shown| shown.item.id);
    let mut both = vec![[proposal, program], [proposal, other]];
    both.sort();
    assert_eq!(related(&[proposal]).await, both);
    assert_eq!(related(&[item, sheet, odd.item.id]).await, [[item, proposal], [sheet, proposal]]);
    assert_eq!(related(&[]).await, [[proposal; 2]; 0]);
    assert_eq!(remove(store, &superseded(store).await).await, 1);
    assert_eq!(related(&[proposal]).await, [[proposal, other]], "a removed body has no relation");
    let known = store.store.version_bodies().known(&[proposal, program, sheet]).await.unwrap();
    assert_eq!(known.len(), 2);
    assert!(known.contains(&proposal) && known.contains(&sheet));
}

async fn one_worker_has_the_lease(store: &TestStore) {
    let bodies = store.store.version_bodies();
    let lease = |holder: &str, seconds: i64| {
        let now = Timestamp::from_second(1_790_000_000 + seconds).unwrap();
        CompactionLease { holder: holder.into(), now, until: now + SignedDuration::from_secs(10) }
    };
    let begun = bodies.lease(&lease("a", 0)).await.unwrap().unwrap();
    assert_eq!((&*begun.policy, begun.after), ("", Sequence(0)));
    assert_eq!(bodies.lease(&lease("b", 9)).await.unwrap(), None);
    let progress = CompactionProgress {
        policy: "90d".into(),
        after: Sequence(7),
        begins: Timestamp::from_second(1_790_000_000).unwrap(),
    };
    bodies.advance("b", &progress, false).await.unwrap();
    assert_eq!(bodies.lease(&lease("a", 9)).await.unwrap(), Some(begun), "b has not got it");
    bodies.advance("a", &progress, false).await.unwrap();
    assert_eq!(bodies.lease(&lease("b", 18)).await.unwrap(), None, "it was renewed");
    let taken = bodies.lease(&lease("b", 20)).await.unwrap();
    assert_eq!(taken.as_ref(), Some(&progress), "a is not heard of any more");
    assert_eq!(bodies.lease(&lease("a", 21)).await.unwrap(), None);
    bodies.advance("b", &progress, true).await.unwrap();
    assert_eq!(bodies.lease(&lease("a", 22)).await.unwrap(), Some(progress), "it was given back");
}
