//! The operations of groups and their paths.

use domain::{Operation as Permission, WriteOperation};
use poem::http::Method;

pub const VERSION_PARAMETER: &str = "version";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathForm {
    Collection,
    Item,
    Versions,
    Version,
    Difference,
    Content,
    VersionContent,
    Dossier,
}

impl PathForm {
    /// Bytes that are not JSON, in a request or a response.
    pub const fn is_of_bytes(self) -> bool {
        matches!(self, Self::Content | Self::VersionContent | Self::Dossier)
    }
}

/// Method, form of the path, permissions that the gate requires, and writes of items.
type Row = (Method, PathForm, &'static [Permission], &'static [WriteOperation]);

/// An operation of a group. Unlike [`WriteOperation`], it may read or write several items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOperation {
    List,
    Create,
    Get,
    Patch,
    Replace,
    Delete,
    Continue,
    ReplaceAll,
    ListVersions,
    GetVersion,
    Compare,
    Restore,
    GetContent,
    PutContent,
    DeleteContent,
    GetVersionContent,
    GetDossier,
}

impl GroupOperation {
    /// Specification 4.2.
    pub const STANDARD: [Self; 6] =
        [Self::List, Self::Create, Self::Get, Self::Patch, Self::Replace, Self::Delete];

    /// Every group has them.
    pub const HISTORY: [Self; 4] =
        [Self::ListVersions, Self::GetVersion, Self::Restore, Self::Compare];

    /// Of the groups whose items can have content.
    pub const CONTENT: [Self; 4] =
        [Self::GetContent, Self::PutContent, Self::DeleteContent, Self::GetVersionContent];

    /// A restore also requires `Create` or `Replace`, depending on whether the item exists.
    fn row(self) -> Row {
        use PathForm::{
            Collection, Content, Difference, Dossier, Item, Version, VersionContent, Versions,
        };
        use Permission::{Create, Delete, History, Patch, Read, Replace};
        use WriteOperation as Write;
        match self {
            Self::List => (Method::GET, Collection, &[Read], &[]),
            Self::Create => (Method::POST, Collection, &[Create], &[Write::Create]),
            Self::ReplaceAll => {
                let writes = &[Write::Create, Write::Replace, Write::Delete];
                (Method::PUT, Collection, &[Read, Create, Replace, Delete], writes)
            }
            Self::Get => (Method::GET, Item, &[Read], &[]),
            Self::Patch => (Method::PATCH, Item, &[Read, Patch], &[Write::Patch]),
            Self::Replace => (Method::PUT, Item, &[Read, Replace], &[Write::Replace]),
            Self::Delete => (Method::DELETE, Item, &[Read, Delete], &[Write::Delete]),
            Self::Continue => (Method::POST, Item, &[Read, Create], &[Write::Create]),
            Self::ListVersions => (Method::GET, Versions, &[Read, History], &[]),
            Self::GetVersion => (Method::GET, Version, &[Read, History], &[]),
            Self::Restore => {
                (Method::POST, Version, &[Read, History], &[Write::Create, Write::Replace])
            }
            Self::Compare => (Method::GET, Difference, &[Read, History], &[]),
            Self::GetContent => (Method::GET, Content, &[Read], &[]),
            Self::PutContent => (Method::PUT, Content, &[Read, Patch], &[Write::Patch]),
            Self::DeleteContent => (Method::DELETE, Content, &[Read, Patch], &[Write::Patch]),
            Self::GetVersionContent => (Method::GET, VersionContent, &[Read, History], &[]),
            Self::GetDossier => (Method::GET, Dossier, &[Read], &[]),
        }
    }

    pub fn method(self) -> Method {
        self.row().0
    }

    pub fn form(self) -> PathForm {
        self.row().1
    }

    pub fn asks(self) -> &'static [Permission] {
        self.row().2
    }

    pub fn writes(self) -> &'static [WriteOperation] {
        self.row().3
    }

    pub fn is_read(self) -> bool {
        self.method() == Method::GET
    }

    /// Standbys serve item reads without caller names.
    pub const fn is_served_by_standbys(self) -> bool {
        matches!(self, Self::List | Self::Get | Self::GetVersion | Self::Compare)
    }

    /// Idempotency-Key applies to POST only.
    pub fn takes_key(self) -> bool {
        self.method() == Method::POST
    }

    /// `Prefer` applies to writes with a representation.
    pub fn takes_preference(self) -> bool {
        !self.is_read() && !matches!(self, Self::Delete | Self::DeleteContent)
    }

    /// A body in JSON.
    pub const fn takes_body(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Patch | Self::Replace | Self::Continue | Self::ReplaceAll
        )
    }

    pub fn is_of_content(self) -> bool {
        self.form().is_of_bytes()
    }
}
