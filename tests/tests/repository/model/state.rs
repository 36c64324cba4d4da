//! The model: every version of every item in memory, and the answers that the ports must give.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use application::{
    Answered, ChangeAuthor, DeletableItems, ItemContent, Links, LoggedChange, PastVersion,
    ReadDependency, Revision, Scope, Sequence, ShownItem, SupersededVersion, ValueCount,
    WriteMetadata,
};
use domain::predicate::{Judged, Lookups};
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Predicate, Version, WriteOperation,
};
use jiff::Timestamp;

use super::body::Body;

/// The results of lookups in the model.
struct Known<'a> {
    model: &'a Model,
    found: HashMap<Lookup, Found>,
}

impl Lookups for Known<'_> {
    fn found(&mut self, lookup: Lookup) -> Option<&Found> {
        let found = Found::of(self.model.look_up(&lookup));
        Some(self.found.entry(lookup).or_insert(found))
    }
}

#[derive(Default)]
pub struct Model {
    records: BTreeMap<ItemId, Record>,
    pub log: Vec<LoggedChange>,
    /// The answers to requests with a key, and until when that is remembered.
    pub answers: HashMap<[String; 3], (Timestamp, Answered)>,
    writes: HashMap<(Collection, Option<ItemId>), u64>,
    /// The number of writes at which a revision of a whole collection was seen.
    pub revisions: HashMap<(Collection, i64), u64>,
    /// Bodies by their encoded members: the store knows these alone.
    pub bodies: HashMap<Arc<str>, Arc<Body>>,
}

pub struct Record {
    pub collection: Collection,
    pub parent: Option<ItemId>,
    pub continues: Option<ItemId>,
    pub versions: Vec<(LoggedChange, Option<Arc<Body>>)>,
}

impl Record {
    pub fn latest(&self) -> Version {
        self.versions.last().expect("a version").0.version
    }

    pub fn sequence(&self) -> Sequence {
        self.versions.last().expect("a version").0.sequence
    }

    fn body(&self) -> Option<&Arc<Body>> {
        self.versions.last().and_then(|(_, body)| body.as_ref())
    }

    pub fn current(&self) -> Option<(&Arc<Body>, Version)> {
        self.body().map(|body| (body, self.latest()))
    }

    fn is_in(&self, scope: Scope) -> bool {
        self.collection == scope.collection
            && (scope.parent.is_none() || scope.parent == self.parent)
    }

    fn item(&self, index: usize) -> Option<Item> {
        let (change, body) = &self.versions[index];
        body.as_ref().map(|body| Item {
            id: change.item,
            version: change.version,
            created_at: self.versions[0].0.time,
            updated_at: change.time,
            members: Arc::clone(&body.encoded),
            parent: self.parent,
            continues: self.continues,
            created_by: self.versions[0].0.author.caller.as_deref().map(Into::into),
        })
    }
}

/// A version that a write makes of one item.
#[derive(Clone, Debug)]
pub struct Effect {
    pub item: ItemId,
    pub collection: Collection,
    pub version: Version,
    pub kind: WriteOperation,
    pub parent: Option<ItemId>,
    pub continues: Option<ItemId>,
    pub members: Option<Arc<str>>,
    pub author: ChangeAuthor,
}

impl Effect {
    pub fn is(&self, change: &LoggedChange) -> bool {
        (self.item, self.collection, self.version, self.kind, &self.author)
            == (change.item, change.collection, change.version, change.kind, &change.author)
    }
}

impl Model {
    pub fn record(&self, scope: Scope, id: ItemId) -> Option<&Record> {
        self.records.get(&id).filter(|record| record.is_in(scope))
    }

    pub fn records(&self) -> impl Iterator<Item = (ItemId, &Record)> {
        self.records.iter().map(|(id, record)| (*id, record))
    }

    pub fn last_time(&self) -> Timestamp {
        self.log.iter().map(|change| change.time).max().unwrap_or_default()
    }

    pub fn last_sequence(&self) -> Sequence {
        self.log.last().map(|change| change.sequence).unwrap_or_default()
    }

    pub fn exists(&self, collection: Collection, id: ItemId) -> bool {
        self.find(Scope::of(collection), id).is_some()
    }

    pub fn find(&self, scope: Scope, id: ItemId) -> Option<Item> {
        let record = self.record(scope, id)?;
        record.item(record.versions.len() - 1)
    }

    /// Returns whether an item that is not deletable belongs to `parent`.
    pub fn has_undeletable(&self, parent: ItemId, deletable: &[DeletableItems]) -> bool {
        self.records().filter(|(_, record)| record.parent == Some(parent)).any(|(id, record)| {
            let Some(item) = self.find(Scope::of(record.collection), id) else { return false };
            let is_kept = |DeletableItems { collection, deletable }: &DeletableItems| {
                *collection == record.collection && !self.judge(deletable, &item)
            };
            deletable.iter().any(is_kept)
        })
    }

