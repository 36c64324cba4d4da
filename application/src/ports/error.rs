use thiserror::Error;

pub type Result<T, E = RepositoryError> = std::result::Result<T, E>;

/// The errors of the store. The cause is already in the log.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RepositoryError {
    #[error("the item does not exist")]
    ItemNotFound,
    #[error("the parent of the collection does not exist")]
    ParentNotFound,
    #[error("the item was changed by another request")]
    VersionConflict,
    #[error("the request was already answered")]
    AnsweredBefore,
    /// The store is unreachable or too busy. A retry may succeed.
    #[error("the store is unavailable")]
    Unavailable,
    /// The full-text index is further behind than a search waits.
    #[error("the full-text index is behind: it has {indexed} of {of} changes")]
    IndexBuilding { indexed: u64, of: u64, seconds: u64 },
    #[error("the storage is full")]
    Full,
    #[error("the store's content is invalid")]
    Corrupt,
}
