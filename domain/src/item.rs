use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

/// A UUID version 7 (RFC 9562). Identifiers sort by time of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(Uuid);

impl ItemId {
    pub const NIL: Self = Self(Uuid::nil());

    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// Reads the only accepted form: 36 characters, lower case, with hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let is_canonical = text.len() == 36 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let uuid = is_canonical.then(|| Uuid::try_parse(text).ok()).flatten();
        uuid.filter(|uuid| uuid.get_version_num() == 7).map(Self)
    }

    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(formatter)
    }
}

/// The number of writes of one item, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(i64);

impl Version {
    pub const FIRST: Self = Self(1);

    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    pub const fn number(self) -> i64 {
        self.0
    }

    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An item. Its members were judged on their write and are sent unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub id: ItemId,
    pub version: Version,
    /// In microseconds, UTC.
    pub created_at: Timestamp,
    /// In microseconds, UTC.
    pub updated_at: Timestamp,
    /// The compact JSON text of an object.
    pub members: Arc<str>,
    /// The owner: the proposal of a library item.
    pub parent: Option<ItemId>,
    pub continues: Option<ItemId>,
    /// The id of the principal that created it; `None` if it is unknown.
    pub created_by: Option<Arc<str>>,
}
