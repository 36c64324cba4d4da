//! `VersionBodies`: the bodies of superseded versions are removed, and nothing else.

use application::query::PageStart;
use application::{
    CompactionLease, CompactionProgress, PastPageQuery, RepositoryError, Scope, Sequence, ShownItem,
};
use domain::{Collection, ItemId, Version};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use crate::read_set::keyed;
use crate::store::{
    FILES, NOW, PROPOSALS, TestStore, all, at, everything, lib_of, new_item, next_id, reach,
    replacement,
};

on_both_stores! {
    bodies_are_found_that_are_superseded
    a_log_is_looked_through_some_changes_at_a_time
    a_removed_body_leaves_its_version
    a_page_of_the_past_shows_which_bodies_were_removed
    the_body_that_an_item_is_at_is_never_removed
    what_is_not_indexed_keeps_its_body
    counts_and_searches_can_be_rebuilt
    the_response_to_a_key_keeps_its_body
    related_items_are_found_in_bodies
    current_bodies_survive_every_removal
    ; every_server:
    one_worker_has_the_lease
    older_services_are_kept_out_once_bodies_go
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

/// The members of each change in the log; `-` where there are none.
fn bodies(store: &TestStore) -> String {
    let changes = store.changes().into_iter();
    changes.map(|row| row[3].clone().unwrap_or("-".to_owned())).collect::<Vec<_>>().join(" ")
}

async fn updated(store: &TestStore, scope: Scope, shown: &ShownItem, members: &str) -> ShownItem {
    store.update(scope, shown, members).await.unwrap()
}

async fn bodies_are_found_that_are_superseded(store: &TestStore) {
    let first = store.insert(FILES, r#"{"n":1}"#).await;
    let second = store.insert(FILES, r#"{"n":22}"#).await;
    assert_eq!(superseded(store).await, []);
    updated(store, FILES, &first, r#"{"n":3}"#).await;
    store.delete(FILES, &second).await.unwrap();
    store.store.wait_until_indexed().await.unwrap();
    let page = store.store.version_bodies();
    let page = page.superseded(Sequence(0), Timestamp::MAX, 1_000).await.unwrap();
    let found: Vec<_> = page.versions.iter().map(|version| version.item).collect();
    assert_eq!(found, [first.item.id, second.item.id]);
    for (version, shown) in page.versions.iter().zip([&first, &second]) {
        let newest = Version::from_number(2);
        let history = store.store.history();
        let next = history.version(&reach(FILES), shown.item.id, newest).await.unwrap().unwrap();
        assert_eq!(version.written, shown.item.updated_at);
        assert_eq!(version.superseded, next.change.time);
        assert!(version.bytes > 0 && version.bytes < 50);
        let none = store.store.version_bodies();
        let none = none.superseded(Sequence(0), next.change.time, 1_000).await.unwrap();
        assert!(!none.versions.contains(version), "not before the time");
    }
    assert_eq!(remove(store, &superseded(store).await).await, 2);
    assert_eq!(superseded(store).await, []);
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

async fn a_removed_body_leaves_its_version(store: &TestStore) {
    let first = store.insert(FILES, r#"{"n":1}"#).await;
    let second = updated(store, FILES, &first, r#"{"n":2}"#).await;
    let before = store.store.change_log().changes(Sequence(0), None, 10).await.unwrap();
    assert_eq!(remove(store, &superseded(store).await).await, 1);
    assert_eq!(bodies(store), r#"- {"n":2}"#);
    let (history, reach) = (store.store.history(), reach(FILES));
    let id = first.item.id;
    let past = history.version(&reach, id, Version::FIRST).await.unwrap().unwrap();
    assert_eq!(past.change.removed_at, Some(then()));
    let item = past.item.unwrap();
    assert_eq!((&*item.members, item.created_at), ("{}", first.item.created_at));
    let past = history.version_at(&reach, id, first.item.updated_at).await.unwrap().unwrap();
    assert_eq!((past.change.version, past.change.removed_at), (Version::FIRST, Some(then())));
    let versions = history.versions(&reach, id, Version::from_number(9), 9).await.unwrap();
    let removed: Vec<_> = versions.iter().map(|version| version.removed_at).collect();
    assert_eq!(removed, [None, Some(then())]);
    assert_eq!(store.find(FILES, &first).await, Some(second));
    let mut after = store.store.change_log().changes(Sequence(0), None, 10).await.unwrap();
    for change in &mut after.changes {
        change.removed_at = None;
    }
    assert_eq!(after, before, "the feed has every change as it was");
}

async fn a_page_of_the_past_shows_which_bodies_were_removed(store: &TestStore) {
    let first = store.insert(FILES, r#"{"n":1}"#).await;
    let second = store.insert(FILES, r#"{"n":2}"#).await;
    updated(store, FILES, &first, r#"{"n":3}"#).await;
    assert_eq!(remove(store, &superseded(store).await).await, 1);
    let query = PastPageQuery { position: PageStart::Offset(0), limit: 10, is_counted: true };
    let time = second.item.updated_at;
    let page = store.store.history().page_at(&reach(FILES), time, &query).await.unwrap();
    let shown: Vec<_> =
        page.items.iter().map(|listed| (&*listed.shown.item.members, listed.removed_at)).collect();
    assert_eq!(shown, [("{}", Some(then())), (r#"{"n":2}"#, None)]);
}

async fn the_body_that_an_item_is_at_is_never_removed(store: &TestStore) {
    let first = store.insert(FILES, r#"{"n":1}"#).await;
    updated(store, FILES, &first, r#"{"n":2}"#).await;
    store.insert(FILES, r#"{"n":3}"#).await;
    let page = store.store.change_log().changes(Sequence(0), None, 10).await.unwrap();
    let all: Vec<_> = page.changes.iter().map(|change| change.sequence).collect();
    let beyond = [&all[..], &[Sequence(i64::MAX), Sequence(-1)]].concat();
    assert_eq!(remove(store, &beyond).await, 1);
    assert_eq!(remove(store, &beyond).await, 0);
    assert_eq!(remove(store, &[]).await, 0);
    assert_eq!(bodies(store), r#"- {"n":2} {"n":3}"#);
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

async fn the_response_to_a_key_keeps_its_body(store: &TestStore) {
    let keyed = keyed(at(NOW), "");
    let first = store.items.insert(FILES, new_item(r#"{"n":1}"#), keyed.clone()).await.unwrap();
    updated(store, FILES, &first, r#"{"n":2}"#).await;
    assert_eq!(superseded(store).await, []);
    let answered = store.items.answered(&keyed).await.unwrap().unwrap();
    assert_eq!(&*answered.shown.item.members, r#"{"n":1}"#);
    let expired = at(NOW).time + SignedDuration::from_hours(2);
    store.store.forget_requests(expired).await.unwrap();
    assert_eq!(superseded(store).await.len(), 1);
}

async fn related_items_are_found_in_bodies(store: &TestStore) {
    let [program, other] = [next_id(), next_id()];
    let naming = |program: ItemId| format!(r#"{{"program_id":"{program}"}}"#);
    let proposal = store.insert(PROPOSALS, &naming(program)).await;
    updated(store, PROPOSALS, &proposal, &naming(other)).await;
    let item = store.insert(lib_of(&proposal), &naming(program)).await;
    let sheet = store
        .insert(
            all(Collection::known("gadscores")),
            &format!(r#"{{"proposal_id":"{}"}}"#, proposal.item.id),
        )
        .await;
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

async fn older_services_are_kept_out_once_bodies_go(store: &TestStore) {
    let oldest = || {
        let columns =
            "CAST(version AS TEXT), CAST(oldest_reader AS TEXT), CAST(oldest_writer AS TEXT)";
        let row = store.database.query(&format!("SELECT {columns} FROM schema_version")).remove(0);
        row.into_iter().map(Option::unwrap).collect::<Vec<_>>()
    };
    let before = oldest();
    assert_ne!(before[1], "5");
    let now = at(NOW).time;
    let lease = CompactionLease { holder: "a".into(), now, until: now };
    let bodies = store.store.version_bodies();
    bodies.lease(&lease).await.unwrap();
    assert_eq!(oldest(), before);
    let shown = store.insert(FILES, "{}").await;
    updated(store, FILES, &shown, r#"{"n":1}"#).await;
    let changes = superseded(store).await;
    if !store.database.is_sqlite() {
        // An SQLite file has one service.
        let seen = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        let _ = store.database.query(&format!(
            "INSERT INTO service_instances (id, address, schema_version, seen_at) VALUES ('older', 'elsewhere', 4, {seen})"
        ));
        let refused = bodies.remove(&changes, then()).await;
        assert_eq!(refused, Err(RepositoryError::Unavailable));
        assert_eq!((oldest(), superseded(store).await), (before.clone(), changes.clone()));
        let _ = store.database.query(&format!(
            "UPDATE service_instances SET seen_at = {seen} - 61000000 WHERE id = 'older'"
        ));
    }
    assert_eq!(remove(store, &changes).await, 1);
    assert_eq!(oldest(), [before[0].as_str(), "5", "5"]);
}

/// After any writes and removals, items are as they were last written, and each version has either
/// its body or the time of the removal.
async fn current_bodies_survive_every_removal(store: &TestStore) {
    let mut rng = Rng::with_seed(7);
    let mut written: Vec<(ShownItem, bool)> = Vec::new();
    for number in 0..60 {
        let members = format!("{{\"n\":{number}}}");
        let index = rng.usize(0..12);
        match written.get(index).cloned() {
            None => written.push((store.insert(FILES, &members).await, true)),
            Some((shown, true)) if rng.u8(0..5) == 0 => {
                store.delete(FILES, &shown).await.unwrap();
                written[index].1 = false;
            }
            Some((shown, true)) => {
                written[index].0 = updated(store, FILES, &shown, &members).await;
            }
            Some((shown, false)) => {
                let mut again = new_item(&members);
                again.id = shown.item.id;
                let shown = store.items.restore(FILES, again, at(NOW)).await.unwrap();
                written[index] = (shown, true);
            }
        }
        if number % 20 == 19 {
            let mut all = superseded(store).await;
            rng.shuffle(&mut all);
            let some = &all[..all.len() / 2];
            assert_eq!(remove(store, some).await, some.len() as u64);
        }
    }
    let history = store.store.history();
    for (shown, exists) in &written {
        let found = store.items.find_many(&reach(FILES), &[shown.item.id]).await.unwrap();
        assert_eq!(found, if *exists { vec![shown.clone()] } else { Vec::new() });
        let newest = Version::from_number(99);
        let versions = history.versions(&reach(FILES), shown.item.id, newest, 99).await;
        for version in versions.unwrap() {
            let past = history.version(&reach(FILES), version.item, version.version).await;
            let past = past.unwrap().unwrap();
            let is_empty = past.item.as_ref().is_none_or(|item| &*item.members == "{}");
            let is_deletion = version.kind == domain::WriteOperation::Delete;
            assert_eq!(is_empty, is_deletion || version.removed_at.is_some(), "{past:?}");
        }
    }
    let listed = store.select(FILES, &everything(FILES)).await;
    assert_eq!(listed.items.len(), written.iter().filter(|(_, exists)| *exists).count());
    // A write continues from the current version.
    let (shown, _) = written.iter().find(|(_, exists)| *exists).unwrap();
    let update = replacement(shown, "{}");
    store.items.update(FILES, update, domain::WriteOperation::Replace, at(NOW)).await.unwrap();
}
