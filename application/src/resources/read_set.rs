//! The basis of one decision: the rules of one edition, and the other items that they looked up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::json::encode_string;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Severity, Value, Version, WriteContext,
    WriteOperation,
};
use jiff::Timestamp;
use jiff::civil::Date;

use super::ResourceService;
use crate::ports::{ItemRepository, ReadDependency, Rule, Rules};
use crate::{Caller, ItemAddress, Result};

/// Most bytes of members that are kept in case the next rule asks for the same. Beyond it they are
/// looked up again.
const MOST_BYTES_KEPT: usize = 16 << 20;

/// The basis of a decision.
pub(super) struct DecisionContext {
    /// The rules that are not written in Rust, those of one edition.
    pub book: Rules,
    collection: Collection,
    looked_up: HashMap<Lookup, LookedUp>,
    bytes_kept: usize,
    /// Items that are written together, in place of the stored ones with their ids.
    written: Option<WrittenItems>,
    /// True when they take the place of the whole collection.
    is_replacement: bool,
    /// The time of the decision.
    pub now: Timestamp,
    today: Date,
}

/// The result of a lookup.
struct LookedUp {
    /// `None` when it was too much to keep.
    found: Option<Found>,
    /// The items and their versions; `None` when there were too many.
    versions: Option<Vec<(ItemId, Version)>>,
    /// True when the write depends on it.
    is_relied_on: bool,
}

impl ResourceService {
    /// Returns the context of a decision that begins now.
    pub(super) fn decision(&self) -> DecisionContext {
        let now = self.ports.clock.now();
        DecisionContext {
            book: self.ports.rules.rules(self.collection),
            collection: self.collection,
            looked_up: HashMap::new(),
            bytes_kept: 0,
            written: None,
            is_replacement: false,
            now,
            today: self.ports.clock.day_of(now),
        }
    }
}

/// Returns the rules about the items of a collection: those written in Rust, then those of the book.
pub(super) fn all_rules(collection: Collection, book: &Rules) -> impl Iterator<Item = &dyn Rule> {
    let in_rust = collection.rules().iter().map(|rule| rule as &dyn Rule);
    in_rust.chain(book.iter().map(|rule| &**rule))
}

impl DecisionContext {
    /// Returns true when there is any rule about the items.
    pub fn has_rules(&self) -> bool {
        all_rules(self.collection, &self.book).next().is_some()
    }

    /// Returns true when any rule judges removals.
    pub fn judges_removals(&self) -> bool {
        all_rules(self.collection, &self.book)
            .any(|rule| rule.about().judges(WriteOperation::Delete))
    }

    /// When, by whom and to which item a write is done. All of one decision have one time.
    pub fn context(
        &self,
        caller: &Caller,
        operation: WriteOperation,
        item: ItemAddress,
    ) -> WriteContext {
        WriteContext {
            operation,
            id: item.id,
            parent: item.parent,
            caller: caller.principal().cloned(),
            now: self.now,
            today: self.today,
        }
    }

    /// The same, where these items are written together: a rule finds them as they will be, beside
    /// those that are stored, or in place of all of them.
    pub fn writing(self, items: Vec<Item>, is_replacement: bool) -> Self {
        Self { written: Some(WrittenItems::of(items)), is_replacement, ..self }
    }

    /// Returns the result of a lookup. A warning is based on the state at the time of the lookup.
    /// Only a refusal must still hold at the time of the write.
    pub async fn look_up(
        &mut self,
        repository: &dyn ItemRepository,
        lookup: Lookup,
        severity: Severity,
    ) -> Result<Found> {
        if lookup.key == LookupKey::Nothing {
            return Ok(Found::Items(Vec::new()));
        }
        if self.written.is_none() || lookup.collection != self.collection {
            return self.look_up_stored(repository, lookup, severity).await;
        }
        let stored = if self.is_replacement {
            Found::Items(Vec::new())
        } else {
            self.look_up_stored(repository, lookup.clone(), severity).await?
        };
        Ok(match (stored, &mut self.written) {
            (Found::Items(stored), Some(written)) => written.in_place_of(stored, &lookup),
            (too_much, _) => too_much,
        })
    }