    pub fn judge(&self, predicate: &Predicate, item: &Item) -> bool {
        let mut known = Known { model: self, found: HashMap::new() };
        predicate.judge(Judged::of(item), &mut known).expect("few items are found")
    }

    pub fn body(&self, id: ItemId) -> Option<&Arc<Body>> {
        self.records.get(&id)?.body()
    }

    pub fn shown(&self, scope: Scope, id: ItemId) -> Option<ShownItem> {
        let item = self.find(scope, id)?;
        let links = self.links(&item, scope.collection);
        Some(ShownItem { item, links })
    }

    pub fn ids(&self, scope: Scope) -> Vec<ItemId> {
        let of_scope =
            self.records().filter(|(_, record)| record.is_in(scope) && record.body().is_some());
        of_scope.map(|(id, _)| id).collect()
    }

    pub fn has_parent(&self, scope: Scope) -> bool {
        scope.parent.is_none_or(|parent| {
            scope.collection.parent().is_some_and(|collection| self.exists(collection, parent))
        })
    }

    fn links(&self, item: &Item, collection: Collection) -> Links {
        let continued_by = self
            .records()
            .filter(|(_, record)| record.continues == Some(item.id) && record.body().is_some());
        let named = collection.references_in(&item.members).into_iter();
        let references = named
            .zip(collection.referenced())
            .map(|(id, target)| id.filter(|id| self.exists(target, *id)));
        let mut references: Vec<_> = references.collect();
        while references.last() == Some(&None) {
            references.pop();
        }
        Links {
            continues: item.continues.filter(|id| self.exists(collection, *id)),
            continued_by: continued_by.map(|(id, _)| id).collect(),
            references,
            hides_parent: false,
            cut: None,
        }
    }

    /// Counts the writes that a revision of the scope distinguishes.
    pub fn writes(&self, scope: Scope, related: &[Collection]) -> u64 {
        let related: BTreeSet<_> = related.iter().map(|collection| collection.index()).collect();
        let related = Collection::all().filter(|collection| {
            related.contains(&collection.index()) && *collection != scope.collection
        });
        let scopes = related.map(|collection| (collection, None));
        let counted = scopes.chain([(scope.collection, scope.parent)]);
        counted.map(|scope| self.writes.get(&scope).copied().unwrap_or_default()).sum()
    }

    /// Returns whether a whole collection is at a revision, as far as it was seen.
    pub fn is_at(&self, collection: Collection, revision: Revision) -> bool {
        let referenced: Vec<_> = collection.referenced().collect();
        let now = self.writes(Scope::of(collection), &referenced);
        self.revisions.get(&(collection, revision.0)) == Some(&now)
    }

    pub fn look_up(&self, lookup: &Lookup) -> Vec<Item> {
        let is_found = |id: ItemId, record: &Record| match &lookup.key {
            LookupKey::Id(key) => id == *key,
            LookupKey::Parent(key) => record.parent == Some(*key),
            LookupKey::Member { name, value } => {
                record.body().and_then(|body| body.written(name)) == Some(value)
            }
            LookupKey::Nothing => false,
        };
        let found = self.records().filter(|(id, record)| {
            record.collection == lookup.collection && *id != lookup.without && is_found(*id, record)
        });
        found.filter_map(|(id, _)| self.find(Scope::of(lookup.collection), id)).collect()
    }

    /// Returns whether every lookup of a write finds the items of its read set.
    pub fn holds(&self, metadata: &WriteMetadata) -> bool {
        metadata.read_set.iter().all(|ReadDependency { lookup, found }| {
            let now = self.look_up(lookup).into_iter().map(|item| (item.id, item.version));
            now.collect::<Vec<_>>() == *found
        })
    }

    /// The answer to an earlier request with the key, if that is remembered.
    pub fn answered(&self, metadata: &WriteMetadata) -> Option<&Answered> {
        let key = metadata.key_identity()?.map(str::to_owned);
        let (expires, answered) = self.answers.get(&key)?;
        (*expires > metadata.time).then_some(answered)
    }

    pub fn version(&self, scope: Scope, id: ItemId, version: Version) -> Option<PastVersion> {
        let record = self.record(scope, id)?;
        let index = usize::try_from(version.number() - 1).ok()?;
        let (change, _) = record.versions.get(index)?;
        Some(PastVersion {
            is_cut: false,
            change: change.clone(),
            item: record.item(index),
            latest: record.latest(),
            exists: record.body().is_some(),
        })
    }

    pub fn version_at(&self, scope: Scope, id: ItemId, time: Timestamp) -> Option<PastVersion> {
        let record = self.record(scope, id)?;
        let by_then = record.versions.iter().rev().find(|(change, _)| change.time <= time);
        by_then.and_then(|(change, _)| self.version(scope, id, change.version))
    }

