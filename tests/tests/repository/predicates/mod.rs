//! Conditions of a reach: random ones hold of the same items in either database and in memory, and
//! every read honours them.
//!
//! `TEST_PREDICATE_PAIRS` says how many pairs of a condition and an item are judged on each store.

mod comparison;
mod examined;
mod random;

use std::sync::Arc;

use application::query::{PageQuery, PageStart, Total};
use application::{PastPageQuery, Reach, RepositoryError, ShownItem};
use domain::predicate::{
    Double, Literal, Operand, Related, RelatedKey, RelatedValue, Subject, Test,
};
use domain::{ItemId, Predicate, Version};
use tests::stores::TestDatabase;

use crate::store::{
    FILES, NOW, PROPOSALS, STATUS, TestStore, at, content, everything, lib_of, member, new_item,
    next_id, reach, searching, whole_log,
};
use comparison::random_conditions_hold_of_the_same_items_as_in_memory;
use examined::a_page_and_a_total_examine_few_rows;

on_both_stores! {
    a_page_follows_the_items_that_decide_on_it
    a_missing_parent_is_not_found_under_a_condition
    a_version_is_judged_by_its_own_content
    long_lists_are_conditions
    ; every_server:
    searches_and_counts_by_value_are_of_the_reach
    random_conditions_hold_of_the_same_items_as_in_memory
    ; postgres_alone:
    postgresql_finds_related_items_by_an_index
    a_page_and_a_total_examine_few_rows
}

fn with_x(x: i32) -> Predicate {
    Predicate::equals(Operand::member("x"), Literal::Number(Double::new(x.into()).unwrap()))
}

/// The newest status about an item has a code.
fn is_at(code: &str) -> Predicate {
    let holds = Predicate::equals(Operand::member("to_code"), Literal::String(code.into()));
    Predicate::related(Related {
        collection: STATUS.collection,
        key: RelatedKey::Member("subject".into()),
        value: RelatedValue::Operand(Operand::current(Subject::Id)),
        latest: Some(Predicate::Test(Operand::member("to_code"), Test::Exists)),
        holds,
    })
}

fn reach_at(code: &str) -> Reach {
    reach(PROPOSALS).only(Arc::new(is_at(code)))
}

