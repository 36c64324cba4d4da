//! A resource group as constants: what [`crate::group_api::GroupApi`] needs to know to serve it.

use std::borrow::Cow;

use domain::{Collection, ItemId, KnownMember, Relation, Resource};

use crate::media::MediaType;

/// One of the interface's groups. `groups.rs` lists them all; a new group is one more `impl` there.
pub trait Group: Send + Sync + 'static {
    /// The kind of item it holds.
    type Resource: Resource;

    /// Its name in the documentation: the tag of its operations.
    const NAME: &'static str;
    /// One item in a sentence's middle, with its article.
    const ITEM_NAME: &'static str;
    /// Many of them.
    const ITEMS_NAME: &'static str;
    /// The stem of its operation ids and schema names, in `UpperCamelCase`.
    const STEM: &'static str;
    /// What it is, for people.
    const DESCRIPTION: &'static str;
    /// The collection of the store it shows.
    const COLLECTION: Collection;
    /// The collection's path; an owner's identifier in it is written `:name`.
    const PATH: &'static str;
    /// The name of the item path's parameter.
    const ITEM_PARAMETER: &'static str;
    /// The items it is nested in, if it is.
    const OWNER: Option<Owner> = None;
    /// Its own media types, the usual one first.
    const VENDOR_TYPES: &'static [MediaType];
    /// What is served beside the standard set.
    const EXTRA_OPERATIONS: &'static [Operation] = &[];
    /// The links its items have beside `self` and `collection`.
    const LINKS: &'static [ItemLink] = &[];
    /// What its items hold.
    const MEMBERS: Members;
    /// The identifier of the group's item in the examples and the demonstration set.
    const EXAMPLE_ID: &'static str;

    /// The relations of its items that `embed` takes.
    #[must_use]
    fn embeds() -> Vec<Relation> {
        Self::COLLECTION.relations().collect()
    }

    /// Every operation it serves.
    #[must_use]
    fn operations() -> impl Iterator<Item = Operation> {
        Operation::STANDARD.iter().chain(Self::EXTRA_OPERATIONS).chain(Operation::HISTORY).copied()
    }

    /// The media types of its responses, the preferred one first.
    #[must_use]
    fn response_types() -> Vec<MediaType> {
        [&[MediaType::HAL], Self::VENDOR_TYPES, &[MediaType::JSON]].concat()
    }

    /// The media types of its request bodies, the group's own first.
    #[must_use]
    fn request_types() -> Vec<MediaType> {
        [Self::VENDOR_TYPES, &[MediaType::JSON]].concat()
    }

    /// The path of a form, its identifiers written `:name`.
    #[must_use]
    fn path_of(form: PathForm) -> String {
        match form {
            PathForm::Collection => Self::PATH.to_owned(),
            PathForm::Item => format!("{}/:{}", Self::PATH, Self::ITEM_PARAMETER),
            PathForm::Versions => format!("{}/versions", Self::path_of(PathForm::Item)),
            PathForm::Version => {
                format!("{}/:{VERSION_PARAMETER}", Self::path_of(PathForm::Versions))
            }
            PathForm::Difference => format!("{}/diff", Self::path_of(PathForm::Version)),
        }
    }

    /// The collection's path with the owner's identifier filled in.
    #[must_use]
    fn collection_path(owner: Option<ItemId>) -> Cow<'static, str> {
        match (&Self::OWNER, owner) {
            (Some(of), Some(id)) => {
                Self::PATH.replace(&format!(":{}", of.parameter), &id.to_string()).into()
            }
            _ => Self::PATH.into(),
        }
    }
}

/// The items a nested group belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// The path of their collection.
    pub path: &'static str,
    /// The name of the path parameter that names one.
    pub parameter: &'static str,
    /// The identifier of the demonstration set's one.
    pub example_id: &'static str,
}

/// The name of the parameter of a path that leads to a version.
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
    /// What differs between it and another.
    Difference,
}

impl PathForm {
    /// All there are.
    pub const ALL: [Self; 5] =
        [Self::Collection, Self::Item, Self::Versions, Self::Version, Self::Difference];
}

/// What can be done with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
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
    /// GET on what differs between two.
    Compare,
    /// POST on a version: the item becomes what it was.
    Restore,
}

impl Operation {
    /// The standard set (specification 4.2).
    pub const STANDARD: &'static [Self] =
        &[Self::List, Self::Create, Self::Get, Self::Patch, Self::Replace, Self::Delete];

    /// What every group has beside it.
    pub const HISTORY: &'static [Self] =
        &[Self::ListVersions, Self::GetVersion, Self::Restore, Self::Compare];

    /// Where it is served.
    #[must_use]
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

    /// Whether it changes nothing.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(
            self,
            Self::List | Self::Get | Self::ListVersions | Self::GetVersion | Self::Compare
        )
    }

    /// Whether it makes something, so that it is known by its key when it is sent again.
    #[must_use]
    pub const fn takes_key(self) -> bool {
        matches!(self, Self::Create | Self::Continue | Self::Restore)
    }

    /// Whether the request has a body.
    #[must_use]
    pub const fn takes_body(self) -> bool {
        !self.is_read() && !matches!(self, Self::Delete | Self::Restore)
    }
}

/// A link from an item to what it relates to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemLink {
    /// From a proposal to its library.
    Library,
    /// From a proposal to its programme.
    Program,
    /// From a library item to its proposal.
    Proposal,
    /// Between an item and those that continue it.
    Continuations,
}

/// What the items of a group hold.
#[derive(Clone, Copy, Debug)]
pub enum Members {
    /// The proposal's field table.
    Proposal,
    /// Any members; those that are usual, documented and never enforced.
    Open(&'static [KnownMember]),
}
