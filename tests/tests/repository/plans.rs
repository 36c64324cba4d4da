//! The plans of the statements that write to `PostgreSQL`. They are made once, on empty tables or on
//! tables that were never analysed, and must lead through the right indexes ever after: a write
//! reads a few rows, however many there are. Rows are counted, because that does not depend on how
//! busy the machine is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use application::query::{PageQuery, PageStart, SortKey, Subject};
use application::{
    DeletableItems, IdempotencyKey, NewItem, ReadDependency, Sequence, WriteMetadata,
};
use domain::predicate::Subject::CreatedBy;
use domain::predicate::{Literal, Operand};
use domain::proposal::FieldKind;
use domain::{Collection, ItemId, Predicate, WriteOperation};
use jiff::SignedDuration;
use tests::callers::warrant_of;
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use crate::lookups::{by_id, member};
use crate::model::now;
use crate::store::{
    TestStore, all, content, everything, lib_of, new_item, next_id, reach, replacement,
};

on_both_stores! {
    ; postgres_alone:
    plans_made_on_empty_or_never_analysed_tables_lead_through_the_indexes
    items_that_are_read_together_are_found_by_an_index
}

/// Items, changes and live keys that exist in addition to those that are written.
const ROWS: u64 = 100_000;

/// How often every kind of write is done: more often than a plan is made.
const TIMES: u64 = 20;

const READ_BY_A_WRITE: i64 = 60;

/// How long the server may take to add up what it counted.
const PATIENCE: Duration = Duration::from_mins(1);

const PROPOSALS: Collection = Collection::known("proposals");

const STATUS: Collection = Collection::known("status");

/// The rows that were read, by table and by index.
const BY_INDEX: &str = "SELECT CAST(relname AS TEXT), CAST(seq_tup_read AS TEXT) FROM pg_stat_user_tables WHERE seq_tup_read > 0 \
                        UNION ALL SELECT CAST(indexrelname AS TEXT), CAST(idx_tup_read AS TEXT) FROM pg_stat_user_indexes WHERE idx_tup_read > 0";

const NEVER_ANALYSED: &str = "ALTER TABLE items SET (autovacuum_enabled = false); ALTER TABLE changes SET (autovacuum_enabled = false); \
                              ALTER TABLE idempotency_keys SET (autovacuum_enabled = false)";

async fn plans_made_on_empty_or_never_analysed_tables_lead_through_the_indexes() {
    let reads_few_rows = async |are_empty: bool| {
        let database = TestDatabase::postgres();
        let _ = database.query(NO_SCANS);
        let store = TestStore::open(database).await;
        leave_unanalysed(&store);
        if are_empty {
            write_everything(&store).await;
        }
        fill(&store, ROWS);
        // After a write, the followers of the log read the rows that were filled in.
        store.insert(all(STATUS), "{}").await;
        store.store.wait_until_indexed().await.unwrap();
        let mut writes = 0;
        let read = read_by(&store, async || {
            writes = write_everything(&store).await;
            writes
        });
        let read = read.await;
        let by_index = store.database.query(BY_INDEX);
        assert!(read <= READ_BY_A_WRITE * writes, "empty: {are_empty}, {by_index:?}");
    };
    tokio::join!(reads_few_rows(true), reads_few_rows(false));
}

/// The first look-ups of keys plan on empty tables.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_pile_up_are_looked_up_by_an_index() {
    const CLIENTS: u64 = 32;
    const REQUESTS: u64 = 50;
    let store = TestStore::open(TestDatabase::postgres()).await;
    leave_unanalysed(&store);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let items = Arc::clone(&store.items);
        clients.spawn(async move {
            for _ in 0..REQUESTS {
                let metadata = with_key();
                assert_eq!(items.answered(&metadata).await.unwrap(), None);
                items.insert(all(STATUS), new_item("{}"), metadata.clone()).await.unwrap();
                assert!(items.answered(&metadata).await.unwrap().is_some());
            }
        });
    }
    clients.join_all().await;
    let writes = i64::try_from(CLIENTS * REQUESTS).unwrap();
    let read = counted(&store, writes).await.read;
    assert!(read <= READ_BY_A_WRITE * writes, "{:?}", store.database.query(BY_INDEX));
}

/// Where a scan of a small table costs little more than an index, the planner chose the scan.
async fn items_that_are_read_together_are_found_by_an_index() {
    const FEW_ROWS: u64 = 5_000;
    const TOGETHER: usize = 20;
    let store = TestStore::open(TestDatabase::postgres()).await;
    fill(&store, FEW_ROWS);
    let _ = store.database.query("ANALYZE");
    let ids = store.database.query("SELECT CAST(id AS TEXT) FROM items ORDER BY id LIMIT 20");
    let id =
        |row: &Vec<Option<String>>| ItemId::from_uuid(row[0].as_ref().unwrap().parse().unwrap());
    let ids: Vec<_> = ids.iter().map(id).collect();
    let read = read_by(&store, async || {
        for _ in 0..TIMES {
            let found = store.items.find_many(&reach(all(STATUS)), &ids).await;
            assert_eq!(found.unwrap().len(), TOGETHER);
        }
        0
    });
    let read = read.await;
    assert!(read <= READ_BY_A_WRITE * i64::try_from(TIMES).unwrap() * 20, "{read}");
}

