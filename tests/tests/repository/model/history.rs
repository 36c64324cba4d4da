//! A random history: steps that write to a store and to the model, and compare the two.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use application::{
    ChangeLog, History as HistoryPort, ItemContent, ItemRepository, LoggedChange, ReadDependency,
    Revision, Scope, Sequence, SupersededVersion,
};
use domain::{Collection, ItemId};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp, Unit};
use storage_adapter::Store;
use tests::stores::TestDatabase;

use super::random_page::{Bookmark, RandomPage};
use super::random_write::{self, RandomWrites};
use super::state::Model;
use super::write::{Change, Write, Written};
use crate::store::connect;

const COMPARED_AFTER: u64 = 40;

/// Things of the past that are kept, to be used again.
const KEPT: usize = 16;

pub struct Instance {
    pub store: Store,
    pub items: Arc<dyn ItemRepository>,
    pub history: Arc<dyn HistoryPort>,
    pub changes: Arc<dyn ChangeLog>,
}

impl Instance {
    pub async fn open(database: &TestDatabase) -> Self {
        let store = connect(database).await;
        store.migrate().await.unwrap();
        let (items, history, changes) = (store.items(), store.history(), store.change_log());
        Self { store, items, history, changes }
    }
}

/// The time of this machine, as precise as the store's.
#[expect(clippy::disallowed_methods, reason = "a test has no other clock")]
pub fn now() -> Timestamp {
    Timestamp::now().round(Unit::Microsecond).unwrap()
}

/// A collection or a parent's part of it, with the collections whose writes count in its revision.
type RevisionKey = (Scope, Vec<Collection>);

/// A history in progress. Every step has its own random numbers, so a history without some of its
/// steps is a history, too.
pub struct History<'a> {
    database: &'a TestDatabase,
    /// More than one where a database can have many.
    instances: Vec<Instance>,
    pub model: Model,
    pub random: Rng,
    number: u64,
    stale: Vec<ReadDependency>,
    pub pages: Vec<RandomPage>,
    pub bookmarks: Vec<Bookmark>,
    /// Contents of earlier selections, which later writes do not change.
    pub selections: Vec<(Scope, Vec<ItemContent>)>,
    /// Each with the number of writes at which it was seen.
    revisions: HashMap<RevisionKey, (u64, Revision)>,
    /// The latest time whose state was read: writes come later.
    pub closed: Timestamp,
    trace: Arc<Mutex<Vec<String>>>,
}

impl<'a> History<'a> {
    pub async fn begin(database: &'a TestDatabase, trace: Arc<Mutex<Vec<String>>>) -> Self {
        let mut instances = Vec::new();
        for _ in 0..if database.is_sqlite() { 1 } else { 2 } {
            instances.push(Instance::open(database).await);
        }
        Self { trace, ..Self::of(database, instances, Model::default()) }
    }

    pub fn of(database: &'a TestDatabase, instances: Vec<Instance>, model: Model) -> Self {
        Self {
            database,
            instances,
            model,
            random: Rng::with_seed(0),
            number: 0,
            stale: Vec::new(),
            pages: Vec::new(),
            bookmarks: Vec::new(),
            selections: Vec::new(),
            revisions: HashMap::new(),
            closed: Timestamp::UNIX_EPOCH,
            trace: Arc::default(),
        }
    }

