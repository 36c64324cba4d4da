//! Followers of the change log during writes on three instances, where about one transaction in ten
//! is rolled back: each follower receives every change once and in order.
//!
//! `TEST_FEED_CHANGES` says how many changes are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use application::{
    ChangeLog, ItemRepository, NewItem, ReadDependency, Sequence, ShownItem, WriteMetadata,
};
use domain::{Collection, Lookup, LookupKey, Version, WriteOperation};
use fastrand::Rng;
use storage_adapter::Store;
use tests::callers::warrant_of;
use tests::event_stream::EventStream;
use tests::stores::TestDatabase;
use tests::{Service, number};
use tokio::task::JoinSet;

use crate::model::now;
use crate::store::{all, connect, new_item, next_id, replacement, whole_log};

on_both_stores! {
    ; postgres_alone:
    followers_of_three_instances_receive_every_change_once_and_in_order
}

const INSTANCES: usize = 3;

const WRITERS: usize = 24;

const CHANGES: u64 = 4_000;

/// Between two statements that are cancelled.
const PAUSE: Duration = Duration::from_millis(40);

const FILES: Collection = Collection::known("files");

async fn followers_of_three_instances_receive_every_change_once_and_in_order() {
    let database = Arc::new(tokio::task::block_in_place(TestDatabase::postgres));
    let services: Vec<_> = tokio::task::block_in_place(|| {
        (0..INSTANCES).map(|_| Service::start_on(&database)).collect()
    });
    let mut stores = Vec::new();
    for _ in 0..INSTANCES {
        stores.push(connect(&database).await);
    }
    let last = new_item("{}");
    let sentinel = last.id.to_string();
    let streams: Vec<_> = services
        .iter()
        .map(|service| {
            let (address, sentinel) = (service.address(), sentinel.clone());
            let stream = open(address, "");
            thread::spawn(move || follow_stream(stream, address, &sentinel))
        })
        .collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let followers = followers(&stores, &is_over);
    let cancelled = cancel_at_random(&database, &is_over);
    write(&stores).await;
    is_over.store(true, Ordering::SeqCst);
    cancelled.join().expect("no panic");
    stores[0].items().insert(all(FILES), last, metadata()).await.unwrap();
    let log = whole_log(&*stores[0].change_log()).await;
    assert!(log.is_sorted_by(|before, after| before.sequence < after.sequence));
    for (collection, received) in followers.join_all().await {
        let expected =
            log.iter().filter(|change| collection.is_none_or(|own| change.collection == own));
        let expected: Vec<_> = expected.map(|change| change.sequence).collect();
        assert!(received == expected, "{}", difference(&received, &expected));
    }
    let expected: Vec<_> =
        log.iter().map(|change| (change.item.to_string(), change.version.number())).collect();
    for stream in streams {
        let received =
            tokio::task::block_in_place(|| stream.join()).expect("a stream that continues");
        assert!(received == expected, "{}", difference(&received, &expected));
    }
}

fn metadata() -> WriteMetadata {
    WriteMetadata::under(warrant_of(None), now())
}

/// The place at which two lists begin to differ.
fn difference<T: PartialEq + std::fmt::Debug>(received: &[T], expected: &[T]) -> String {
    let place = received.iter().zip(expected).position(|(received, expected)| received != expected);
    let place = place.unwrap_or(received.len().min(expected.len()));
    let around = |list: &[T]| {
        format!("{:?}", &list[place.saturating_sub(3).min(list.len())..(place + 3).min(list.len())])
    };
    format!(
        "{} received and {} expected; from {place} on received {} and expected {}",
        received.len(),
        expected.len(),
        around(received),
        around(expected)
    )
}

/// Two followers on each instance, of all collections and of one; each returns the collection and
/// the numbers that it received.
fn followers(
    stores: &[Store],
    is_over: &Arc<AtomicBool>,
) -> JoinSet<(Option<Collection>, Vec<Sequence>)> {
    let mut followers = JoinSet::new();
    for store in stores {
        for collection in [None, Some(FILES)] {
            let (changes, is_over) = (store.change_log(), Arc::clone(is_over));
            followers
                .spawn(async move { (collection, follow(&*changes, collection, &is_over).await) });
        }
    }
    followers
}

