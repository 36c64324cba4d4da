//! The use cases of every collection.
//!
//! [`ResourceService`] has a file for each part: `read`, `write`, `content`, `history`, `audit`,
//! `allowed`, `export` and `import`. `visibility` limits reads, and `permission` writes. `validate` reads a body. `rules` applies the business rules, and `read_set` holds the
//! basis of a decision. `replace_all` validates a whole collection, `idempotency` recognises
//! retries, and `dry_run` predicts a write.

mod allowed;
mod audit;
mod content;
mod content_space;
mod dry_run;
mod export;
mod history;
mod idempotency;
mod import;
mod listing;
mod permission;
mod read;
mod read_set;
mod replace_all;
mod result;
mod rules;
mod validate;
mod visibility;
mod write;

use std::sync::Arc;

use domain::{Collection, ItemId};
use jiff::SignedDuration;

use crate::ports::{Ports, Reach, Scope};
use crate::{AccessControl, ApplicationError, Caller, Result};

pub use allowed::{EditableMembers, ItemDecision};
pub use audit::{Audited, audited_operation};
pub use content::{ContentDescription, ContentWrite};
pub use history::{Dossier, PointInTime, Restored, VersionPage};
use idempotency::InFlightKeys;
pub use import::{
    Import, ImportMode, ImportRow, Imported, ImportedRow, MemberChange, RowContent, RowMembers,
    RowOutcome,
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
    /// The limit of the contents of a proposal in bytes.
    pub content_per_proposal: Option<u64>,
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

    /// The whole collection, for decisions that do not depend on the caller.
    fn everything(&self) -> Reach {
        Reach::of_the_service(self.scope(None))
    }

    async fn written_by(&self, caller: &Caller, Written { shown, warnings }: Written) -> Written {
        Written { shown: self.seen_by(caller, shown).await, warnings }
    }

    /// Reports an unknown parent before the body is judged; the store checks again on the write.
    async fn require_parent(&self, parent: Option<ItemId>) -> Result<()> {
        let Some(parent) = parent else { return Ok(()) };
        let collection = self.collection.parent().ok_or(ApplicationError::ParentNotFound)?;
        let found =
            self.ports.items.find(&Reach::of_the_service(Scope::of(collection)), parent).await?;
        found.map(|_| ()).ok_or(ApplicationError::ParentNotFound)
    }
}

#[cfg(test)]
mod tests;
