//! The use cases of every collection.
//!
//! [`ResourceService`] has a file for each part: `read`, `write`, `history`, `audit`, `export` and
//! `import`. `validate` reads a body. `rules` applies the business rules, and `read_set` holds the
//! basis of a decision. `replace_all` validates a whole collection, `idempotency` recognises
//! retries, and `dry_run` predicts a write.

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

#[derive(Clone, Copy, Debug)]
pub struct ResourceLimits {
    /// The limit of an item's members in bytes. Many small patches must not make an item that no
    /// single request could.
    pub largest: usize,
    /// The time for which a key is remembered.
    pub key_lifetime: SignedDuration,
}

pub struct ResourceService {
    collection: Collection,
    ports: Ports,
    access: AccessControl,
    limits: ResourceLimits,
    in_flight: InFlightKeys,
}

impl ResourceService {
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

    fn reach(&self, caller: &Caller, parent: Option<ItemId>) -> Result<Reach> {
        self.access.reach(caller, self.scope(parent), &[Operation::Read])
    }

    fn past_reach(&self, caller: &Caller, parent: Option<ItemId>) -> Result<Reach> {
        self.access.reach(caller, self.scope(parent), &[Operation::Read, Operation::History])
    }

    /// The whole collection, for decisions that do not depend on the caller.
    fn everything(&self) -> Reach {
        Reach::of_the_service(self.scope(None))
    }

    async fn find(&self, caller: &Caller, item: ItemAddress) -> Result<ShownItem> {
        let found = self.ports.items.find(&self.reach(caller, item.parent)?, item.id).await?;
        found.ok_or(ApplicationError::ItemNotFound)
    }

    fn seen_by(&self, caller: &Caller, mut shown: ShownItem) -> ShownItem {
        cut_links(self.collection, &mut shown, |relation| self.access.sees(caller, relation));
        shown
    }

    fn written_by(&self, caller: &Caller, written: Written) -> Written {
        Written { shown: self.seen_by(caller, written.shown), ..written }
    }

    /// Reports an unknown parent before the body is judged; the store checks again on the write.
    async fn require_parent(&self, parent: Option<ItemId>) -> Result<()> {
        let Some(parent) = parent else { return Ok(()) };
        let collection = self.collection.parent().ok_or(ApplicationError::ParentNotFound)?;
        let found =
            self.ports.items.find(&Reach::of_the_service(Scope::of(collection)), parent).await?;
        found.map(|_| ()).ok_or(ApplicationError::ParentNotFound)
    }

    fn related(&self, view: &View, unseen: &[Collection]) -> Vec<Collection> {
        let mut related = view.related(self.collection);
        related.retain(|collection| !unseen.contains(collection));
        related
    }
}

#[cfg(test)]
mod tests;
