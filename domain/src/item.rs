//! Items, as they are stored and shown.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

/// The identifier of an item: a UUID version 7 (RFC 9562), so identifiers sort by time of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(Uuid);

impl ItemId {
    /// The identifier of no item.
    pub const NIL: Self = Self(Uuid::nil());

    /// Wraps a UUID that an id generator made or the store holds.
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// Reads the one textual form that names an item: 36 characters, lower case, with hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let is_canonical = text.len() == 36 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let uuid = is_canonical.then(|| Uuid::try_parse(text).ok()).flatten();
        uuid.filter(|uuid| uuid.get_version_num() == 7).map(Self)
    }

    /// The UUID.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(formatter)
    }
}

/// Counts the writes of one item, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(i64);

impl Version {
    /// The version of an item just created.
    pub const FIRST: Self = Self(1);

    /// Wraps a number the store holds.
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The version after this one.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An item as it is stored and shown. Its members were judged when they were written and go to the
/// wire as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its identifier.
    pub id: ItemId,
    /// How often it was written.
    pub version: Version,
    /// When it was created (microseconds, UTC).
    pub created_at: Timestamp,
    /// When it was last written (microseconds, UTC).
    pub updated_at: Timestamp,
    /// Its members as compact JSON text of an object.
    pub members: Arc<str>,
    /// The item it belongs to: the proposal of a library item.
    pub parent: Option<ItemId>,
    /// The item it continues.
    pub continues: Option<ItemId>,
}