/// A follower of a group that is seldom written, and a page in the middle of all items.
#[tokio::test(flavor = "multi_thread")]
async fn rare_changes_and_pages_in_the_middle_are_found_by_an_index() {
    /// Rows of a page's walk from its mark, and of the log since then.
    const READ_BY_A_PAGE: i64 = 5_000;
    const FILES: Collection = Collection::known("files");
    let store = TestStore::open(TestDatabase::postgres()).await;
    let rare = store.insert(all(FILES), "{}").await;
    fill(&store, ROWS);
    let _ = store.database.query(&format!(
        "INSERT INTO totals VALUES ('status', '{}', 0, {ROWS}, {ROWS})",
        uuid::Uuid::nil()
    ));
    let _ = store.database.query("VACUUM ANALYZE");
    // The marks are set by the first page.
    assert_eq!(store.page(all(STATUS), ROWS / 2, 25).await.items.len(), 25);
    let log = store.store.change_log();
    let pages = read_by(&store, async || {
        for turn in 1..=TIMES {
            let offset = 10_000 + turn * 4_000;
            assert_eq!(store.page(all(STATUS), offset, 25).await.items.len(), 25);
        }
        0
    });
    let pages = pages.await;
    assert!(pages <= READ_BY_A_PAGE * i64::try_from(TIMES).unwrap(), "{pages}");
    let changes = read_by(&store, async || {
        for _ in 0..TIMES {
            let page = log.changes(Sequence(0), Some(FILES), 25).await.unwrap();
            assert_eq!((page.changes.len(), page.changes[0].item), (1, rare.item.id));
        }
        0
    });
    let changes = changes.await;
    assert!(changes <= READ_BY_A_WRITE * i64::try_from(TIMES).unwrap(), "{changes}");
}

/// As many have no date as have one, which are those of a thousand days.
#[tokio::test(flavor = "multi_thread")]
async fn pages_sorted_by_an_indexed_member_are_walked_in_its_index() {
    const READ_BY_A_PAGE: i64 = 1_000;
    let store = TestStore::open(TestDatabase::postgres()).await;
    let filled = format!(
        "WITH l AS (INSERT INTO changes (collection, item_id, version, kind, time, members) \
         SELECT 'proposals', gen_random_uuid(), 1, 'created', n, CASE WHEN n % 2 = 0 THEN '{{}}'::json \
         ELSE json_build_object('start_date', to_char(date '2026-01-01' + n % 1000, 'YYYY-MM-DD')) END \
         FROM generate_series(1, {ROWS}) AS g (n) RETURNING item_id, sequence, time, members) \
         INSERT INTO items (id, collection, version, sequence, created_at, updated_at, key_4) \
         SELECT item_id, 'proposals', 1, sequence, time, time, members ->> 'start_date' FROM l"
    );
    let nil = uuid::Uuid::nil();
    for statement in [
        filled,
        format!("INSERT INTO totals VALUES ('proposals', '{nil}', 0, {ROWS}, {ROWS})"),
        "UPDATE search_progress SET sequence = (SELECT MAX(sequence) FROM changes)".into(),
        "VACUUM ANALYZE".into(),
    ] {
        let _ = store.database.query(&statement);
    }
    let subject = Subject::Member { name: "start_date".into(), kind: Some(FieldKind::Date) };
    let read = read_by(&store, async || {
        for descending in [false, true] {
            let order = vec![SortKey { subject: subject.clone(), descending }];
            let query = PageQuery { order, limit: 25, ..everything(all(PROPOSALS)) };
            let mut position = PageStart::Offset(0);
            for _ in 0..TIMES / 2 {
                let page =
                    store.select(all(PROPOSALS), &PageQuery { position, ..query.clone() }).await;
                assert_eq!((page.items.len(), page.has_more), (25, true));
                position = PageStart::After(page.last.clone().unwrap());
            }
        }
        0
    });
    let read = read.await;
    let by_index = store.database.query(BY_INDEX);
    assert!(read <= READ_BY_A_PAGE * i64::try_from(TIMES).unwrap(), "{read}: {by_index:?}");
}

/// Connections that read plan again when tables grow and were analysed, which these are not; they
/// scan none, so that what is left are scans of those that write.
const NO_SCANS: &str = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database()); END $$";

fn leave_unanalysed(store: &TestStore) {
    for statement in NEVER_ANALYSED.split(';') {
        let _ = store.database.query(statement);
    }
}

