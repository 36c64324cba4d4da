//! Many tasks that write and read at once: the order of the change log explains every answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use application::{
    IdempotencyKey, ItemRepository, NewItem, ReadDependency, Replacement, Scope, WriteMetadata,
};
use domain::{Collection, Found, Item, ItemId, Lookup, LookupKey, Version, WriteOperation};
use fastrand::Rng;
use jiff::SignedDuration;
use tests::callers::warrant_of;
use tests::number;
use tests::random_query::one;
use tests::stores::TestDatabase;
use tokio::task::JoinSet;

use super::body::Body;
use super::history::{History, Instance, now};
use super::replay::{Event, Operation, Replay};
use super::write::{Change, Write, Written};
use crate::store::{content, next_id, reach, whole_log};

on_both_stores! {
    ; postgres_alone:
    concurrent_writes_are_as_their_log_says_on_postgresql
}

const TASKS: u64 = 12;

const OPERATIONS: u64 = 600;

const LONGEST: u64 = 1_200;

/// Items of a collection, more or less: few, so that tasks meet.
const ITEMS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_are_as_their_log_says_on_sqlite() {
    many_rounds(TestDatabase::sqlite).await;
}

async fn concurrent_writes_are_as_their_log_says_on_postgresql() {
    many_rounds(TestDatabase::postgres).await;
}

async fn many_rounds(database: fn() -> TestDatabase) {
    let all = number("TEST_MODEL_OPERATIONS", OPERATIONS);
    let mut done = 0;
    while done < all {
        let operations = LONGEST.min(all - done);
        round(&tokio::task::block_in_place(database), operations / TASKS).await;
        done += operations;
        println!("{done} of {all} operations are done");
    }
}

async fn round(database: &TestDatabase, operations: u64) {
    let mut instances = Vec::new();
    for _ in 0..if database.is_sqlite() { 1 } else { 2 } {
        instances.push(Instance::open(database).await);
    }
    let shared = Arc::new(Shared::default());
    let mut tasks = JoinSet::new();
    for index in 0..TASKS {
        let instance = &instances[usize::try_from(index).unwrap() % instances.len()];
        let items = Arc::clone(&instance.items);
        let task =
            Task { shared: Arc::clone(&shared), items, random: Rng::new(), bodies: Vec::new() };
        tasks.spawn(task.run(operations));
    }
    let mut replay = Replay::default();
    for (events, bodies) in tasks.join_all().await {
        replay.events.extend(events);
        let by_encoded = |body: Body| (Arc::clone(&body.encoded), Arc::new(body));
        replay.model.bodies.extend(bodies.into_iter().map(by_encoded));
    }
    let log = whole_log(&*instances[0].changes).await;
    let model = replay.explain(&log);
    History::of(database, instances, model).end().await;
}

/// The tasks' knowledge of what is there, which may be late.
#[derive(Default)]
struct Shared {
    /// Grows with every beginning and end of an operation.
    clock: AtomicU64,
    known: Mutex<BTreeMap<ItemId, Known>>,
}

/// An item as it was when somebody last heard of it.
#[derive(Clone, Copy)]
struct Known {
    id: ItemId,
    collection: Collection,
    parent: Option<ItemId>,
    continues: Option<ItemId>,
    version: Version,
    exists: bool,
}

struct Task {
    shared: Arc<Shared>,
    items: Arc<dyn ItemRepository>,
    random: Rng,
    bodies: Vec<Body>,
}

impl Task {
    async fn run(mut self, operations: u64) -> (Vec<Event>, Vec<Body>) {
        let mut events = Vec::new();
        for _ in 0..operations {
            events.push(if self.random.u8(..4) == 0 {
                self.read().await
            } else {
                self.write().await
            });
        }
        (events, self.bodies)
    }

