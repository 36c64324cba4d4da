use std::sync::Arc;

use domain::ItemId;

use super::filter::Subject;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortKey {
    pub subject: Subject,
    /// True when the greatest value comes first. Absent values come last in either direction.
    pub descending: bool,
}

/// The value of one key. Ascending order: numbers, texts by code point, other values, absent
/// values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SortValue {
    /// A number, as JSON text. Times are microseconds since the epoch.
    Number(Arc<str>),
    String(Arc<str>),
    /// A boolean, a list or an object, as JSON text.
    Other(Arc<str>),
    Absent,
}

/// A place for keyset pagination. It is stable when items come and go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortPosition {
    pub keys: Vec<SortValue>,
    /// The item at this place. It may no longer exist.
    pub id: ItemId,
}
