//! The rows that `PostgreSQL` reads for a page and for a total of a reach.

use std::sync::Arc;
use std::time::Duration;

use application::query::PageQuery;
use domain::predicate::{Literal, Operand, Related, RelatedKey, RelatedValue, Subject};
use domain::{Collection, Predicate};
use tests::stores::TestDatabase;

use super::is_at;
use crate::store::{PROPOSALS, TestStore, everything, reach};

const VISIBLE: i64 = 385;
const PAGE_SIZE: u64 = 25;

/// Items of a group, one about each of 10,000 proposals. Every 26th of both is ana's. Of five, four have the code `approved`.
const FILL: [&str; 4] = [
    "INSERT INTO changes (collection, item_id, version, kind, time, members) \
     SELECT collection, gen_random_uuid(), 1, 'created', n, json_build_object( \
         'to_code', CASE WHEN n % 5 = 0 THEN 'rejected' ELSE 'approved' END, 'evaluator_id', CASE WHEN n % 26 = 0 THEN 'ana' ELSE 'ben' END) \
     FROM generate_series(0, 9999) AS g (n), (VALUES ('proposals'), ('{group}')) AS c (collection)",
    "INSERT INTO items (id, collection, version, sequence, created_at, updated_at, created_by, key_3, key_5) \
     SELECT l.item_id, l.collection, 1, l.sequence, l.time, l.time, l.members ->> 'evaluator_id', \
         CASE l.collection WHEN 'gadscores' THEN l.members ->> 'evaluator_id' END, \
         CASE l.collection WHEN '{group}' THEN CAST(p.item_id AS TEXT) END \
     FROM changes l JOIN changes p ON p.time = l.time AND p.collection = 'proposals'",
    "UPDATE search_progress SET sequence = (SELECT MAX(sequence) FROM changes)",
    "VACUUM ANALYZE",
];

pub async fn a_page_and_a_total_examine_few_rows() {
    let is_ana = |operand| Predicate::equals(operand, Literal::String("ana".into()));
    let assigned = Related {
        collection: Collection::known("gadscores"),
        key: RelatedKey::Member("proposal_id".into()),
        value: RelatedValue::Operand(Operand::current(Subject::Id)),
        latest: None,
        holds: is_ana(Operand::member("evaluator_id")),
    };
    let own = is_ana(Operand::current(Subject::CreatedBy));
    tokio::join!(
        examines("gadscores", own, VISIBLE, 3 * VISIBLE),
        examines("gadscores", Predicate::related(assigned), VISIBLE, 3 * VISIBLE),
        examines("status", is_at("approved"), 0, 3 * 10_000),
    );
}

/// A page examines at most four rows for each of its items and those of a set of ids. It has a random
/// order, in which one in five is not visible: 2.6 rows on average.
async fn examines(group: &str, predicate: Predicate, ids: i64, of_total: i64) {
    let store = TestStore::open(TestDatabase::postgres()).await;
    for statement in FILL {
        let _ = store.database.query(&statement.replace("{group}", group));
    }
    let reach = reach(PROPOSALS).only(Arc::new(predicate));
    let before = items_read(&store).await;
    let page = PageQuery { limit: PAGE_SIZE, is_counted: false, ..everything(PROPOSALS) };
    assert_eq!(store.items.page(&reach, &page).await.unwrap().items.len(), 25);
    let after_page = items_read(&store).await;
    store.items.totals(&reach, &[]).await.unwrap();
    let total = items_read(&store).await - after_page;
    // Those of the page are read again, and one more shows that others follow.
    let page = after_page - before - 26;
    println!("{reach:?}: {page} rows for a page, {total} for a total");
    assert!(page <= 4 * 25 + ids, "{page}");
    assert!(total <= of_total, "{total}");
}

/// The rows of `items` that the server has read.
async fn items_read(store: &TestStore) -> i64 {
    // A connection reports its statistics a second later, or after ten idle seconds.
    tokio::time::sleep(Duration::from_secs(11)).await;
    let read = "SELECT CAST(SUM(idx_tup_read) + (SELECT SUM(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'items') AS TEXT) \
                FROM pg_stat_user_indexes WHERE relname = 'items'";
    store.database.query(read)[0][0].as_ref().unwrap().parse().unwrap()
}