async fn follow(
    changes: &dyn ChangeLog,
    collection: Option<Collection>,
    is_over: &AtomicBool,
) -> Vec<Sequence> {
    let mut random = Rng::new();
    let (mut after, mut received) = (Sequence(0), Vec::new());
    loop {
        let was_over = is_over.load(Ordering::SeqCst);
        let limit = random.u64(1..500);
        // A statement may have been cancelled.
        let Ok(page) = changes.changes(after, collection, limit).await else { continue };
        received.extend(page.changes.iter().map(|change| change.sequence));
        let is_at_end = page.read_to == after;
        after = page.read_to;
        if is_at_end && was_over {
            // The last change comes when all writers have ended.
            if let Ok(last) = changes.last().await
                && last > after
            {
                continue;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            if changes.last().await.is_ok_and(|last| last <= after) {
                return received;
            }
        } else if is_at_end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A stream; a statement that it needs may be cancelled.
fn open(address: std::net::SocketAddr, headers: &str) -> EventStream {
    loop {
        if let Ok(stream) = EventStream::try_open(address, "", headers) {
            return stream;
        }
    }
}

/// The items and versions of a stream up to the sentinel, with connections that break.
fn follow_stream(
    mut stream: EventStream,
    address: std::net::SocketAddr,
    sentinel: &str,
) -> Vec<(String, i64)> {
    let mut random = Rng::new();
    let mut received = Vec::new();
    loop {
        let event = stream.event();
        let subject = event.data["subject"].as_str().expect("a subject");
        let item = subject.rsplit('/').next().expect("an id").to_owned();
        let version = event.data["data"]["version"].as_i64().expect("a version");
        let is_last = item == sentinel;
        received.push((item, version));
        if is_last {
            return received;
        }
        if random.u16(..1_000) == 0 {
            stream = open(address, &format!("Last-Event-ID: {}\r\n", event.id));
        }
    }
}

/// Cancels a statement of one of the instances now and then.
fn cancel_at_random(
    database: &Arc<TestDatabase>,
    is_over: &Arc<AtomicBool>,
) -> thread::JoinHandle<()> {
    let (database, is_over) = (Arc::clone(database), Arc::clone(is_over));
    let cancel = "SELECT CAST(pg_cancel_backend(pid) AS TEXT) FROM pg_stat_activity WHERE datname = current_database() \
                  AND state = 'active' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1";
    thread::spawn(move || {
        while !is_over.load(Ordering::SeqCst) {
            let _ = database.query(cancel);
            thread::sleep(PAUSE);
        }
    })
}

async fn write(stores: &[Store]) {
    let all = number("TEST_FEED_CHANGES", CHANGES);
    let written = Arc::new(AtomicU64::new(0));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let items = stores[writer % stores.len()].items();
        let written = Arc::clone(&written);
        writers.spawn(async move {
            let mut random = Rng::new();
            let mut own = None;
            while written.load(Ordering::Relaxed) < all {
                if random.u8(..9) == 0 {
                    spoilt(&items, &mut random, own.as_ref()).await;
                } else if sound(&items, &mut random, &mut own).await {
                    written.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    writers.join_all().await;
}

/// A write that is made unless its statement is cancelled. `own` is the writer's item.
async fn sound(
    items: &Arc<dyn ItemRepository>,
    random: &mut Rng,
    own: &mut Option<ShownItem>,
) -> bool {
    let other = if random.bool() { FILES } else { Collection::known("status") };
    match own.take() {
        Some(shown) if random.u8(..4) > 0 => {
            let (id, version) = (shown.item.id, shown.item.version);
            if random.u8(..5) == 0 {
                return items.delete(all(FILES), id, version, metadata()).await.is_ok();
            }
            let update = replacement(&shown, r#"{"n":1}"#);
            *own = items.update(all(FILES), update, WriteOperation::Replace, metadata()).await.ok();
            own.is_some()
        }
        _ => {
            let made = items.insert(all(other), new_item(r#"{"n":0}"#), metadata()).await.ok();
            let is_made = made.is_some();
            *own = made.filter(|_| other == FILES);
            is_made
        }
    }
}

/// A write that is rolled back: after what it was decided on has changed, or because its id is
/// taken.
async fn spoilt(items: &Arc<dyn ItemRepository>, random: &mut Rng, own: Option<&ShownItem>) {
    let Some(taken) = own else { return };
    let mut metadata = metadata();
    let id = if random.bool() {
        taken.item.id
    } else {
        let key = LookupKey::Id(taken.item.id);
        let lookup = Lookup { collection: FILES, key, without: next_id() };
        let found = vec![(taken.item.id, Version::from_number(1_000))];
        metadata.read_set.push(ReadDependency { lookup, found });
        next_id()
    };
    let item = NewItem { id, ..new_item("{}") };
    items.insert(all(FILES), item, metadata).await.unwrap_err();
}