    pub async fn step(&mut self, seed: u64, number: u64) {
        self.random = Rng::with_seed(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        self.number = number;
        match self.random.u8(..200) {
            0 => self.open_again().await,
            1..4 => self.forget_requests().await,
            4..10 => self.remove_bodies().await,
            _ => self.write().await,
        }
        for _ in 0..self.random.usize(1..4) {
            self.compare_something().await;
        }
        if number.is_multiple_of(COMPARED_AFTER) {
            self.compare_everything().await;
        }
    }

    /// Compares what the history has led to, also after all was closed.
    pub async fn end(&mut self) {
        self.compare_everything().await;
        self.compare_each_item().await;
        self.open_again().await;
        self.compare_everything().await;
        self.compare_each_item().await;
        for instance in self.instances.drain(..) {
            instance.store.close().await;
        }
    }

    pub fn note(&self, line: String) {
        self.trace.lock().unwrap().push(line);
    }

    async fn open_again(&mut self) {
        self.note(format!("{} opens the store again", self.number));
        for instance in self.instances.drain(..) {
            instance.store.close().await;
        }
        if self.database.is_sqlite() {
            // It is not kept in the file: the clock of the next process is later.
            self.closed = self.model.last_time();
        }
        for _ in 0..if self.database.is_sqlite() { 1 } else { 2 } {
            self.instances.push(Instance::open(self.database).await);
        }
    }

    async fn forget_requests(&mut self) {
        self.note(format!("{} forgets requests", self.number));
        let now = now();
        self.instance().store.forget_requests(now).await.unwrap();
        self.model.answers.retain(|_, (expires, _)| *expires > now);
    }

    /// Removes half of the bodies that were superseded before some time.
    async fn remove_bodies(&mut self) {
        self.note(format!("{} removes bodies", self.number));
        let some = self.random.choice(&self.model.log).filter(|_| self.random.bool());
        let before = some.map_or(Timestamp::MAX, |change| change.time);
        self.instance().store.wait_until_indexed().await.unwrap();
        let bodies = self.instance().store.version_bodies();
        let mut found = bodies.superseded(Sequence(0), before, 10_000).await.unwrap().versions;
        for SupersededVersion { change, bytes, .. } in &found {
            let length = self.model.length_of_body(*change);
            assert!(
                (1..=length + 50).contains(bytes),
                "{bytes} bytes store {length} of {change:?}"
            );
        }
        let without_size = |version: &SupersededVersion| SupersededVersion { bytes: 0, ..*version };
        assert_eq!(
            found.iter().map(without_size).collect::<Vec<_>>(),
            self.model.superseded(before)
        );
        self.random.shuffle(&mut found);
        found.truncate(found.len().div_ceil(2));
        // The body that an item is at is not removed.
        let current = self.model.records().map(|(_, record)| record.sequence());
        let unknown = [Sequence(-1), Sequence(i64::MAX)];
        let all = found.iter().map(|version| version.change).chain(current).chain(unknown);
        let (all, time): (Vec<_>, _) = (all.collect(), now());
        assert_eq!(bodies.remove(&all, time).await, Ok(found.len() as u64));
        // Removed bodies keep the time of their removal.
        assert_eq!(bodies.remove(&all, now()).await, Ok(0));
        assert_eq!(bodies.remove(&[], now()).await, Ok(0));
        for version in &found {
            self.model.remove_body(version, time);
        }
        self.selections.clear();
    }

    pub fn instance(&mut self) -> &Instance {
        let number = self.random.usize(..self.instances.len());
        &self.instances[number]
    }

    pub fn items(&mut self) -> Arc<dyn ItemRepository> {
        Arc::clone(&self.instance().items)
    }

    pub fn history(&mut self) -> Arc<dyn HistoryPort> {
        Arc::clone(&self.instance().history)
    }

    pub fn changes(&mut self) -> Arc<dyn ChangeLog> {
        Arc::clone(&self.instance().changes)
    }

    /// Random writes and their parts, to what the model holds now.
    pub fn choices(&mut self) -> RandomWrites<'_> {
        RandomWrites {
            random: &mut self.random,
            model: &mut self.model,
            number: self.number,
            now: now(),
            stale: &self.stale,
        }
    }

    async fn write(&mut self) {
        let write = self.choices().write();
        let mut line = format!("{} {write:?}", self.number);
        line.truncate(line.floor_char_boundary(900));
        self.note(line);
        let refusals = self.model.refusals(&write);
        let answer = write.clone().run(&*self.items()).await;
        self.note(format!("{}   {:?}", self.number, answer.as_ref().err()));
        let after = self.model.last_sequence();
        let page = self.changes().changes(after, None, 10_000).await.unwrap();
        match answer {
            Err(error) => {
                assert!(refusals.contains(&error), "{error:?} where it is {refusals:?}: {write:?}");
                assert_eq!(page.changes, [], "what is refused is not logged");
            }
            Ok(written) => {
                assert_eq!(refusals, [], "this is refused: {write:?}");
                self.written(&write, &page.changes);
                self.compare_answer(&write, written).await;
            }
        }
        let used = write.metadata.read_set;
        self.stale.extend(used);
        let old = self.stale.len().saturating_sub(KEPT);
        self.stale.drain(..old);
    }