    async fn look_up_stored(
        &mut self,
        repository: &dyn ItemRepository,
        lookup: Lookup,
        severity: Severity,
    ) -> Result<Found> {
        // Elsewhere the item that is written cannot be found; so all elements of a replacement
        // share what was looked up.
        let without =
            if lookup.collection == self.collection { lookup.without } else { ItemId::NIL };
        let lookup = Lookup { without, ..lookup };
        let is_relied_on = severity == Severity::Error;
        if let Some(known) = self.looked_up.get_mut(&lookup) {
            known.is_relied_on |= is_relied_on;
            if let Some(found) = &known.found {
                return Ok(found.clone());
            }
        }
        let found = repository.look_up(&lookup).await?;
        self.keep(lookup, &found, is_relied_on);
        Ok(found)
    }

    /// The versions stay those of the first look: where a second one finds others, the write is not
    /// made.
    fn keep(&mut self, lookup: Lookup, found: &Found, is_relied_on: bool) {
        let items: &[Item] = if let Found::Items(items) = found { items } else { &[] };
        let bytes = items.iter().map(|item| item.members.len()).sum::<usize>();
        if self.bytes_kept + bytes > MOST_BYTES_KEPT {
            self.looked_up.values_mut().for_each(|known| known.found = None);
            self.bytes_kept = 0;
        }
        self.bytes_kept += bytes;
        match self.looked_up.entry(lookup) {
            Entry::Occupied(known) => known.into_mut().found = Some(found.clone()),
            Entry::Vacant(unknown) => {
                let versions = || items.iter().map(|item| (item.id, item.version)).collect();
                let versions = matches!(found, Found::Items(_)).then(versions);
                unknown.insert(LookedUp { found: Some(found.clone()), versions, is_relied_on });
            }
        }
    }

    /// Returns the read set: the lookups whose results must not change before the write.
    pub fn into_read_set(self) -> Vec<ReadDependency> {
        let relied_on = self.looked_up.into_iter().filter(|(_, known)| known.is_relied_on);
        relied_on
            .filter_map(|(lookup, known)| Some(ReadDependency { lookup, found: known.versions? }))
            .collect()
    }
}

/// Items as one write would leave them, each judged beside the others: all of a collection, or some.
struct WrittenItems {
    items: Vec<Item>,
    by_id: HashMap<ItemId, usize>,
    by_parent: HashMap<ItemId, Vec<usize>>,
    /// By the name of a member, then by what is written there; made when it is first asked for.
    by_member: HashMap<Box<str>, HashMap<Box<str>, Vec<usize>>>,
}

impl WrittenItems {
    fn of(mut items: Vec<Item>) -> Self {
        items.sort_unstable_by_key(|item| item.id);
        let by_id = items.iter().enumerate().map(|(place, item)| (item.id, place)).collect();
        let mut by_parent: HashMap<_, Vec<_>> = HashMap::new();
        for (place, item) in items.iter().enumerate() {
            if let Some(parent) = item.parent {
                by_parent.entry(parent).or_default().push(place);
            }
        }
        Self { items, by_id, by_parent, by_member: HashMap::new() }
    }

    /// The items that a lookup finds, in the order of their ids; one more than may be found tells
    /// that there are too many.
    fn matches(&mut self, lookup: &Lookup) -> Vec<Item> {
        let places = match &lookup.key {
            LookupKey::Id(id) => self.by_id.get(id).map_or(&[][..], std::slice::from_ref),
            LookupKey::Parent(id) => self.by_parent.get(id).map_or(&[][..], Vec::as_slice),
            LookupKey::Member { name, value } => {
                let index =
                    self.by_member.entry(name.clone()).or_insert_with(|| index(&self.items, name));
                index.get(value).map_or(&[][..], Vec::as_slice)
            }
            LookupKey::Nothing => &[],
        };
        let others = places
            .iter()
            .filter(|place| self.items[**place].id != lookup.without)
            .take(Lookup::MOST_ITEMS + 1);
        others.map(|place| self.items[*place].clone()).collect()
    }

    /// The result of a lookup that found these in the store.
    fn in_place_of(&mut self, mut stored: Vec<Item>, lookup: &Lookup) -> Found {
        stored.retain(|item| !self.by_id.contains_key(&item.id));
        stored.extend(self.matches(lookup));
        stored.sort_unstable_by_key(|item| item.id);
        Found::of(stored)
    }
}

fn index(items: &[Item], name: &str) -> HashMap<Box<str>, Vec<usize>> {
    let quoted = encode_string(name);
    let encoded_name = &quoted[1..quoted.len() - 1];
    let mut index: HashMap<Box<str>, Vec<usize>> = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        let value = Value::from_encoded(&item.members).member(encoded_name);
        if let Some(written) = value.and_then(Value::as_written) {
            index.entry(written.into()).or_default().push(place);
        }
    }
    index
}
