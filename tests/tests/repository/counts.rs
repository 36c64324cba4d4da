//! `value_counts`: how many items have a value, as the index task keeps it.

use application::Scope;

use crate::store::{CASH, PROPOSALS, TestStore, reach};

on_both_stores! {
    ; every_server:
    values_count_by_their_first_characters
    sums_end_at_the_largest_number
}

/// The counts of a member, as `value items|…`.
async fn counts(store: &TestStore, scope: Scope, member: &str, limit: u64) -> String {
    store.store.wait_until_indexed().await.unwrap();
    let counts = store.items.value_counts(&reach(scope), member, limit).await.unwrap();
    let last = store.store.change_log().last().await.unwrap();
    assert_eq!(counts.up_to, last, "nothing is written meanwhile");
    assert_eq!(counts.time.is_some(), last.0 > 0);
    let counts = counts.counts.iter().map(|count| format!("{} {}", count.value, count.items));
    counts.collect::<Vec<_>>().join("|")
}

async fn values_count_by_their_first_characters(store: &TestStore) {
    for (start, kind) in [("2026-01-01", "1"), ("2026-12-31", "1.0"), ("2027-01-01", "[1]")] {
        let members = format!(r#"{{"start_date":"{start}","proposal_type":{kind}}}"#);
        store.insert(PROPOSALS, &members).await;
    }
    assert_eq!(counts(store, PROPOSALS, "start_date", 10).await, "2026 2|2027 1");
    assert_eq!(counts(store, PROPOSALS, "proposal_type", 10).await, "1 1|1.0 1");
    let long = format!(r#"{{"research_type":"{}"}}"#, "é".repeat(300));
    store.insert(PROPOSALS, &long).await;
    let expected = format!("{} 1", "é".repeat(200));
    assert_eq!(counts(store, PROPOSALS, "research_type", 10).await, expected);
}

async fn sums(store: &TestStore) -> String {
    counts(store, CASH, "amounts", 100).await
}

async fn sums_end_at_the_largest_number(store: &TestStore) {
    let largest = r#"{"year":2026,"jan_amount":1000000000}"#;
    store.insert(CASH, largest).await;
    assert_eq!(sums(store).await, "2026-01 100000000000");
    let near = i64::MAX - 1;
    let _ = store
        .database
        .query(&format!("UPDATE value_counts SET items = {near} WHERE member = 'amounts'"));
    for _ in 0..2 {
        store.insert(CASH, largest).await;
        assert_eq!(sums(store).await, format!("2026-01 {}", i64::MAX));
    }
}
