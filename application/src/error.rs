//! The errors of the use cases.

use domain::{Collection, ContentDigest, Operation, Version, Violations};
use jiff::Timestamp;
use thiserror::Error;

use crate::RepositoryError;

pub type Result<T, E = ApplicationError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum ApplicationError {
    #[error("no such item")]
    ItemNotFound,
    #[error("the item has no content")]
    NoContent,
    #[error("there is no place for contents")]
    NoContentStore,
    #[error("the contents of a proposal may have at most {most} bytes")]
    ProposalFull { most: u64 },
    /// The item has content, but its bytes are missing or corrupted.
    #[error("the bytes of the content are lost")]
    ContentLost,
    #[error("the request's condition does not match the content")]
    ContentChanged {
        /// The digest of the current content.
        current: Option<ContentDigest>,
    },
    /// The parent of the scope, such as the proposal of a nested library, does not exist.
    #[error("the parent of the collection does not exist")]
    ParentNotFound,
    #[error("the request's condition does not match the item, which is at version {current}")]
    PreconditionFailed {
        current: Version,
        /// The links in its representation, for the entity tag in the response.
        links: crate::Links,
    },
    #[error("the request's condition does not match the collection, which has changed")]
    CollectionChanged {
        /// The current revision, as the caller sees the collection.
        current: crate::PageRevision,
    },
    #[error("the request's condition does not match the item, which was removed")]
    ItemDeleted,
    #[error("the item has {latest} versions")]
    VersionNotFound { latest: Version },
    /// The version is the item's removal.
    #[error("version {version} is the removal of the item")]
    VersionGone { version: Version, time: Timestamp },
    /// The retention policy removed the body.
    #[error("the body of version {version} was removed at {removed_at}")]
    BodyRemoved { version: Version, removed_at: Timestamp },
    #[error("the time is in the future")]
    InFuture,
    #[error("the change log does not go back that far")]
    BeyondLog,
    /// A request with the same key is in progress.
    #[error("a request with the same key is still in progress")]
    KeyInUse,
    #[error("the key was used for another request")]
    KeyReused,
    #[error("sign-in is required")]
    CredentialsRequired,
    #[error("the client may not {}", operation.name())]
    InsufficientScope { operation: Operation },
    #[error("the policies do not allow the caller to {} items of `{}`", operation.name(), collection.name())]
    NotPermitted {
        operation: Operation,
        collection: Collection,
        /// The policies that deny it. Can be empty.
        policies: Vec<Box<str>>,
    },
    /// The caller may write the item, but not these of its members, or does not see them.
    #[error("the policies do not allow the caller to write these members")]
    MembersNotPermitted(Violations),
    /// The policies forbid the deletion of items below the item.
    #[error("the policies do not allow the caller to delete the items of `{}` in it", collection.name())]
    NotPermittedBelow { collection: Collection, policies: Vec<Box<str>> },
    /// The write replaces the whole collection. The caller may write only some items.
    #[error("the caller may not write all items of the collection")]
    WholeCollectionNeeded,
    #[error("the request body is invalid")]
    Invalid(Violations),
    #[error("page {page} is beyond the last page")]
    PageOutOfRange {
        page: u64,
        /// The number of pages, if known.
        page_count: Option<u64>,
    },
    /// The embedded items exceed the limit of an answer.
    #[error("more than {} items would be embedded", crate::MOST_EMBEDDED)]
    TooMuchEmbedded,
    /// Other writers changed the item in every attempt.
    #[error("too many concurrent changes to the item")]
    TooManyConflicts,
    #[error(transparent)]
    Store(RepositoryError),
}

impl From<RepositoryError> for ApplicationError {
    fn from(error: RepositoryError) -> Self {
        match error {
            RepositoryError::ItemNotFound => Self::ItemNotFound,
            RepositoryError::ParentNotFound => Self::ParentNotFound,
            RepositoryError::VersionConflict | RepositoryError::AnsweredBefore => {
                Self::TooManyConflicts
            }
            RepositoryError::Unavailable
            | RepositoryError::IndexBuilding { .. }
            | RepositoryError::Full
            | RepositoryError::Corrupt => Self::Store(error),
        }
    }
}
