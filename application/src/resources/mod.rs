//! The use cases of every collection.
//!
//! [`ResourceService`] has a file for each of its parts: `read`, `write`, `history` (the past),
//! `audit`, `export` and `import`. Behind them `validate` reads a body, `rules` applies the business
//! rules, `read_set` is what a decision was based on, `replace_all` validates a whole collection,
//! `idempotency` recognises repeated requests, and `dry_run` predicts a write.

mod audit;
mod dry_run;
mod export;
mod history;
mod idempotency;
mod import;
mod listing;
mod read;
mod read_set;
mod replace_all;
mod result;
mod rules;
mod validate;
mod write;

use std::sync::Arc;

use domain::{Collection, ItemId, Operation};
use jiff::SignedDuration;

use crate::access_control::cut_links;
use crate::ports::{Ports, Reach, Scope, ShownItem};
use crate::query::View;
use crate::{AccessControl, ApplicationError, Caller, ItemAddress, Result};

pub use audit::{Audited, audited_operation};
pub use history::{Restored, VersionPage};
use idempotency::InFlightKeys;
pub use import::{
    Import, ImportMode, ImportRow, Imported, ImportedRow, RowContent, RowMembers, RowOutcome,
};
pub use listing::{AdjacentPage, Embedded, Listing, MOST_EMBEDDED};
pub use replace_all::ReplacementBody;
pub use result::{Replaced, Written};

/// The limits that an operator may set for the use cases.
#[derive(Clone, Copy, Debug)]
pub struct ResourceLimits {
    /// Bytes of members an item may have: many small patches must not make an item that no single
    /// request could.
    pub largest: usize,
    /// How long a request is known by its key.
    pub key_lifetime: SignedDuration,
}

/// The use cases of one collection. Every use case takes the caller, a write in its options.
pub struct ResourceService {
    collection: Collection,
    ports: Ports,
    access: AccessControl,
    limits: ResourceLimits,
    in_flight: InFlightKeys,
}

impl ResourceService {
    /// The use cases of `collection`.
    pub fn new(collection: Collection, ports: &Ports, limits: ResourceLimits) -> Self {
        Self {
            collection,
            ports: ports.clone(),
            access: AccessControl::new(Arc::clone(&ports.policies)),
            limits,
            in_flight: InFlightKeys::default(),
        }
    }

    fn scope(&self, parent: Option<ItemId>) -> Scope {
        Scope { collection: self.collection, parent }
    }

    /// The part of the store that a caller reads.
    fn reach(&self, caller: &Caller, parent: Option<ItemId>) -> Result<Reach> {
        self.access.reach(caller, self.scope(parent), &[Operation::Read])
    }

    /// The part of the store whose past a caller reads.
    fn past_reach(&self, caller: &Caller, parent: Option<ItemId>) -> Result<Reach> {
        self.access.reach(caller, self.scope(parent), &[Operation::Read, Operation::History])
    }

    /// The whole collection, for decisions that are the same whoever asks for them.
    fn everything(&self) -> Reach {
        Reach::of_the_service(self.scope(None))
    }

    /// Returns the item that a caller addresses, with all its links.
    async fn find(&self, caller: &Caller, item: ItemAddress) -> Result<ShownItem> {
        let found = self.ports.items.find(&self.reach(caller, item.parent)?, item.id).await?;
        found.ok_or(ApplicationError::ItemNotFound)
    }

    /// Returns an item as a caller may see it.
    fn seen_by(&self, caller: &Caller, mut shown: ShownItem) -> ShownItem {
        cut_links(self.collection, &mut shown, |relation| self.access.sees(caller, relation));
        shown
    }

    /// Returns what was written as a caller may see it.
    fn written_by(&self, caller: &Caller, written: Written) -> Written {
        Written { shown: self.seen_by(caller, written.shown), ..written }
    }

    /// Reports an unknown parent before the body is judged; the store checks again when it writes.
    async fn require_parent(&self, parent: Option<ItemId>) -> Result<()> {
        let Some(parent) = parent else { return Ok(()) };
        let collection = self.collection.parent().ok_or(ApplicationError::ParentNotFound)?;
        let found =
            self.ports.items.find(&Reach::of_the_service(Scope::of(collection)), parent).await?;
        found.map(|_| ()).ok_or(ApplicationError::ParentNotFound)
    }

    /// The other collections whose writes change what a caller sees of a view.
    fn related(&self, view: &View, unseen: &[Collection]) -> Vec<Collection> {
        let mut related = view.related(self.collection);
        related.retain(|collection| !unseen.contains(collection));
        related
    }
}

#[cfg(test)]
mod tests;