    /// The items that a scope held, and when their bodies were removed.
    pub fn items_at(&self, scope: Scope, time: Timestamp) -> Vec<(Item, Option<Timestamp>)> {
        let held = self.records().filter_map(|(id, _)| {
            let past = self.version_at(scope, id, time)?;
            past.item.map(|item| (item, past.change.removed_at))
        });
        held.collect()
    }

    /// The values of a member, of each its first characters.
    pub fn value_counts(&self, scope: Scope, name: &str, characters: usize) -> Vec<ValueCount> {
        let bodies = self.ids(scope).into_iter().filter_map(|id| self.body(id)?.written(name));
        most_frequent(bodies.map(|value| (value.chars().take(characters).collect(), 1)))
    }

    /// The amounts of the items by month.
    pub fn sums(&self, scope: Scope) -> Vec<ValueCount> {
        most_frequent(
            self.ids(scope)
                .into_iter()
                .filter_map(|id| self.body(id))
                .flat_map(|body| body.amounts()),
        )
    }

    /// The versions whose bodies may be removed, without their sizes.
    pub fn superseded(&self, before: Timestamp) -> Vec<SupersededVersion> {
        let is_kept = |change: &LoggedChange| {
            self.answers.values().any(|(_, Answered { shown: ShownItem { item, .. }, .. })| {
                (item.id, item.version) == (change.item, change.version)
            })
        };
        let pairs = self.records.values().flat_map(|record| record.versions.windows(2));
        let found = pairs.filter_map(|pair| {
            let ((change, body), (next, _)) = (&pair[0], &pair[1]);
            let has_body = body.is_some() && change.removed_at.is_none();
            (has_body && next.time < before && !is_kept(change)).then_some(SupersededVersion {
                change: change.sequence,
                item: change.item,
                written: change.time,
                superseded: next.time,
                bytes: 0,
            })
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|version| version.change);
        found
    }

    pub fn length_of_body(&self, sequence: Sequence) -> u64 {
        let mut versions = self.records().flat_map(|(_, record)| &record.versions);
        let (_, body) = versions.find(|(change, _)| change.sequence == sequence).unwrap();
        body.as_ref().unwrap().encoded.len() as u64
    }

    pub fn remove_body(&mut self, version: &SupersededVersion, time: Timestamp) {
        let empty = Arc::new(Body::of(Vec::new()));
        let versions = &mut self.records.get_mut(&version.item).unwrap().versions;
        let own = versions.iter_mut().find(|(change, _)| change.sequence == version.change);
        let (change, body) = own.unwrap();
        (change.removed_at, *body) = (Some(time), Some(empty));
        let logged = self.log.iter_mut().find(|change| change.sequence == version.change);
        logged.unwrap().removed_at = Some(time);
    }

    /// The last change of each item, with its content.
    pub fn contents(&self, ids: &[ItemId]) -> Vec<ItemContent> {
        let content = |id: &ItemId| {
            let record = &self.records[id];
            let (change, body) = record.versions.last().unwrap();
            ItemContent {
                change: change.sequence,
                id: *id,
                version: change.version,
                parent: record.parent,
                members: Arc::clone(&body.as_ref().unwrap().encoded),
            }
        };
        ids.iter().map(content).collect()
    }

    /// Makes a version of an item that the log shows.
    pub fn apply(&mut self, effect: &Effect, change: &LoggedChange) {
        let body = effect.members.as_ref().map(|members| Arc::clone(&self.bodies[members]));
        let Effect { collection, parent, continues, .. } = *effect;
        let record = self.records.entry(effect.item).or_insert_with(|| Record {
            collection,
            parent,
            continues,
            versions: Vec::new(),
        });
        record.versions.push((change.clone(), body));
        self.log.push(change.clone());
        for scope in [Some(None), parent.map(Some)].into_iter().flatten() {
            *self.writes.entry((collection, scope)).or_default() += 1;
        }
    }

    pub fn remember(&mut self, metadata: &WriteMetadata, kind: WriteOperation, shown: &ShownItem) {
        let (Some(identity), Some(key)) = (metadata.key_identity(), &metadata.key) else { return };
        let answered = Answered {
            fingerprint: key.fingerprint.as_str().into(),
            kind,
            shown: shown.clone(),
            remarks: metadata.remarks.clone(),
        };
        self.answers.insert(identity.map(str::to_owned), (metadata.key_expires, answered));
    }
}

/// The values with the largest numbers first.
fn most_frequent(counted: impl Iterator<Item = (String, u64)>) -> Vec<ValueCount> {
    let mut numbers = BTreeMap::<_, u64>::new();
    for (value, number) in counted {
        *numbers.entry(value).or_default() += number;
    }
    let counts = numbers.into_iter().map(|(value, items)| ValueCount { value, items });
    let mut counts: Vec<_> = counts.filter(|count| count.items > 0).collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.items));
    counts
}
