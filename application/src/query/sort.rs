//! Orders of items.

use std::sync::Arc;

use domain::ItemId;

use super::filter::Subject;

/// One key of an order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// The subject that is compared.
    pub subject: Subject,
    /// True when the greatest value comes first. Absent values come last in either direction.
    pub descending: bool,
}

/// The value of one key. Ascending, numbers come first, then texts by code point, then the rest,
/// then absent values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SortValue {
    /// A number, as JSON text. Times are microseconds since the epoch.
    Number(Arc<str>),
    /// A string.
    String(Arc<str>),
    /// A boolean, a list or an object, as JSON text.
    Other(Arc<str>),
    /// No value, or `null`.
    Absent,
}

/// A place in an order, which stays where it is when items come and go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortPosition {
    /// The values of the keys.
    pub keys: Vec<SortValue>,
    /// The item that is or was there.
    pub id: ItemId,
}