    /// The log shows what the model makes of a write, and nothing else.
    fn written(&mut self, write: &Write, changes: &[LoggedChange]) {
        let mut effects = self.model.effects(write);
        let before = self.model.last_time().max(self.closed);
        for change in changes {
            let logged = effects.iter().position(|effect| effect.is(change));
            let index = logged.unwrap_or_else(|| panic!("{change:?} is not of {write:?}"));
            let effect = effects.swap_remove(index);
            assert!(change.sequence > self.model.last_sequence(), "{change:?} is in order");
            assert!(change.time > before, "{change:?} is after {before}");
            let is_of_many = matches!(write.change, Change::WriteAll(..));
            assert!(is_of_many || change.time == changes[0].time, "a write has one time");
            self.model.apply(&effect, change);
        }
        assert!(effects.is_empty(), "not logged: {effects:?}");
    }

    async fn compare_answer(&mut self, write: &Write, written: Written) {
        match (&write.change, written) {
            (Change::ReplaceAll(collection, _), Written::Collection(written)) => {
                assert!(self.model.ids(Scope::of(*collection)).iter().all(|id| {
                    let item = self.model.find(Scope::of(*collection), *id);
                    item.is_some_and(|item| item.updated_at == written.time)
                }));
                let referenced: Vec<_> = collection.referenced().collect();
                self.observe(Scope::of(*collection), &referenced, written.revision);
                self.compare_totals(Scope::of(*collection), &referenced).await;
            }
            (Change::Delete(..), Written::Nothing) => {}
            (_, written) => {
                for Write { change, metadata } in write.parts() {
                    let (scope, id) = change.target();
                    let expected = self.model.shown(scope, id).expect("it was written");
                    if let Written::Item(shown) = &written {
                        assert_eq!(**shown, expected, "the answer to {write:?}");
                    }
                    let kind = self.model.version(scope, id, expected.item.version).unwrap();
                    self.model.remember(&metadata, kind.change.kind, &expected);
                }
            }
        }
    }

    /// A revision grows with the writes that it counts, and stays while there are none.
    pub fn observe(&mut self, scope: Scope, related: &[Collection], revision: Revision) {
        let mut key = related.to_vec();
        key.sort_by_key(|collection| collection.index());
        let writes = self.model.writes(scope, related);
        let seen = self.revisions.insert((scope, key), (writes, revision));
        if let Some((before, old)) = seen {
            let is_right = if before == writes { revision == old } else { revision.0 > old.0 };
            assert!(
                is_right,
                "{scope:?} with {related:?}: {old:?} after {before} writes, {revision:?} after {writes}"
            );
        }
        if scope.parent.is_none() && scope.collection.referenced().eq(related.iter().copied()) {
            self.model.revisions.insert((scope.collection, revision.0), writes);
        }
    }

    pub fn past_time(&mut self) -> Timestamp {
        let last = self.model.last_time();
        let microsecond = SignedDuration::from_micros(1);
        let Some(change) = self.random.choice(&self.model.log) else { return now() };
        let time = match self.random.u8(..8) {
            0 => now().max(last),
            1 => last,
            2 => change.time - microsecond,
            3 => (change.time + microsecond).min(last),
            _ => change.time,
        };
        self.closed = self.closed.max(time);
        time
    }

    pub fn scope(&mut self) -> Scope {
        let collection = random_write::collection(&mut self.random);
        let parents = Collection::known("proposals");
        let is_owned = collection.parent().is_some() && self.random.bool();
        let is_odd = self.random.u8(..20) == 0;
        let parent = (is_owned || is_odd).then(|| self.choices().id_of(parents));
        Scope { collection, parent }
    }

    pub fn keep(&mut self, page: RandomPage) {
        self.pages.truncate(KEPT);
        self.pages.insert(0, page);
    }

    pub fn keep_place(&mut self, bookmark: Bookmark) {
        self.bookmarks.truncate(KEPT);
        self.bookmarks.insert(0, bookmark);
    }

    /// An item of any collection, and a scope to look for it in.
    pub fn some_item(&mut self) -> (Scope, ItemId) {
        let collection = random_write::collection(&mut self.random);
        let mut choices = self.choices();
        let id = choices.some_id(collection);
        (choices.scope_of(collection, id), id)
    }
}
