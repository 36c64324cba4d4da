//! A search while the full-text index is far behind.

use std::time::{Duration, Instant};

use application::RepositoryError;
use application::query::PageQuery;

use crate::store::{FILES, TestStore, reach, searching};

on_both_stores! {
    a_search_that_would_wait_too_long_is_refused_at_once
}

/// More than either index does in the time that a search waits, at the pace that is assumed before
/// one was measured.
const CHANGES: u64 = 400_000;

/// Longer than it takes to find that out, shorter than a search waits.
const AT_ONCE: Duration = Duration::from_secs(10);

async fn a_search_that_would_wait_too_long_is_refused_at_once(store: &TestStore) {
    let shown = store.insert(FILES, r#"{"text":"xylophone"}"#).await;
    let search = searching(FILES, "xylophone");
    assert_eq!(store.select(FILES, &search).await.items.len(), 1);
    let (numbers, id) = if store.database.is_sqlite() {
        (
            "(WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $) SELECT n FROM n) AS g",
            "randomblob(16)",
        )
    } else {
        ("generate_series(1, $) AS g (n)", "gen_random_uuid()")
    };
    let _ = store.database.query(&format!(
        "INSERT INTO changes (collection, item_id, version, kind, time, members) \
         SELECT 'status', {id}, 1, 'created', n, '{{}}' FROM {}",
        numbers.replace('$', &CHANGES.to_string())
    ));
    // Another page: the one above is known.
    let search = PageQuery { limit: 999, ..search };
    let begun = Instant::now();
    let refused = store.items.page(&reach(FILES), &search).await.map(drop).unwrap_err();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    let RepositoryError::IndexBuilding { indexed, of, seconds } = refused else {
        panic!("{refused:?}")
    };
    assert!(indexed < of && of > CHANGES && (1..=300).contains(&seconds), "{refused:?}");
    assert_eq!(store.find(FILES, &shown).await, Some(shown), "other reads continue");
    assert!(store.store.readiness().check().await.is_ok(), "the service is ready");
}