/// Adds rows that the search index is said to know.
pub fn fill(store: &TestStore, rows: u64) {
    let changes = format!(
        "WITH l AS (INSERT INTO changes (collection, item_id, version, kind, time, members) \
         SELECT 'status', gen_random_uuid(), 1, 'created', n, '{{\"subject\":\"s\"}}' FROM generate_series(1, {rows}) AS g (n) \
         RETURNING item_id, sequence, time) \
         INSERT INTO items (id, collection, version, sequence, created_at, updated_at, key_5) \
         SELECT item_id, 'status', 1, sequence, time, time, 's' || sequence FROM l"
    );
    let keys = format!(
        "INSERT INTO idempotency_keys (caller, path, key, fingerprint, expires_at, item_id, version, continued_by, remarks) \
         SELECT '', '/v1/status', 'filled-' || n, '', 9000000000000000000, gen_random_uuid(), 1, '', '' FROM generate_series(1, {rows}) AS g (n)"
    );
    for statement in [
        changes,
        keys,
        "UPDATE search_progress SET sequence = (SELECT MAX(sequence) FROM changes)".into(),
    ] {
        let _ = store.database.query(&statement);
    }
}

/// The rows that the server reads while `work` runs. `work` returns the number of changes that it inserts.
async fn read_by(store: &TestStore, work: impl AsyncFnOnce() -> i64) -> i64 {
    let before = counted(store, 0).await;
    let inserted = work().await;
    counted(store, before.inserted + inserted).await.read - before.read
}

struct Counted {
    read: i64,
    inserted: i64,
}

/// The counts, when at least that many rows have been inserted into `changes`.
async fn counted(store: &TestStore, inserted: i64) -> Counted {
    const READ: &str = "SELECT CAST(SUM(seq_tup_read) + (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes) AS TEXT), \
                        CAST(SUM(n_tup_ins) FILTER (WHERE relname = 'changes') AS TEXT) FROM pg_stat_user_tables";
    let deadline = Instant::now() + PATIENCE;
    loop {
        // A connection reports its statistics a second later, or after ten idle seconds.
        tokio::time::sleep(Duration::from_secs(11)).await;
        let row = store.database.query(READ).remove(0);
        let [read, found] = [0, 1].map(|column| row[column].as_ref().unwrap().parse().unwrap());
        if found >= inserted {
            return Counted { read, inserted: found };
        }
        assert!(Instant::now() < deadline, "{found} of {inserted} changes are counted");
    }
}

/// Returns the number of writes; each inserts one change.
async fn write_everything(store: &TestStore) -> i64 {
    let items = &store.items;
    let mut inserted = 0;
    for _ in 0..TIMES {
        let proposal = items.insert(all(PROPOSALS), new_item("{}"), metadata()).await.unwrap();
        let child = items.insert(lib_of(&proposal), new_item("{}"), metadata()).await.unwrap();
        let subject = format!(r#"{{"subject":"{}"}}"#, proposal.item.id);
        let known = items.insert(all(STATUS), new_item(&subject), with_key()).await.unwrap();
        let update = replacement(&child, r#"{"n":1}"#);
        let update = items.update(lib_of(&proposal), update, WriteOperation::Patch, metadata());
        update.await.unwrap();
        let mut metadata = metadata();
        let subject = proposal.item.id.to_string();
        for lookup in [by_id(STATUS, known.item.id), member(STATUS, "subject", &subject)] {
            let found = vec![(known.item.id, known.item.version)];
            metadata.read_set.push(ReadDependency { lookup, found });
        }
        let decided = items.insert(all(STATUS), new_item("{}"), metadata).await.unwrap();
        store.delete(all(STATUS), &decided).await.unwrap();
        let again = NewItem { id: decided.item.id, ..new_item("{}") };
        items.restore(all(STATUS), again, with_key()).await.unwrap();
        let creator = Operand::current(CreatedBy);
        let is_own = Predicate::equals(creator, Literal::String("ana".into()));
        let deletable = is_own.negated().into();
        let limit = DeletableItems { collection: Collection::known("lib"), deletable };
        let mut metadata = self::metadata();
        metadata.warrant = metadata.warrant.limited_to(vec![limit]);
        let (id, version) = (proposal.item.id, proposal.item.version);
        assert!(!items.has_undeletable(id, metadata.warrant.deletable()).await.unwrap());
        items.delete(all(PROPOSALS), id, version, metadata).await.unwrap();
        inserted += 9;
    }
    let cash = Collection::known("cashprogram");
    let additions = (0..TIMES).map(|_| new_item("{}")).collect();
    items.replace_all(cash, content(Vec::new(), additions), metadata()).await.unwrap();
    inserted + i64::try_from(TIMES).unwrap()
}

fn metadata() -> WriteMetadata {
    WriteMetadata::under(warrant_of(None), now())
}

fn with_key() -> WriteMetadata {
    let key = IdempotencyKey {
        path: "/v1/status".into(),
        key: next_id().to_string(),
        fingerprint: String::new(),
    };
    let expires = now() + SignedDuration::from_hours(1);
    WriteMetadata { key: Some(key), key_expires: expires, ..metadata() }
}
