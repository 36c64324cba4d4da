//! The options of a write.

use std::sync::Arc;

use domain::{Item, ItemId, Version};

use crate::{Caller, Precondition};

/// The options of a write, apart from the content to be written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Who asks.
    pub caller: Caller,
    /// True for a dry run: everything is checked, and nothing is stored.
    pub is_dry_run: bool,
    /// By what it is known when it is sent again.
    pub key: Option<IdempotencyKey>,
    /// The id of the request, which the change log keeps.
    pub request_id: Option<Box<str>>,
    /// The history of the store that the versions and revisions in its condition are of.
    pub history: Option<Arc<str>>,
}

impl WriteOptions {
    /// A write that is done, as often as it is sent.
    pub const fn by(caller: Caller) -> Self {
        Self { caller, is_dry_run: false, key: None, request_id: None, history: None }
    }

    /// Returns the idempotency key that the write consumes. A dry run consumes no key.
    pub(crate) fn claimed_key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref().filter(|_| !self.is_dry_run)
    }
}

/// An item of a collection, and its parent where only the items of that parent are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAddress {
    /// The parent, if any.
    pub parent: Option<ItemId>,
    /// The item.
    pub id: ItemId,
}

impl ItemAddress {
    pub(crate) const fn of(item: &Item) -> Self {
        Self { parent: item.parent, id: item.id }
    }
}

/// A write of one item, apart from its content.
#[derive(Clone, Copy, Debug)]
pub struct ItemWrite<'a> {
    /// The options.
    pub options: &'a WriteOptions,
    /// The item that is written, or continued.
    pub item: ItemAddress,
    /// The condition on its version.
    pub precondition: &'a Precondition<Version>,
}

/// By what a request is known when it is sent again (draft-ietf-httpapi-idempotency-key-header-07).
/// It is the caller's: two callers may use the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Where the request is sent.
    pub path: String,
    /// The key that the client chose.
    pub key: String,
    /// Tells what is sent from anything else.
    pub fingerprint: String,
}

impl IdempotencyKey {
    /// Returns what no two requests of one caller have in common: the caller (empty for an anonymous
    /// one), the path and the key.
    pub fn identity<'a>(&'a self, caller: Option<&'a str>) -> [&'a str; 3] {
        [caller.unwrap_or_default(), &self.path, &self.key]
    }
}
