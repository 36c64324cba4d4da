use std::sync::Arc;

use domain::{Item, ItemId, Version};
use jiff::Timestamp;

use crate::{Caller, Precondition};

#[derive(Clone, Debug)]
pub struct WriteOptions {
    pub caller: Caller,
    /// Validates the write and stores nothing.
    pub is_dry_run: bool,
    pub key: Option<IdempotencyKey>,
    pub request_id: Option<Box<str>>,
    /// The history at the time of the request. The versions and revisions in a condition are of it.
    pub history: Option<Arc<str>>,
}

impl WriteOptions {
    /// A write without an idempotency key.
    pub const fn by(caller: Caller) -> Self {
        Self { caller, is_dry_run: false, key: None, request_id: None, history: None }
    }

    /// Returns the key that the write claims. A dry run claims no key.
    pub(crate) fn claimed_key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref().filter(|_| !self.is_dry_run)
    }
}

/// An item, addressed alone or below its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAddress {
    pub parent: Option<ItemId>,
    pub id: ItemId,
}

impl ItemAddress {
    pub(crate) const fn of(item: &Item) -> Self {
        Self { parent: item.parent, id: item.id }
    }

    /// The item that a creation at `now` makes here.
    pub(crate) fn new_item(
        self,
        members: Arc<str>,
        continues: Option<ItemId>,
        caller: &Caller,
        now: Timestamp,
    ) -> Item {
        Item {
            id: self.id,
            version: Version::FIRST,
            created_at: now,
            updated_at: now,
            members,
            parent: self.parent,
            continues,
            created_by: caller.id().map(Arc::from),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ItemWrite<'a> {
    pub options: &'a WriteOptions,
    pub item: ItemAddress,
    pub precondition: &'a Precondition<Version>,
}

/// An idempotency key (draft-ietf-httpapi-idempotency-key-header-07). Its namespace is the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub path: String,
    pub key: String,
    /// Distinguishes this request from others with the same key.
    pub fingerprint: String,
}

impl IdempotencyKey {
    /// The unique identity of a request: the caller (empty for an anonymous one), the path and the
    /// key.
    pub fn identity<'a>(&'a self, caller: Option<&'a str>) -> [&'a str; 3] {
        [caller.unwrap_or_default(), &self.path, &self.key]
    }
}
