//! The basis of one decision: the rules of one edition, and the results of their lookups.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use domain::json::escape_name;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Severity, Value, Version, WriteContext,
    WriteOperation,
};
use jiff::Timestamp;
use jiff::civil::Date;

use super::ResourceService;
use crate::ports::{ItemRepository, ReadDependency, Rule, Rules};
use crate::{Caller, ItemAddress, Result};

/// The limit of members kept for the next rule, in bytes. The rest is looked up again.
const MOST_BYTES_KEPT: usize = 16 << 20;

pub(super) struct DecisionContext {
    pub book: Rules,
    pub collection: Collection,
    stored: Arc<dyn ItemRepository>,
    looked_up: HashMap<Lookup, LookedUp>,
    bytes_kept: usize,
    /// The items of the same write, which hide the stored ones with their ids.
    written: Option<WrittenItems>,
    /// True if they replace the whole collection.
    is_replacement: bool,
    pub now: Timestamp,
    today: Date,
}

struct LookedUp {
    /// `None` if it was too large to keep.
    found: Option<Found>,
    /// `None` if the lookup found too many.
    versions: Option<Vec<(ItemId, Version)>>,
    /// True if the write depends on it.
    is_relied_on: bool,
}

impl ResourceService {
    pub(super) fn decision(&self) -> DecisionContext {
        let now = self.ports.clock.now();
        DecisionContext {
            book: self.ports.rules.rules(self.collection),
            collection: self.collection,
            stored: Arc::clone(&self.ports.items),
            looked_up: HashMap::new(),
            bytes_kept: 0,
            written: None,
            is_replacement: false,
            now,
            today: self.ports.clock.day_of(now),
        }
    }
}

pub(super) fn all_rules(collection: Collection, book: &Rules) -> impl Iterator<Item = &dyn Rule> {
    let in_rust = collection.rules().iter().map(|rule| rule as &dyn Rule);
    in_rust.chain(book.iter().map(|rule| &**rule))
}

impl DecisionContext {
    pub fn has_rules(&self) -> bool {
        all_rules(self.collection, &self.book).next().is_some()
    }

    pub const fn has_written(&self) -> bool {
        self.written.is_some()
    }

    pub fn judges_removals(&self) -> bool {
        all_rules(self.collection, &self.book)
            .any(|rule| rule.about().judges(WriteOperation::Delete))
    }

    /// Returns the context of a write. All writes of one decision have the same time.
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

    /// Adds the items of the same write. Rules see their new state in addition to the stored items,
    /// or instead of them in a replacement.
    pub fn writing(self, items: Vec<Item>, is_replacement: bool) -> Self {
        Self { written: Some(WrittenItems::of(items)), is_replacement, ..self }
    }

    /// Returns the result of a lookup. A warning depends on the state at the time of the lookup.
    /// Only a refusal must still hold at the time of the write.
    pub async fn look_up(&mut self, lookup: Lookup, severity: Severity) -> Result<Found> {
        if lookup.key == LookupKey::Nothing {
            return Ok(Found::Items(Vec::new()));
        }
        if self.written.is_none() || lookup.collection != self.collection {
            return self.look_up_stored(lookup, severity).await;
        }
        let stored = if self.is_replacement {
            Found::Items(Vec::new())
        } else {
            self.look_up_stored(lookup.clone(), severity).await?
        };
        Ok(match (stored, &mut self.written) {
            (Found::Items(stored), Some(written)) => written.in_place_of(stored, &lookup),
            (too_much, _) => too_much,
        })
    }

    /// Looks up the stored items, without those of the same write.
    pub async fn look_up_stored(&mut self, lookup: Lookup, severity: Severity) -> Result<Found> {
        // Other collections cannot contain the written item. All elements of a replacement then
        // share one lookup.
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
        let found = self.stored.look_up(&lookup).await?;
        self.keep(lookup, &found, is_relied_on);
        Ok(found)
    }

    /// Keeps the versions of the first lookup. If a later one finds others, the write must fail.
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

    pub fn into_read_set(self) -> Vec<ReadDependency> {
        let relied_on = self.looked_up.into_iter().filter(|(_, known)| known.is_relied_on);
        relied_on
            .filter_map(|(lookup, known)| Some(ReadDependency { lookup, found: known.versions? }))
            .collect()
    }
}

struct WrittenItems {
    items: Vec<Item>,
    by_id: HashMap<ItemId, usize>,
    by_parent: HashMap<ItemId, Vec<usize>>,
    /// The items by member name and value. Built on first use.
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

    /// Returns the items in the order of their ids; one beyond the limit to show the excess.
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

    fn in_place_of(&mut self, mut stored: Vec<Item>, lookup: &Lookup) -> Found {
        stored.retain(|item| !self.by_id.contains_key(&item.id));
        stored.extend(self.matches(lookup));
        stored.sort_unstable_by_key(|item| item.id);
        Found::of(stored)
    }
}

fn index(items: &[Item], name: &str) -> HashMap<Box<str>, Vec<usize>> {
    let encoded_name = escape_name(name);
    let mut index: HashMap<Box<str>, Vec<usize>> = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        let value = Value::from_encoded(&item.members).member(&encoded_name);
        if let Some(written) = value.and_then(Value::as_written) {
            index.entry(written.into()).or_default().push(place);
        }
    }
    index
}
