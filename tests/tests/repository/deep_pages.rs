//! Pages in the middle of large collections: they are walked to from marks, and must be what they
//! would be if every item before them was counted.

use application::NewItem;
use application::query::{PageQuery, PageStart, SortKey, Subject};
use domain::{ItemId, Version};
use fastrand::Rng;

use crate::store::{NOW, STATUS, TestStore, at, everything, new_item, next_id, reach};

on_both_stores! {
    pages_in_the_middle_are_exact_after_inserts_and_deletions
    marks_that_do_not_fit_are_discarded
    pages_in_the_middle_are_exact_during_writes
}

/// More than twice as many as are counted without a mark.
const ITEMS: usize = 24_000;

const LIMIT: usize = 7;

/// The identifiers of the items, in their order. The store's process has read none of them.
async fn filled(store: &TestStore) -> Vec<ItemId> {
    let items: Vec<NewItem> = (0..ITEMS).map(|_| new_item("{}")).collect();
    let mut ids: Vec<_> = items.iter().map(|item| item.id).collect();
    ids.sort_unstable();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        store.insert_all(STATUS, items.by_ref().take(2_000)).await;
    }
    ids
}

async fn page(store: &TestStore, offset: usize, descending: bool) -> Vec<ItemId> {
    let order =
        if descending { vec![SortKey { subject: Subject::Id, descending }] } else { Vec::new() };
    let position = PageStart::Offset(offset as u64);
    let query = PageQuery { position, order, limit: LIMIT as u64, ..everything(STATUS) };
    let page = store.select(STATUS, &query).await;
    page.items.iter().map(|listed| listed.shown.item.id).collect()
}

fn expected(ids: &[ItemId], offset: usize, descending: bool) -> Vec<ItemId> {
    let place =
        |place: usize| if descending { ids.len().checked_sub(place + 1) } else { Some(place) };
    (offset..offset + LIMIT).filter_map(|at| ids.get(place(at)?).copied()).collect()
}

async fn compare(store: &TestStore, ids: &[ItemId]) {
    for offset in [9_999, 10_001, 11_000, 11_002, 12_345, ids.len() - 10_001, ids.len() - 10_000] {
        for descending in [false, true] {
            let found = page(store, offset, descending).await;
            assert!(found == expected(ids, offset, descending), "{offset} {descending}");
        }
    }
}

async fn pages_in_the_middle_are_exact_after_inserts_and_deletions(store: &TestStore) {
    let mut ids = filled(store).await;
    compare(store, &ids).await;
    let mut random = Rng::with_seed(1);
    for _ in 0..3 {
        // Some go, some of these come back, new ones come: at the end and in the middle.
        for _ in 0..40 {
            let place = random.usize(..ids.len());
            let id = ids[place];
            store.items.delete(STATUS, id, Version::FIRST, at(NOW)).await.unwrap();
            if random.bool() {
                let again = NewItem { id, ..new_item("{}") };
                store.items.restore(STATUS, again, at(NOW)).await.unwrap();
                let shown = store.items.find(&reach(STATUS), id).await.unwrap().unwrap();
                store.update(STATUS, &shown, "{}").await.unwrap();
                // Not to be removed again in its first version.
                ids.remove(place);
                store.items.delete(STATUS, id, shown.item.version.next(), at(NOW)).await.unwrap();
            } else {
                ids.remove(place);
            }
        }
        let middle = ids[random.usize(..ids.len())].uuid().as_u128() + 1;
        let middle =
            NewItem { id: ItemId::from_uuid(uuid::Uuid::from_u128(middle)), ..new_item("{}") };
        let more: Vec<_> = (0..1_500).map(|_| new_item("{}")).chain([middle]).collect();
        ids.extend(more.iter().map(|item| item.id));
        ids.sort_unstable();
        store.insert_all(STATUS, more).await;
        compare(store, &ids).await;
    }
}

/// As after a manual repair that is not in the log.
async fn marks_that_do_not_fit_are_discarded(store: &TestStore) {
    let mut ids = filled(store).await;
    compare(store, &ids).await;
    let gone = ids.remove(100);
    let quoted = gone.uuid().simple();
    let id =
        if store.database.is_sqlite() { format!("x'{quoted}'") } else { format!("'{quoted}'") };
    let _ = store.database.query(&format!("DELETE FROM items WHERE id = {id}"));
    let _ = store.database.query(
        "UPDATE totals SET items = items - 1, writes = writes + 1 WHERE collection = 'status' AND lane = (SELECT MIN(lane) FROM totals WHERE collection = 'status')",
    );
    // After its own write, the process discards the pages in memory.
    let last = new_item("{}");
    ids.push(last.id);
    store.insert_all(STATUS, [last]).await;
    compare(store, &ids).await;
}

/// Nothing is removed or added before the pages, so they stay what they are.
async fn pages_in_the_middle_are_exact_during_writes(store: &TestStore) {
    const WRITES: usize = 3_000;
    let ids = filled(store).await;
    let items = std::sync::Arc::clone(&store.items);
    let last = ids[ids.len() - 1];
    let writing = tokio::spawn(async move {
        for _ in 0..WRITES {
            let item = NewItem { id: next_id(), ..new_item("{}") };
            assert!(item.id > last);
            items.insert(STATUS, item, at(NOW)).await.unwrap();
        }
    });
    let mut random = Rng::with_seed(2);
    while !writing.is_finished() {
        let offset = random.usize(10_000..ids.len() - 10_000);
        assert!(page(store, offset, false).await == expected(&ids, offset, false), "{offset}");
    }
    writing.await.unwrap();
}
