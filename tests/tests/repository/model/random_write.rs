//! Random writes. Most are possible, some must be refused.

use std::sync::Arc;

use application::{
    ChangeAuthor, CollectionContent, DeletableItems, IdempotencyKey, ItemChange, ItemChangeKind,
    NewItem, ReadDependency, Replacement, Revision, Scope, WriteMetadata,
};
use domain::predicate::{Literal, Operand, Subject, Test};
use domain::{Collection, ItemId, Lookup, LookupKey, Predicate, Version, WriteOperation};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use tests::callers::warrant_by;
use tests::random_query::one;

use super::body::{Body, ODD_NAME};
use super::state::{Model, Record};
use super::write::{Change, Write};

/// The collections of histories, the more often the more often they are written.
const COLLECTIONS: [&str; 9] = [
    "proposals",
    "proposals",
    "lib",
    "lib",
    "cashprogram",
    "cashprogram",
    "proposedprograms",
    "status",
    "files",
];

/// Texts to look up, and numbers as they are written.
const WRITTEN: &[&str] = &[
    "7", "a", "A", "7.0", "7e0", "07", "14.50", "14.5", "ab", "ñ", "true", "null", "", "[]", "-0.0",
];

const ODD_WRITTEN: &[&str] =
    &["100.10", "100.1", "123456789012345678901234567890", "-0", "Ñ ₱ 😀 é \"q\" \\"];

const REMARKS: &[&str] = &["", r#"[{"code":"late","message":"Año ' \" \\ {}"}]"#];

/// Collections with more items than this lose some.
const MANY: usize = 24;

/// Ids of items to which others may refer before they exist.
const PROMISED: u64 = 4;

pub struct RandomWrites<'a> {
    pub random: &'a mut Rng,
    pub model: &'a mut Model,
    /// The number of the step: ids grow with it, roughly.
    pub number: u64,
    pub now: Timestamp,
    pub stale: &'a [ReadDependency],
}

pub fn collection(random: &mut Rng) -> Collection {
    Collection::known(one(random, &COLLECTIONS))
}

/// An id of an item that others may refer to, whether or not it exists.
pub fn promised(collection: Collection, number: u64) -> ItemId {
    id_at(1_000 * number, &[u8::try_from(collection.index()).unwrap(); 10])
}

fn id_at(millisecond: u64, rest: &[u8; 10]) -> ItemId {
    let builder = uuid::Builder::from_unix_timestamp_millis(1_790_000_000_000 + millisecond, rest);
    ItemId::from_uuid(builder.into_uuid())
}

