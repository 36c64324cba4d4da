//! The basis of one decision: the rules of one edition, and the other items that they looked up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::json::encode_string;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Resource, Severity, Value, Version,
    WriteContext, WriteOperation,
};
use jiff::Timestamp;
use jiff::civil::Date;

use super::ResourceService;
use crate::ports::{ItemRepository, ReadDependency, Rules};
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
    replacement: Option<ReplacedCollection>,
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

impl<R: Resource> ResourceService<R> {
    /// Returns the context of a decision that begins now.
    pub(super) fn decision(&self) -> DecisionContext {
        let now = self.clock.now();
        DecisionContext {
            book: self.rules.rules(self.collection),
            collection: self.collection,
            looked_up: HashMap::new(),
            bytes_kept: 0,
            replacement: None,
            now,
            today: self.clock.day_of(now),
        }
    }
}

impl DecisionContext {
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
            caller: caller.name().map(Into::into),
            now: self.now,
            today: self.today,
        }
    }

    /// The same, where the whole collection is replaced by these items: a rule then finds them in
    /// it, and nothing else.
    pub fn of_replacement(self, items: Vec<Item>) -> Self {
        Self { replacement: Some(ReplacedCollection::of(items)), ..self }
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
        if let Some(replacement) =
            self.replacement.as_mut().filter(|_| lookup.collection == self.collection)
        {
            return Ok(replacement.look_up(&lookup));
        }
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

/// A collection as a replacement would leave it. Its elements are one write: each is judged beside
/// the others as they would be.
struct ReplacedCollection {
    items: Vec<Item>,
    by_id: HashMap<ItemId, usize>,
    /// By the name of a member, then by what is written there; made when it is first asked for.
    by_member: HashMap<Box<str>, HashMap<Box<str>, Vec<usize>>>,
}

impl ReplacedCollection {
    fn of(mut items: Vec<Item>) -> Self {
        items.sort_unstable_by_key(|item| item.id);
        let by_id = items.iter().enumerate().map(|(place, item)| (item.id, place)).collect();
        Self { items, by_id, by_member: HashMap::new() }
    }

    fn look_up(&mut self, lookup: &Lookup) -> Found {
        let places = match &lookup.key {
            LookupKey::Id(id) => self.by_id.get(id).map_or(&[][..], std::slice::from_ref),
            LookupKey::Member { name, value } => {
                let index =
                    self.by_member.entry(name.clone()).or_insert_with(|| index(&self.items, name));
                index.get(value).map_or(&[][..], Vec::as_slice)
            }
            // What belongs to an item is not replaced with the whole collection.
            LookupKey::Parent(_) | LookupKey::Nothing => &[],
        };
        // One more than may be found tells that there are too many.
        let others = places
            .iter()
            .filter(|place| self.items[**place].id != lookup.without)
            .take(Lookup::MOST_ITEMS + 1);
        Found::of(others.map(|place| self.items[*place].clone()).collect())
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
