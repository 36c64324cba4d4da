//! Errors of the store.

use thiserror::Error;

/// The result of a step of the store.
pub type Result<T, E = RepositoryError> = std::result::Result<T, E>;

/// Why the store did not do a step. The cause was logged where it arose.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RepositoryError {
    /// The scope does not hold the item.
    #[error("the item does not exist")]
    ItemNotFound,
    /// The scope's parent does not exist.
    #[error("the parent of the collection does not exist")]
    ParentNotFound,
    /// The item is not at the expected version.
    #[error("the item was written by somebody else")]
    VersionConflict,
    /// A write with the same key was done before.
    #[error("the request was answered before")]
    AnsweredBefore,
    /// The store cannot be reached or is too busy; trying again later may help.
    #[error("the store is unavailable")]
    Unavailable,
    /// The full-text index is further behind than a search waits.
    #[error("the full-text index is behind: it knows {indexed} of {of} changes")]
    IndexBuilding {
        /// The changes that are indexed.
        indexed: u64,
        /// The changes that there are.
        of: u64,
        /// About how many seconds the rest takes.
        seconds: u64,
    },
    /// The store has no room for the write.
    #[error("the store is full")]
    Full,
    /// The content or the response of the store is invalid.
    #[error("the store's content is not understood")]
    Corrupt,
}