impl RandomWrites<'_> {
    pub fn write(&mut self) -> Write {
        let collection = collection(self.random);
        let is_crowded = self.model.ids(Scope::of(collection)).len() > MANY;
        let change = match self.random.u8(..100) {
            0..34 if !is_crowded => {
                let (scope, item) = self.insert(collection);
                Change::Insert(scope, item)
            }
            0..60 => {
                let (scope, replacement) = self.update(collection);
                let kinds = [WriteOperation::Replace, WriteOperation::Patch];
                Change::Update(scope, replacement, kinds[self.random.usize(..2)])
            }
            60..70 => self.delete(collection),
            70..74 => self.delete(Collection::known("proposals")),
            74..83 => self.restore(collection),
            83..92 => self.write_all(collection),
            _ => self.replace_all(),
        };
        let metadata = self.metadata(&change);
        Write { change, metadata }
    }

    fn one_in(&mut self, count: u8) -> bool {
        self.random.u8(..count) == 0
    }

    /// An id that no item has, mostly after all others.
    fn fresh_id(&mut self) -> ItemId {
        let millisecond = 10_000 + 10 * self.number + self.random.u64(..15);
        let rest = std::array::from_fn(|_| self.random.u8(..));
        id_at(millisecond, &rest)
    }

    /// An item of a collection: mostly one that exists.
    pub fn some_id(&mut self, collection: Collection) -> ItemId {
        let existing = self.model.ids(Scope::of(collection));
        match self.random.u8(..20) {
            0 => self.fresh_id(),
            1 => self.past_id(collection),
            _ => self.random.choice(existing).unwrap_or_else(|| self.fresh_id()),
        }
    }

    /// An item of the collection, or seldom of another.
    pub fn id_of(&mut self, collection: Collection) -> ItemId {
        let other = if self.one_in(8) { self::collection(self.random) } else { collection };
        self.some_id(other)
    }

    fn past_id(&mut self, collection: Collection) -> ItemId {
        let all = self.model.records().filter(|(_, record)| record.collection == collection);
        let all: Vec<_> = all.map(|(id, _)| id).collect();
        self.random.choice(all).unwrap_or_else(|| self.fresh_id())
    }

    /// A scope that shows the item, or seldom one that does not.
    pub fn scope_of(&mut self, collection: Collection, id: ItemId) -> Scope {
        let record = self.model.records().find(|(own, _)| *own == id);
        let parent = record.and_then(|(_, record)| record.parent);
        match self.random.u8(..14) {
            0 => Scope::of(self::collection(self.random)),
            1 => Scope { collection, parent: Some(self.some_id(Collection::known("proposals"))) },
            number => Scope { collection, parent: parent.filter(|_| number % 2 == 0) },
        }
    }

    fn body(&mut self, collection: Collection) -> (Arc<str>, Vec<Option<ItemId>>) {
        let mut targets: Vec<_> =
            (0..PROMISED).map(|number| promised(collection, number)).collect();
        for target in collection.referenced() {
            targets = (0..PROMISED).map(|number| promised(target, number)).collect();
            targets.push(self.some_id(target));
        }
        let body = Body::random(self.random, collection, &targets);
        let encoded = Arc::clone(&body.encoded);
        self.model.bodies.insert(Arc::clone(&encoded), Arc::new(body));
        let references = collection.references_in(&encoded);
        (encoded, references)
    }

    fn new_item(&mut self, collection: Collection) -> NewItem {
        let promised = promised(collection, self.random.u64(..PROMISED));
        let is_new = self.model.record(Scope::of(collection), promised).is_none();
        let id = if is_new && self.one_in(3) { promised } else { self.fresh_id() };
        let is_continuation = collection.spec().can_continue && self.one_in(3);
        let continues = is_continuation.then(|| self.id_of(collection));
        let (members, references) = self.body(collection);
        NewItem { id, members, continues, references }
    }

    fn insert(&mut self, collection: Collection) -> (Scope, NewItem) {
        let proposals = Collection::known("proposals");
        let is_owned = collection.parent().is_some() && !self.one_in(4);
        let parent = is_owned.then(|| self.id_of(proposals));
        (Scope { collection, parent }, self.new_item(collection))
    }

    /// Inserts and updates of items that do not refer to each other.
    fn write_all(&mut self, collection: Collection) -> Change {
        let (mut changes, mut ids, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.random.usize(..5) {
            let (scope, kind, own) = if self.random.bool() {
                let (scope, item) = self.insert(collection);
                let own = [Some(item.id), item.continues];
                (scope, ItemChangeKind::Insert(item), own)
            } else {
                let (scope, replacement) = self.update(collection);
                let own = [Some(replacement.id), None];
                (scope, ItemChangeKind::Update(replacement), own)
            };
            let own: Vec<_> = own.into_iter().flatten().collect();
            let key = self.one_in(3).then(|| self.key(collection));
            let name = key.as_ref().map(|key| key.key.clone());
            if own.iter().any(|id| ids.contains(id)) || name.is_some() && keys.contains(&name) {
                continue;
            }
            ids.extend(own);
            keys.push(name);
            let remarks = one(self.random, REMARKS).into();
            changes.push(ItemChange { parent: scope.parent, kind, key, remarks });
        }
        Change::WriteAll(collection, changes)
    }

    /// The version that an item is at, or seldom another.
    fn version(&mut self, collection: Collection, id: ItemId) -> Version {
        let record = self.model.record(Scope::of(collection), id);
        let latest = record.map_or(Version::FIRST, Record::latest).number();
        Version::from_number(match self.random.u8(..16) {
            0 => latest + 1,
            1 => (latest - 1).max(1),
            _ => latest,
        })
    }

    fn replacement(&mut self, collection: Collection, id: ItemId) -> Replacement {
        let expected = self.version(collection, id);
        let same = self.model.body(id).filter(|_| self.number.is_multiple_of(16)).cloned();
        let (members, references) = match same {
            Some(body) => (body.encoded.clone(), collection.references_in(&body.encoded)),
            None => self.body(collection),
        };
        Replacement { id, expected, members, references }
    }

    fn update(&mut self, collection: Collection) -> (Scope, Replacement) {
        let id = self.some_id(collection);
        (self.scope_of(collection, id), self.replacement(collection, id))
    }

    fn delete(&mut self, collection: Collection) -> Change {
        let id = self.some_id(collection);
        let scope = self.scope_of(collection, id);
        Change::Delete(scope, id, self.version(collection, id))
    }

    /// An item comes back where it was, as the use case has it.
    fn restore(&mut self, collection: Collection) -> Change {
        let removed = self
            .model
            .records()
            .filter(|(_, record)| record.collection == collection && record.current().is_none());
        let removed: Vec<_> = removed.map(|(id, _)| id).collect();
        let id = match self.random.choice(removed) {
            Some(id) if !self.one_in(8) => id,
            _ => self.some_id(collection),
        };
        let record = self.model.records().find(|(own, _)| *own == id);
        let (parent, continues) =
            record.map_or((None, None), |(_, record)| (record.parent, record.continues));
        let (members, references) = self.body(collection);
        let item = NewItem { id, members, continues, references };
        Change::Restore(Scope { collection, parent }, item)
    }

    fn replace_all(&mut self) -> Change {
        let names = ["cashprogram", "cashprogram", "cashprogram", "status", "lib", "proposals"];
        let collection = Collection::known(one(self.random, &names));
        let most = if self.one_in(6) { 0 } else { 8 };
        let mut kept = self.model.ids(Scope::of(collection));
        self.random.shuffle(&mut kept);
        kept.truncate(self.random.usize(..=most));
        if self.one_in(10) {
            kept.push(self.some_id(collection));
            kept.sort_unstable();
            kept.dedup();
        }
        let replacements = kept.into_iter().map(|id| self.replacement(collection, id)).collect();
        let mut additions: Vec<NewItem> = Vec::new();
        for _ in 0..self.random.usize(..=most / 2) {
            let item = self.new_item(collection);
            if additions.iter().all(|other| other.id != item.id) {
                additions.push(item);
            }
        }
        let expected = if self.one_in(2) { self.revision(collection) } else { None };
        let related = collection.referenced().collect();
        let content = CollectionContent { replacements, additions, expected, related };
        Change::ReplaceAll(collection, content)
    }

    /// A revision that was seen of the collection, mostly its last.
    fn revision(&mut self, collection: Collection) -> Option<Revision> {
        let seen = self.model.revisions.iter().filter(|((own, _), _)| *own == collection);
        let mut seen: Vec<_> = seen.map(|((_, revision), _)| *revision).collect();
        seen.sort_unstable();
        let last = seen.last().copied();
        let revision = if self.one_in(4) { self.random.choice(seen) } else { last };
        revision.map(Revision)
    }

    /// A lookup that leaves out one item. Half of these lookups are in the collection of that item.
    pub fn lookup(&mut self, without: ItemId) -> Lookup {
        let own = self.model.records().find(|(id, _)| *id == without);
        let own = own.map(|(_, record)| record.collection).filter(|_| self.random.bool());
        let collection = own.unwrap_or_else(|| collection(self.random));
        let member =
            |name: &str, value: &str| LookupKey::Member { name: name.into(), value: value.into() };
        let key = match self.random.u8(..9) {
            0 if own.is_some() => LookupKey::Id(without),
            0 | 1 => LookupKey::Id(self.some_id(collection)),
            2 | 3 => LookupKey::Parent(self.some_id(Collection::known("proposals"))),
            4 => LookupKey::Nothing,
            5 => member("x", one(self.random, WRITTEN)),
            6 => member(ODD_NAME, one(self.random, ODD_WRITTEN)),
            _ => match collection.spec().indexed {
                [] => member("y", one(self.random, &["7", "10", "ñ"])),
                indexed => {
                    let name = indexed[self.random.usize(..indexed.len())].name;
                    member(name, self.indexed_value())
                }
            },
        };
        Lookup { collection, key, without }
    }

    fn indexed_value(&mut self) -> &'static str {
        if self.random.bool() {
            return one(self.random, &[WRITTEN, ODD_WRITTEN].concat());
        }
        one(self.random, &["Applied", "Basic", "7", "12", "R-1", "2026-01-01", "a", "ab"])
    }

    fn read_set(&mut self, without: ItemId) -> Vec<ReadDependency> {
        let mut read_set = Vec::new();
        for _ in 0..self.random.usize(1..3) {
            let stale = self.random.choice(self.stale).cloned();
            match stale {
                Some(stale) if self.one_in(3) => read_set.push(stale),
                _ => {
                    let lookup = self.lookup(without);
                    let found = self.model.look_up(&lookup).into_iter();
                    let found = found.map(|item| (item.id, item.version)).collect();
                    read_set.push(ReadDependency { lookup, found });
                }
            }
        }
        if self.one_in(8) {
            let missing = self.fresh_id();
            read_set[0].found.push((missing, Version::FIRST));
            read_set[0].found.sort_unstable();
        }
        read_set
    }

    fn metadata(&mut self, change: &Change) -> WriteMetadata {
        // Clocks of other instances are late.
        let time = self.now - SignedDuration::from_micros(self.random.i64(0..2_000_000));
        let caller = one(self.random, &["", "", "ana", "agency:Ñ\"'{1},\\"]);
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let caller = known(caller);
        // Only a known caller has a client or a party that acts for them.
        let mut with_caller = |texts| known(one(self.random, texts)).filter(|_| caller.is_some());
        let (acting, client) =
            (with_caller(&["", "", "agency:'{1}'"]), with_caller(&["", "portal\\1,", "importer"]));
        let request_id = known(one(self.random, &["", "r1", "request 2"]));
        let mut warrant = warrant_by(&ChangeAuthor { caller, acting, client, request_id });
        if matches!(change, Change::Delete(..)) && self.random.bool() {
            warrant = warrant.limited_to(self.deletable());
        }
        let (scope, id) = change.target();
        let key = (id != ItemId::NIL && !matches!(change, Change::Delete(..)) && self.one_in(3))
            .then(|| self.key(scope.collection));
        let hour = SignedDuration::from_hours(1);
        let key_expires = if self.one_in(6) { time - hour } else { self.now + hour };
        let remarks = one(self.random, REMARKS).into();
        let read_set = if self.one_in(3) { self.read_set(id) } else { Vec::new() };
        WriteMetadata { time, warrant, key, key_expires, remarks, read_set, history: None }
    }

    /// The items that a caller may delete with those they belong to: their own, or those of others.
    pub fn deletable(&mut self) -> Vec<DeletableItems> {
        let kind = |random: &mut Rng| {
            let creator = Operand::current(Subject::CreatedBy);
            let is_own = Predicate::equals(creator, Literal::String("ana".into()));
            DeletableItems {
                collection: Collection::known(one(random, &["lib", "lib", "lib", "cashprogram"])),
                deletable: match random.u8(..4) {
                    0 => Predicate::FALSE,
                    1 => is_own.negated(),
                    2 => Predicate::Test(Operand::member("x"), Test::Exists).or(is_own),
                    _ => is_own,
                }
                .into(),
            }
        };
        (0..self.random.usize(1..3)).map(|_| kind(self.random)).collect()
    }

    pub fn key(&mut self, collection: Collection) -> IdempotencyKey {
        IdempotencyKey {
            path: format!("/v1/{}", collection.name()),
            key: self.random.u8(..5).to_string(),
            fingerprint: self.random.u8(..3).to_string(),
        }
    }
}
