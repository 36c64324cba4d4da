//! The operations of groups and their paths.

use domain::{Operation as Permission, WriteOperation};
use poem::http::Method;

pub const VERSION_PARAMETER: &str = "version";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const ALL: [Self; 8] = [
        Self::Collection,
        Self::Item,
        Self::Versions,
        Self::Version,
        Self::Difference,
        Self::Content,
        Self::VersionContent,
        Self::Dossier,
    ];
}

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

    pub const fn method(self) -> Method {
        match self {
            Self::List
            | Self::Get
            | Self::ListVersions
            | Self::GetVersion
            | Self::Compare
            | Self::GetContent
            | Self::GetVersionContent
            | Self::GetDossier => Method::GET,
            Self::Create | Self::Continue | Self::Restore => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Replace | Self::ReplaceAll | Self::PutContent => Method::PUT,
            Self::Delete | Self::DeleteContent => Method::DELETE,
        }
    }

    pub const fn form(self) -> PathForm {
        match self {
            Self::ListVersions => PathForm::Versions,
            Self::GetVersion | Self::Restore => PathForm::Version,
            Self::Compare => PathForm::Difference,
            Self::GetContent | Self::PutContent | Self::DeleteContent => PathForm::Content,
            Self::GetVersionContent => PathForm::VersionContent,
            Self::GetDossier => PathForm::Dossier,
            Self::List | Self::Create | Self::ReplaceAll => PathForm::Collection,
            Self::Get | Self::Patch | Self::Replace | Self::Delete | Self::Continue => {
                PathForm::Item
            }
        }
    }

    pub fn is_read(self) -> bool {
        self.method() == Method::GET
    }

    /// Standbys serve item reads without caller names.
    pub const fn is_served_by_standbys(self) -> bool {
        matches!(self, Self::List | Self::Get | Self::GetVersion | Self::Compare)
    }

    pub const fn writes(self) -> &'static [WriteOperation] {
        use WriteOperation::{Create, Delete, Patch, Replace};
        match self {
            Self::Create | Self::Continue => &[Create],
            Self::Replace => &[Replace],
            Self::Patch | Self::PutContent | Self::DeleteContent => &[Patch],
            Self::Delete => &[Delete],
            Self::Restore => &[Create, Replace],
            Self::ReplaceAll => &[Create, Replace, Delete],
            Self::List
            | Self::Get
            | Self::ListVersions
            | Self::GetVersion
            | Self::Compare
            | Self::GetContent
            | Self::GetVersionContent
            | Self::GetDossier => &[],
        }
    }

    /// The permissions that the gate requires. A restore also requires `Create` or `Replace`,
    /// depending on whether the item exists.
    pub const fn asks(self) -> &'static [Permission] {
        use Permission::{Create, Delete, History, Patch, Read, Replace};
        match self {
            Self::List | Self::Get | Self::GetContent | Self::GetDossier => &[Read],
            Self::ListVersions
            | Self::GetVersion
            | Self::Compare
            | Self::Restore
            | Self::GetVersionContent => &[Read, History],
            Self::Create => &[Create],
            Self::Continue => &[Read, Create],
            Self::Replace => &[Read, Replace],
            Self::Patch | Self::PutContent | Self::DeleteContent => &[Read, Patch],
            Self::Delete => &[Read, Delete],
            Self::ReplaceAll => &[Read, Create, Replace, Delete],
        }
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
    pub fn takes_body(self) -> bool {
        !self.is_read()
            && !matches!(
                self,
                Self::Delete | Self::Restore | Self::PutContent | Self::DeleteContent
            )
    }

    /// Bytes that are not JSON, in a request or a response.
    pub const fn is_of_content(self) -> bool {
        matches!(
            self,
            Self::GetContent
                | Self::PutContent
                | Self::DeleteContent
                | Self::GetVersionContent
                | Self::GetDossier
        )
    }
}
