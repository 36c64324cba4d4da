//! The judgement of an item by a predicate, with lookups in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::predicate::{Judged, Lookups};
use domain::{Collection, Found, Item, ItemId, Lookup, Operation, Predicate, VisibleMembers};

use crate::ports::{ItemRepository, Permissions, Ports, Reach, Scope};
use crate::query::{PageQuery, PageStart};
use crate::{ApplicationError, Result};

const AT_A_TIME: u64 = 50;

/// The limit of lookups. A predicate that needs more is undecided.
const MOST_LOOKUPS: usize = 64;

struct KnownLookups<'a> {
    known: &'a HashMap<Lookup, Found>,
    missing: Vec<Lookup>,
}

impl Lookups for KnownLookups<'_> {
    fn found(&mut self, lookup: Lookup) -> Option<&Found> {
        let found = self.known.get(&lookup);
        if found.is_none() {
            self.missing.push(lookup);
        }
        found
    }
}

/// The judgement of an item, which needs more lookups with each step.
pub(crate) struct Judgement<'a> {
    predicate: &'a Predicate,
    judged: Judged<'a>,
    known: HashMap<Lookup, Found>,
}

impl<'a> Judgement<'a> {
    pub fn of(predicate: &'a Predicate, judged: Judged<'a>) -> Self {
        Self { predicate, judged, known: HashMap::new() }
    }

    /// Returns the result, which is `None` if it cannot be decided, or the lookups that it needs.
    pub fn step(&self) -> Result<Option<bool>, Vec<Lookup>> {
        let mut lookups = KnownLookups { known: &self.known, missing: Vec::new() };
        let holds = self.predicate.judge(self.judged, &mut lookups);
        let missing = lookups.missing;
        let count = self.known.len() + missing.len();
        if holds.is_some() || missing.is_empty() || count > MOST_LOOKUPS {
            Ok(holds)
        } else {
            Err(missing)
        }
    }

    pub fn learn(&mut self, lookup: Lookup, found: Found) {
        self.known.insert(lookup, found);
    }
}

/// A stored item, for an explanation to the operator.
pub struct ExplainedItem {
    pub collection: Collection,
    pub item: Item,
    items: Arc<dyn ItemRepository>,
    known: Mutex<HashMap<Lookup, Found>>,
}

/// The part of an item that a caller sees.
pub struct SeenItem {
    item: Item,
    /// `None` for all members.
    visible: Option<VisibleMembers>,
}

impl ExplainedItem {
    fn new(ports: &Ports, collection: Collection, item: Item) -> Self {
        Self { collection, item, items: Arc::clone(&ports.items), known: Mutex::default() }
    }

    pub async fn find(ports: &Ports, collection: Collection, id: ItemId) -> Result<Option<Self>> {
        let everything = Reach::of_the_service(Scope::of(collection));
        let found = ports.items.find(&everything, id).await?;
        Ok(found.map(|shown| Self::new(ports, collection, shown.item)))
    }

    /// Calls `with` for each item of a collection, in the order of pages. Holds one page in memory.
    pub async fn for_each<E: From<ApplicationError>>(
        ports: &Ports,
        collection: Collection,
        mut with: impl AsyncFnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let everything = Reach::of_the_service(Scope::of(collection));
        let mut query = PageQuery::all(collection, AT_A_TIME);
        loop {
            let page =
                ports.items.page(&everything, &query).await.map_err(ApplicationError::from)?;
            for listed in &page.items {
                with(&Self::new(ports, collection, listed.shown.item.clone())).await?;
            }
            match page.last.clone().filter(|_| page.has_more) {
                Some(last) => query.position = PageStart::After(last),
                None => return Ok(()),
            }
        }
    }

    pub async fn look_up(&self, lookup: &Lookup) -> Result<Found> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(lookup) {
            return Ok(found.clone());
        }
        let found = self.items.look_up(lookup).await?;
        known().insert(lookup.clone(), found.clone());
        Ok(found)
    }

    /// Judges the item; `None` if it cannot be decided.
    pub async fn judge(&self, predicate: &Predicate) -> Result<Option<bool>> {
        let mut judgement = Judgement::of(predicate, Judged::of(&self.item));
        loop {
            match judgement.step() {
                Ok(holds) => return Ok(holds),
                Err(missing) => {
                    for lookup in missing {
                        let found = self.look_up(&lookup).await?;
                        judgement.learn(lookup, found);
                    }
                }
            }
        }
    }

    /// Returns the part of the item that a caller with these permissions sees; `None` if the caller
    /// does not see the item.
    pub async fn seen_with(&self, permissions: &Permissions) -> Result<Option<SeenItem>> {
        if self.judge(permissions.on(self.collection, Operation::Read)).await? != Some(true) {
            return Ok(None);
        }
        let mut seen = SeenItem { item: self.item.clone(), visible: None };
        if let Some(mask) = permissions.visible(self.collection) {
            let mut holds = Vec::with_capacity(mask.conditions().len());
            for condition in mask.conditions() {
                holds.push(self.judge(condition).await? == Some(true));
            }
            let visible = VisibleMembers::new(Arc::clone(mask), holds);
            visible.apply(&mut seen.item);
            seen.visible = Some(visible);
        }
        Ok(Some(seen))
    }

    /// Returns the members that the caller does not see.
    pub fn hidden_from(&self, seen: &SeenItem) -> Vec<String> {
        seen.missing(&self.item)
    }
}

impl SeenItem {
    /// Returns the members that only this part of the item has.
    pub fn beyond(&self, other: &Self) -> Vec<String> {
        other.missing(&self.item)
    }

    fn missing(&self, item: &Item) -> Vec<String> {
        self.visible.as_ref().map(|visible| visible.hidden(item)).unwrap_or_default()
    }
}
