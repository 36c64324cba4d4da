//! The changes of a transaction to the totals, added up in memory and written once at its end.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use uuid::Uuid;

const ADD: &str = "INSERT INTO totals (collection, parent, lane, items, writes) VALUES (?1, ?2, 0, ?3, ?4) \
                   ON CONFLICT (collection, parent, lane) DO UPDATE SET items = items + excluded.items, writes = writes + excluded.writes";

/// The items and writes to be added to each scope.
#[derive(Debug, Default)]
pub(crate) struct Totals(BTreeMap<(String, Uuid), (i64, i64)>);

impl Totals {
    /// One write, which changed the number of items by `items`, seen by the collection and by the
    /// parent's part of it.
    pub fn count(&mut self, collection: &str, parent: Option<Uuid>, items: i64) {
        for scope in [Some(Uuid::nil()), parent].into_iter().flatten() {
            let totals = self.0.entry((collection.to_owned(), scope)).or_default();
            *totals = (totals.0 + items, totals.1 + 1);
        }
    }

    /// The number of writes to a collection that wait to be added.
    pub fn writes_to(&self, collection: &str) -> i64 {
        self.0.get(&(collection.to_owned(), Uuid::nil())).map_or(0, |(_, writes)| *writes)
    }

    /// Adds it all up in the database.
    pub fn add(self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        for ((collection, parent), (items, writes)) in self.0 {
            transaction.prepare_cached(ADD)?.execute(params![collection, parent, items, writes])?;
        }
        Ok(())
    }
}
