//! The judgement of an item by a predicate, with lookups in the store.

use std::collections::HashMap;
use std::sync::Arc;

use domain::predicate::{Judged, Lookups};
use domain::{Collection, Found, Item, ItemId, Lookup, Predicate};

use crate::Result;
use crate::ports::{ItemRepository, Ports, Reach, Scope};

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
    pub fn step(&self) -> std::result::Result<Option<bool>, Vec<Lookup>> {
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
    pub item: Item,
    items: Arc<dyn ItemRepository>,
}

impl ExplainedItem {
    pub async fn find(ports: &Ports, collection: Collection, id: ItemId) -> Result<Option<Self>> {
        let everything = Reach::of_the_service(Scope::of(collection));
        let found = ports.items.find(&everything, id).await?;
        Ok(found.map(|shown| Self { item: shown.item, items: Arc::clone(&ports.items) }))
    }

    pub async fn look_up(&self, lookup: &Lookup) -> Result<Found> {
        Ok(self.items.look_up(lookup).await?)
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
}
