//! The operations that groups offer, and where each is served.

use domain::{Operation as Permission, WriteOperation};
use poem::http::Method;

/// The name of the path parameter that names a version.
pub const VERSION_PARAMETER: &str = "version";

/// The forms of path a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathForm {
    /// The collection.
    Collection,
    /// One item.
    Item,
    /// The versions of an item.
    Versions,
    /// One of them.
    Version,
    /// The difference between it and another.
    Difference,
}

impl PathForm {
    /// All there are.
    pub const ALL: [Self; 5] =
        [Self::Collection, Self::Item, Self::Versions, Self::Version, Self::Difference];
}

/// An operation of a group. Unlike [`WriteOperation`], these include reads, and some write several
/// items: see [`GroupOperation::writes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOperation {
    /// GET on the collection.
    List,
    /// POST on the collection.
    Create,
    /// GET on an item.
    Get,
    /// PATCH on an item.
    Patch,
    /// PUT on an item.
    Replace,
    /// DELETE on an item.
    Delete,
    /// POST on an item: a new item that continues it.
    Continue,
    /// PUT on the collection.
    ReplaceAll,
    /// GET on an item's versions.
    ListVersions,
    /// GET on a version.
    GetVersion,
    /// GET on the difference between two versions.
    Compare,
    /// POST on a version: the item becomes what it was.
    Restore,
}

impl GroupOperation {
    /// The standard set (specification 4.2).
    pub const STANDARD: [Self; 6] =
        [Self::List, Self::Create, Self::Get, Self::Patch, Self::Replace, Self::Delete];

    /// The operations on versions, which every group has.
    pub const HISTORY: [Self; 4] =
        [Self::ListVersions, Self::GetVersion, Self::Restore, Self::Compare];

    /// The HTTP method.
    pub const fn method(self) -> Method {
        match self {
            Self::List | Self::Get | Self::ListVersions | Self::GetVersion | Self::Compare => {
                Method::GET
            }
            Self::Create | Self::Continue | Self::Restore => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Replace | Self::ReplaceAll => Method::PUT,
            Self::Delete => Method::DELETE,
        }
    }

    /// The form of its path.
    pub const fn form(self) -> PathForm {
        match self {
            Self::ListVersions => PathForm::Versions,
            Self::GetVersion | Self::Restore => PathForm::Version,
            Self::Compare => PathForm::Difference,
            Self::List | Self::Create | Self::ReplaceAll => PathForm::Collection,
            Self::Get | Self::Patch | Self::Replace | Self::Delete | Self::Continue => {
                PathForm::Item
            }
        }
    }

    /// Tells whether it changes nothing.
    pub fn is_read(self) -> bool {
        self.method() == Method::GET
    }

    /// Tells whether standbys may serve it: it reads items, and no names of callers beside them.
    pub const fn is_served_by_standbys(self) -> bool {
        matches!(self, Self::List | Self::Get | Self::GetVersion | Self::Compare)
    }

    /// The kinds of writes it can make.
    pub const fn writes(self) -> &'static [WriteOperation] {
        use WriteOperation::{Create, Delete, Patch, Replace};
        match self {
            Self::Create | Self::Continue => &[Create],
            Self::Replace => &[Replace],
            Self::Patch => &[Patch],
            Self::Delete => &[Delete],
            Self::Restore => &[Create, Replace],
            Self::ReplaceAll => &[Create, Replace, Delete],
            Self::List | Self::Get | Self::ListVersions | Self::GetVersion | Self::Compare => &[],
        }
    }

    /// The permissions that a caller needs to be admitted. A restoration needs another one, which
    /// depends on whether the item exists.
    pub const fn asks(self) -> &'static [Permission] {
        use Permission::{Create, Delete, History, Patch, Read, Replace};
        match self {
            Self::List | Self::Get => &[Read],
            Self::ListVersions | Self::GetVersion | Self::Compare | Self::Restore => {
                &[Read, History]
            }
            Self::Create => &[Create],
            Self::Continue => &[Read, Create],
            Self::Replace => &[Read, Replace],
            Self::Patch => &[Read, Patch],
            Self::Delete => &[Read, Delete],
            Self::ReplaceAll => &[Read, Create, Replace, Delete],
        }
    }

    /// Tells whether it makes something, so that an Idempotency-Key tells when it is sent again.
    pub fn takes_key(self) -> bool {
        self.method() == Method::POST
    }

    /// Tells whether it shows what it wrote, unless the client prefers not to see it.
    pub fn takes_preference(self) -> bool {
        !self.is_read() && self != Self::Delete
    }

    /// Tells whether the request has a body.
    pub fn takes_body(self) -> bool {
        !self.is_read() && !matches!(self, Self::Delete | Self::Restore)
    }
}