fn status(proposal: &ShownItem, code: &str) -> String {
    format!(r#"{{"subject":"{}","to_code":"{code}"}}"#, proposal.item.id)
}

async fn a_page_follows_the_items_that_decide_on_it(store: &TestStore) {
    let one = store.insert(PROPOSALS, r#"{"x":1}"#).await;
    let two = store.insert(PROPOSALS, r#"{"x":2}"#).await;
    let open = reach_at("open");
    let listed = async || {
        let page = store.items.page(&open, &everything(PROPOSALS)).await.unwrap();
        let again = store.items.page(&open, &everything(PROPOSALS)).await.unwrap();
        // On PostgreSQL, a connection that opens meanwhile makes kept pages unusable.
        assert!(Arc::ptr_eq(&page, &again) || !store.database.is_sqlite(), "it is kept");
        assert_eq!(page, again);
        let ids: Vec<_> = page.items.iter().map(|listed| listed.shown.item.id).collect();
        for shown in [&one, &two] {
            let found = store.items.find(&open, shown.item.id).await.unwrap();
            assert_eq!(found.is_some(), ids.contains(&shown.item.id));
        }
        ids
    };
    let all = [one.item.id, two.item.id];
    assert_eq!(listed().await, []);
    let first = store.insert(STATUS, &status(&one, "open")).await;
    assert_eq!(listed().await, all[..1]);
    store.insert(STATUS, &status(&two, "open")).await;
    assert_eq!(listed().await, all);
    let first = store.update(STATUS, &first, &status(&one, "closed")).await.unwrap();
    assert_eq!(listed().await, all[1..]);
    let last = store.insert(STATUS, &status(&one, "open")).await;
    assert_eq!(listed().await, all);
    store.delete(STATUS, &last).await.unwrap();
    assert_eq!(listed().await, all[1..]);
    store.delete(STATUS, &first).await.unwrap();
    assert_eq!(listed().await, all[1..]);
    let closed = store.items.page(&reach_at("closed"), &everything(PROPOSALS)).await.unwrap();
    assert_eq!(closed.items, []);
    assert_eq!(store.list(PROPOSALS).await.items.len(), 2, "others see all");
}

async fn a_missing_parent_is_not_found_under_a_condition(store: &TestStore) {
    let proposal = store.insert(PROPOSALS, "{}").await;
    let scope = lib_of(&proposal);
    store.insert(scope, r#"{"x":1}"#).await;
    store.insert(scope, r#"{"x":2}"#).await;
    let reach = |scope| reach(scope).only(Arc::new(with_x(1)));
    assert_eq!(store.items.totals(&reach(scope), &[]).await.unwrap().items, 1);
    let page = store.items.page(&reach(scope), &everything(scope)).await.unwrap();
    assert_eq!(page.items.len(), 1);
    store.delete(PROPOSALS, &proposal).await.unwrap();
    let missing = Some(RepositoryError::ParentNotFound);
    assert_eq!(store.items.totals(&reach(scope), &[]).await.err(), missing);
    assert_eq!(store.items.page(&reach(scope), &everything(scope)).await.err(), missing);
}

/// A condition that holds of every item, but is not constant.
fn always() -> Predicate {
    Predicate::Test(Operand::current(Subject::Id), Test::Exists)
}

async fn a_version_is_judged_by_its_own_content(store: &TestStore) {
    let first = store.insert(PROPOSALS, r#"{"x":1}"#).await;
    let second = store.update(PROPOSALS, &first, r#"{"x":2}"#).await.unwrap();
    store.delete(PROPOSALS, &second).await.unwrap();
    let (history, id) = (store.store.history(), first.item.id);
    let times = [&first, &second].map(|shown| shown.item.updated_at);
    let versions = [1, 2, 3].map(Version::from_number);
    let log = whole_log(&*store.store.change_log()).await;
    let changes: Vec<_> = log.iter().map(|change| change.sequence).collect();
    let see = async |condition: Predicate| {
        let reach = reach(PROPOSALS).only(Arc::new(condition));
        let listed = history.versions(&reach, id, versions[2], 9).await.unwrap();
        let limited = history.versions(&reach, id, versions[2], 1).await.unwrap();
        assert_eq!(limited, listed[..listed.len().min(1)], "the limit is that of the reached");
        for version in versions {
            let found = history.version(&reach, id, version).await.unwrap();
            assert_eq!(found.is_some(), listed.iter().any(|change| change.version == version));
        }
        for (time, version) in times.iter().zip(versions) {
            let is_reached = listed.iter().any(|change| change.version == version);
            let found = history.version_at(&reach, id, *time).await.unwrap();
            assert_eq!(found.is_some(), is_reached);
            let query = PastPageQuery {
                position: PageStart::Offset(0),
                limit: 9,
                is_counted: true,
                naming: None,
            };
            let page = history.page_at(&reach, *time, &query).await.unwrap();
            // The last version decides, too.
            let is_listed = is_reached && listed.iter().any(|change| change.version == versions[2]);
            assert_eq!(page.items.len(), usize::from(is_listed));
            assert_eq!(page.total, Total::Exact(u64::from(is_listed)));
        }
        let contents = history.contents(&reach, &changes).await.unwrap();
        let contents: Vec<_> = contents.iter().map(|content| content.version.number()).collect();
        let asked = versions.map(|version| (id, version));
        let reached = history.versions_in_reach(&reach, &asked).await.unwrap();
        let mut reached: Vec<_> = reached.iter().map(|it| it.version.number()).collect();
        reached.sort_unstable();
        assert_eq!(reached, contents, "removals have no content");
        let listed: Vec<_> = listed.iter().map(|change| change.version.number()).collect();
        (listed, reached)
    };
    assert_eq!(see(with_x(1)).await, (vec![1], vec![1]));
    assert_eq!(
        see(with_x(2)).await,
        (vec![3, 2], vec![2]),
        "a removal is judged as the removed item"
    );
    assert_eq!(see(with_x(3)).await, (vec![], vec![]));
    assert_eq!(see(always()).await, (vec![3, 2, 1], vec![1, 2]));
    store.store.version_bodies().remove(&changes[..1], times[1]).await.unwrap();
    assert_eq!(see(always()).await, (vec![3, 2], vec![2]), "of an unknown content");
    let without = history.versions_in_reach(&reach(PROPOSALS), &[(id, versions[0])]).await;
    assert_eq!(without, Ok(vec![]));
}

async fn searches_and_counts_by_value_are_of_the_reach(store: &TestStore) {
    for members in
        [r#"{"x":1,"y":"rice"}"#, r#"{"x":2,"y":"rice"}"#, r#"{"x":1,"y":"maize"}"#, r#"{"x":1}"#]
    {
        store.insert(FILES, members).await;
    }
    let reach = reach(FILES).only(Arc::new(with_x(1)));
    let found = store.items.page(&reach, &searching(FILES, "rice")).await.unwrap();
    assert_eq!((found.items.len(), &found.total), (1, &Total::Exact(1)));
    let query = PageQuery { count_by: Some(member("y")), ..everything(FILES) };
    let counts = store.items.page(&reach, &query).await.unwrap().counts.clone().unwrap();
    let values: Vec<_> = counts.values.iter().map(|count| (&*count.value, count.items)).collect();
    assert_eq!(values, [("\"maize\"", 1), ("\"rice\"", 1)]);
    assert_eq!((counts.rest, counts.absent), (0, 1));
}

/// Of 5,000 items about 200 others, a page and checks read those of the judged items.
async fn postgresql_finds_related_items_by_an_index() {
    const READ: i64 = 3_000;
    const CHECKS: usize = 20;
    let TestStore { store, items, database } = TestStore::open(TestDatabase::postgres()).await;
    let proposals: Vec<_> = (0..200).map(|_| new_item("{}")).collect();
    let ids: Vec<_> = proposals.iter().map(|item| item.id).collect();
    let about = |number: usize| {
        new_item(&format!(r#"{{"subject":"{}","to_code":"open"}}"#, ids[number % ids.len()]))
    };
    items.replace_all(PROPOSALS.collection, content(vec![], proposals), at(NOW)).await.unwrap();
    let statuses = (0..5_000).map(about).collect();
    items.replace_all(STATUS.collection, content(vec![], statuses), at(NOW)).await.unwrap();
    store.wait_until_indexed().await.unwrap();
    let _ = database.query("VACUUM ANALYZE");
    let query = PageQuery { limit: 25, is_counted: false, ..everything(PROPOSALS) };
    for check in 0..CHECKS {
        let reached = items.in_reach(&reach_at("open"), &ids[check..=check]).await.unwrap();
        assert_eq!(reached.len(), 1);
    }
    assert_eq!(items.page(&reach_at("open"), &query).await.unwrap().items.len(), 25);
    drop(items);
    store.close().await;
    let others = "SELECT backend_type FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while !database.query(others).is_empty() {}
    let read = database.query(
        "SELECT CAST(SUM(seq_tup_read) AS TEXT) FROM pg_stat_user_tables WHERE relname IN ('items', 'changes') \
         UNION ALL SELECT CAST(idx_tup_read AS TEXT) FROM pg_stat_user_indexes WHERE indexrelname = 'items_by_key_5'",
    );
    let read: Vec<i64> = read.iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect();
    assert!(read[0] == 0 && (1..READ).contains(&read[1]), "{read:?}");
}

/// SQLite limits the depth of an expression, and the parts of a `UNION`.
async fn long_lists_are_conditions(store: &TestStore) {
    let shown = store.insert(PROPOSALS, r#"{"x":1999}"#).await;
    let lists = [
        Predicate::Any((0..2000).map(with_x).collect()),
        Predicate::All((0..1999).map(|x| with_x(x).negated()).collect()),
        Predicate::Any(
            (0..600).map(|_| equals_id(next_id())).chain([equals_id(shown.item.id)]).collect(),
        ),
        Predicate::Any(
            (0..30).map(|_| equals_id(next_id())).chain([equals_id(shown.item.id)]).collect(),
        ),
    ];
    for list in lists {
        let reach = reach(PROPOSALS).only(Arc::new(list));
        let page = store.items.page(&reach, &everything(PROPOSALS)).await.unwrap();
        assert_eq!(page.items.len(), 1);
    }
}

fn equals_id(id: ItemId) -> Predicate {
    Predicate::equals(Operand::current(Subject::Id), Literal::String(id.to_string().into()))
}