    fn tick(&self) -> u64 {
        self.shared.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn some(&mut self, collection: Collection, exists: bool) -> Option<Known> {
        let known = self.shared.known.lock().unwrap();
        let all = known.values();
        let some = all.filter(|known| known.collection == collection && known.exists == exists);
        self.random.choice(some.copied().collect::<Vec<_>>())
    }

    fn collection(&mut self) -> Collection {
        let names =
            ["proposals", "proposals", "lib", "lib", "cashprogram", "cashprogram", "status"];
        Collection::known(one(&mut self.random, &names))
    }

    async fn read(&mut self) -> Event {
        let collection = self.collection();
        let id = self.some(collection, true).map_or_else(next_id, |known| known.id);
        let scope = Scope::of(collection);
        let begun = self.tick();
        let found = self.items.find(&reach(scope), id).await.unwrap().map(|shown| shown.item);
        let ended = self.tick();
        Event { begun, ended, operation: Operation::Find(scope, id, found) }
    }

    async fn write(&mut self) -> Event {
        let change = self.change();
        let metadata = self.metadata(&change).await;
        let write = Write { change, metadata };
        let begun = self.tick();
        let answer = write.clone().run(&*self.items).await;
        let ended = self.tick();
        if let Ok(written) = &answer {
            self.learn(&write, written);
        }
        Event { begun, ended, operation: Operation::Write(Box::new(write), answer) }
    }

    fn learn(&self, write: &Write, written: &Written) {
        let mut known = self.shared.known.lock().unwrap();
        match (&write.change, written) {
            (Change::Delete(_, id, _), _) => {
                known.entry(*id).and_modify(|known| {
                    known.exists = false;
                });
            }
            (Change::ReplaceAll(collection, content), _) => {
                known.retain(|_, known| known.collection != *collection);
                for NewItem { id, continues, .. } in &content.additions {
                    let (id, collection, continues) = (*id, *collection, *continues);
                    let (parent, version, exists) = (None, Version::FIRST, true);
                    known.insert(id, Known { id, collection, parent, continues, version, exists });
                }
            }
            (
                Change::Insert(scope, _) | Change::Restore(scope, _) | Change::Update(scope, ..),
                Written::Item(shown),
            ) => {
                let Item { id, parent, continues, version, .. } = shown.item;
                let collection = scope.collection;
                let now = Known { id, collection, parent, continues, version, exists: true };
                let known = known.entry(id).or_insert(now);
                if known.version < version {
                    *known = now;
                }
            }
            _ => {}
        }
    }

    fn body(&mut self, collection: Collection) -> (Arc<str>, Vec<Option<ItemId>>) {
        let proposal = self.some(Collection::known("proposals"), true);
        let target = proposal.map_or_else(next_id, |known| known.id);
        let body = Body::random(&mut self.random, collection, &[target]);
        let encoded = Arc::clone(&body.encoded);
        self.bodies.push(body);
        let references = collection.references_in(&encoded);
        (encoded, references)
    }

    fn new_item(&mut self, collection: Collection) -> NewItem {
        let continues = collection.spec().can_continue && self.random.bool();
        let continues = continues.then(|| self.some(collection, true)).flatten();
        let (members, references) = self.body(collection);
        NewItem { id: next_id(), members, continues: continues.map(|known| known.id), references }
    }

    fn change(&mut self) -> Change {
        let collection = self.collection();
        let scope = Scope::of(collection);
        let count = {
            let known = self.shared.known.lock().unwrap();
            known.values().filter(|known| known.collection == collection && known.exists).count()
        };
        let is_full = self.random.usize(..ITEMS * 2) < count;
        let item = self.some(collection, true);
        match (self.random.u8(..100), item) {
            (0..8, _) => {
                let removed = self.some(collection, false);
                match removed {
                    Some(removed) => self.restore(removed),
                    None => self.insert(collection),
                }
            }
            (8..12, _) if collection.name() == "cashprogram" => self.replace_all(collection),
            (12..70, Some(item)) => {
                let (members, references) = self.body(collection);
                let (id, expected) = (item.id, item.version);
                let replacement = Replacement { id, expected, members, references };
                Change::Update(scope, replacement, WriteOperation::Patch)
            }
            (_, Some(item)) if is_full => Change::Delete(scope, item.id, item.version),
            _ => self.insert(collection),
        }
    }

    fn insert(&mut self, collection: Collection) -> Change {
        let proposals = collection.parent();
        let parent = proposals.and_then(|proposals| self.some(proposals, true));
        let scope = Scope { collection, parent: parent.map(|known| known.id) };
        Change::Insert(scope, self.new_item(collection))
    }

    fn restore(&mut self, removed: Known) -> Change {
        let Known { id, collection, parent, continues, .. } = removed;
        let (members, references) = self.body(collection);
        let item = NewItem { id, members, continues, references };
        Change::Restore(Scope { collection, parent }, item)
    }

    fn replace_all(&mut self, collection: Collection) -> Change {
        let additions = (0..self.random.usize(..4)).map(|_| self.new_item(collection)).collect();
        let mut replacements = Vec::new();
        if let Some(Known { id, version, .. }) = self.some(collection, true) {
            let (members, references) = self.body(collection);
            replacements.push(Replacement { id, expected: version, members, references });
        }
        Change::ReplaceAll(collection, content(replacements, additions))
    }

    async fn metadata(&mut self, change: &Change) -> WriteMetadata {
        let mut metadata = WriteMetadata::under(warrant_of(None), now());
        let is_keyed = matches!(change, Change::Insert(..)) && self.random.u8(..6) == 0;
        if is_keyed {
            let key = self.random.u8(..20).to_string();
            let (path, fingerprint) = ("/v1/any".to_owned(), String::new());
            metadata.key = Some(IdempotencyKey { path, key, fingerprint });
            metadata.key_expires = metadata.time + SignedDuration::from_hours(1);
        }
        if self.random.u8(..5) == 0 {
            metadata.read_set.push(self.dependency(change).await);
        }
        metadata
    }

    /// A look at what others write meanwhile.
    async fn dependency(&mut self, change: &Change) -> ReadDependency {
        let collection = self.collection();
        let member =
            |name: &str, value: &str| LookupKey::Member { name: name.into(), value: value.into() };
        let some = self.some(collection, true).map_or_else(next_id, |known| known.id);
        let key = match (self.random.u8(..3), collection.name()) {
            (0, _) => LookupKey::Id(some),
            (_, "lib") => {
                let parent = self.some(Collection::known("proposals"), true);
                LookupKey::Parent(parent.map_or_else(next_id, |known| known.id))
            }
            (_, "status") => member("subject", "7"),
            (1, "proposals") => member("research_type", "Basic"),
            _ => member("x", "a"),
        };
        let without = match change {
            Change::Update(_, Replacement { id, .. }, _) | Change::Delete(_, id, _) => *id,
            _ => next_id(),
        };
        let lookup = Lookup { collection, key, without };
        let Found::Items(found) = self.items.look_up(&lookup).await.unwrap() else {
            panic!("too much was found by {lookup:?}");
        };
        ReadDependency {
            lookup,
            found: found.into_iter().map(|item| (item.id, item.version)).collect(),
        }
    }
}
