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

macro_rules! operations {
    ($(
        $(#[$doc:meta])+
        $name:ident $method:ident $form:ident asks [$($asks:ident)+] writes [$($writes:ident)*];
    )+) => {
        /// An operation of a group. Unlike the verbs of a write
        /// ([`WriteOperation`]), these include reads, and some write several items.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GroupOperation {
            $($(#[$doc])+ $name,)+
        }

        impl GroupOperation {
            /// The HTTP method.
            pub const fn method(self) -> Method {
                match self { $(Self::$name => Method::$method,)+ }
            }

            /// The form of path it is served at.
            pub const fn form(self) -> PathForm {
                match self { $(Self::$name => PathForm::$form,)+ }
            }

            /// The permissions that callers are asked for before anything else. A restoration needs
            /// more, which depends on whether the item is there.
            pub const fn asks(self) -> &'static [Permission] {
                match self { $(Self::$name => &[$(Permission::$asks),+],)+ }
            }

            /// The writes it does.
            pub const fn writes(self) -> &'static [WriteOperation] {
                match self { $(Self::$name => &[$(WriteOperation::$writes),*],)+ }
            }
        }
    };
}

operations! {
    /// GET on the collection.
    List GET Collection asks [Read] writes [];
    /// POST on the collection.
    Create POST Collection asks [Create] writes [Create];
    /// GET on an item.
    Get GET Item asks [Read] writes [];
    /// PATCH on an item.
    Patch PATCH Item asks [Read Patch] writes [Patch];
    /// PUT on an item.
    Replace PUT Item asks [Read Replace] writes [Replace];
    /// DELETE on an item.
    Delete DELETE Item asks [Read Delete] writes [Delete];
    /// POST on an item: a new item that continues it.
    Continue POST Item asks [Read Create] writes [Create];
    /// PUT on the collection.
    ReplaceAll PUT Collection asks [Read Create Replace Delete] writes [Create Replace Delete];
    /// GET on an item's versions.
    ListVersions GET Versions asks [Read History] writes [];
    /// GET on a version.
    GetVersion GET Version asks [Read History] writes [];
    /// GET on the difference between two versions.
    Compare GET Difference asks [Read History] writes [];
    /// POST on a version: the item becomes what it was.
    Restore POST Version asks [Read History] writes [Create Replace];
}

impl GroupOperation {
    /// The standard set (specification 4.2).
    pub const STANDARD: [Self; 6] =
        [Self::List, Self::Create, Self::Get, Self::Patch, Self::Replace, Self::Delete];

    /// The operations on versions, which every group has.
    pub const HISTORY: [Self; 4] =
        [Self::ListVersions, Self::GetVersion, Self::Restore, Self::Compare];

    /// Tells whether it changes nothing.
    pub fn is_read(self) -> bool {
        self.method() == Method::GET
    }

    /// Tells whether standbys may serve it: it reads items, and no names of callers beside them.
    pub const fn is_served_by_standbys(self) -> bool {
        matches!(self, Self::List | Self::Get | Self::GetVersion | Self::Compare)
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
