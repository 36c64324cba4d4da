//! Why a use case did not do what it was asked.

use domain::{Collection, Operation, Version, Violations};
use jiff::Timestamp;
use thiserror::Error;

use crate::RepositoryError;

/// The result of a use case.
pub type Result<T, E = ApplicationError> = std::result::Result<T, E>;

/// The outcomes of a use case other than success.
#[derive(Debug, Error)]
pub enum ApplicationError {
    /// No such item in this scope.
    #[error("no such item")]
    ItemNotFound,
    /// The parent of the scope, such as the proposal of a nested library, does not exist.
    #[error("the parent of the collection does not exist")]
    ParentNotFound,
    /// The client's condition on the version does not hold.
    #[error("the item is at version {current}, which the request's condition excludes")]
    PreconditionFailed {
        /// The current version of the item.
        current: Version,
        /// The links in its representation, for the entity tag in the response.
        links: crate::Links,
    },
    /// The client's condition on the collection's revision does not hold.
    #[error("the collection has changed, which the request's condition excludes")]
    CollectionChanged {
        /// The current revision, as the caller sees the collection.
        current: crate::PageRevision,
    },
    /// The condition is on the version of an item that was removed.
    #[error("the item was removed, which the request's condition excludes")]
    ItemDeleted,
    /// The item has no such version.
    #[error("the item has {latest} versions")]
    VersionNotFound {
        /// The last one.
        latest: Version,
    },
    /// The version is the item's removal.
    #[error("version {version} is the removal of the item")]
    VersionGone {
        /// The version that was asked for.
        version: Version,
        /// When it was removed.
        time: Timestamp,
    },
    /// The body of the version was removed, as the retention policy says.
    #[error("the body of version {version} was removed at {removed_at}")]
    BodyRemoved {
        /// The version that was asked for.
        version: Version,
        /// When its body was removed.
        removed_at: Timestamp,
    },
    /// The requested time lies in the future.
    #[error("the time is still to come")]
    InFuture,
    /// The change log does not reach as far.
    #[error("the change log does not reach as far")]
    BeyondLog,
    /// A request with the same key is at work.
    #[error("a request with the same key is at work")]
    KeyInUse,
    /// Another request was sent with the same key.
    #[error("the key was used for another request")]
    KeyReused,
    /// Only a known caller may do this.
    #[error("only a known caller may do this")]
    CredentialsRequired,
    /// The client was not granted the operation.
    #[error("the client was not granted to {}", operation.name())]
    InsufficientScope {
        /// The operation.
        operation: Operation,
    },
    /// The policies do not permit the operation.
    #[error("the policies do not permit to {} items of `{}`", operation.name(), collection.name())]
    NotPermitted {
        /// The operation.
        operation: Operation,
        /// The collection.
        collection: Collection,
        /// The policies that deny it, if any do.
        policies: Vec<Box<str>>,
    },
    /// The policies do not permit to delete all items that would be deleted with the item.
    #[error("the policies do not permit to delete items of `{}` with it", collection.name())]
    NotPermittedBelow {
        /// The collection of those items.
        collection: Collection,
        /// The policies that deny it, if any do.
        policies: Vec<Box<str>>,
    },
    /// The write is of the whole collection, of which the caller may write only some items.
    #[error("the caller may not write all items of the collection")]
    WholeCollectionNeeded,
    /// The body was read and is refused.
    #[error("the body is refused")]
    Invalid(Violations),
    /// The page lies beyond the last.
    #[error("page {page} lies beyond the last")]
    PageOutOfRange {
        /// The page asked for.
        page: u64,
        /// How many there are, if it is known.
        page_count: Option<u64>,
    },
    /// More would have to be shown beside the items than fits an answer.
    #[error("more than {} items would be embedded", crate::MOST_EMBEDDED)]
    TooMuchEmbedded,
    /// Other writers kept changing the item for longer than the service tries.
    #[error("the item is being changed by too many writers at once")]
    TooManyConflicts,
    /// The store failed.
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
