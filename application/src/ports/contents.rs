//! The bytes of contents, and their register in the database.
//!
//! Bytes lie under a name that is used once. The register knows a name before its first byte, so an
//! abandoned upload is found without a listing. A name is arriving, then kept, then doomed, or at once
//! doomed. Bytes are removed after the commit that dooms them.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use domain::ContentDigest;
use jiff::Timestamp;
use thiserror::Error;
use uuid::Uuid;

use super::{RepositoryError, Result};

/// A name of bytes. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentId(pub Uuid);

/// The errors of the content store. The cause is already in the log.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ContentError {
    #[error("the bytes are missing")]
    Missing,
    /// The bytes are not those that were stored.
    #[error("the bytes are corrupted")]
    Corrupted,
    #[error("there is no place for contents")]
    NoStore,
    #[error("no space is left for the bytes")]
    Full,
    #[error("the content store is unavailable")]
    Unavailable,
    #[error(transparent)]
    Register(#[from] RepositoryError),
}

pub type ContentResult<T> = Result<T, ContentError>;

/// Keeps bytes. MUST NOT open unfinished bytes. Finished bytes MUST survive a crash of the machine.
#[async_trait]
pub trait ContentStore: Send + Sync {
    /// Begins to store bytes. MUST fail with [`ContentError::Full`] without room for `expected` bytes.
    async fn begin(
        &self,
        id: ContentId,
        expected: Option<u64>,
    ) -> ContentResult<Box<dyn ContentWriter>>;

    /// Opens a part of finished bytes. MUST fail with [`ContentError::Missing`] before the first piece.
    async fn open(&self, id: ContentId, part: Range<u64>) -> ContentResult<Box<dyn ContentReader>>;

    /// Removes bytes, finished or not; `place` is that of their writer. MUST succeed without any.
    async fn remove(&self, id: ContentId, place: Option<&str>) -> ContentResult<()>;

    /// Lists the finished bytes under names that end with a byte, with their sizes. For the care of
    /// contents only: a store may list late.
    async fn names(&self, last_byte: u8) -> ContentResult<Vec<(ContentId, u64)>>;
}

#[async_trait]
pub trait ContentWriter: Send {
    /// The key that removes unfinished bytes, if their name is not enough. It MUST be known
    /// before the first byte.
    fn place(&self) -> Option<&str> {
        None
    }

    async fn append(&mut self, piece: Bytes) -> ContentResult<()>;

    async fn finish(self: Box<Self>) -> ContentResult<()>;
}

#[async_trait]
pub trait ContentReader: Send {
    /// Returns the next piece; `None` after the last one. A part that is shorter than asked for is
    /// [`ContentError::Corrupted`].
    async fn next(&mut self) -> ContentResult<Option<Bytes>>;
}

/// Whole bytes, by their digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptContent {
    pub id: ContentId,
    pub digest: ContentDigest,
    /// In bytes.
    pub size: u64,
    /// CRC-32 (ISO 3309), which a full read checks.
    pub crc32: u32,
    /// True if the last verification failed.
    pub is_damaged: bool,
}

/// A difference between the bytes that were stored and those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentDamage {
    Missing,
    Truncated,
    Corrupted,
}

impl ContentDamage {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Truncated => "truncated",
            Self::Corrupted => "corrupted",
        }
    }
}

/// Numbers of the register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentTotals {
    pub arriving: u64,
    pub kept: u64,
    /// Of the kept ones, in bytes.
    pub bytes: u64,
    pub doomed: u64,
    pub damaged: u64,
}

/// The register of bytes. Leases end at times of the service's clock.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ContentRegister: Send + Sync {
    /// Adds a name without bytes.
    async fn announce(&self, id: ContentId, lease: Timestamp) -> Result<()>;

    /// Extends the lease of arriving bytes, and records their place. Fails as a version conflict if
    /// they are doomed.
    async fn extend(&self, id: ContentId, place: Option<String>, lease: Timestamp) -> Result<()>;

    /// Keeps finished bytes until an item has them, or until the end of the lease. If the same bytes
    /// are kept already, MUST extend their lease instead, or replace them if they are damaged. Fails as
    /// a version conflict if these are doomed.
    async fn keep(&self, content: KeptContent, now: Timestamp, lease: Timestamp) -> Result<()>;

    /// Returns the bytes with this digest.
    async fn find(&self, digest: ContentDigest) -> Result<Option<KeptContent>>;

    /// Dooms arriving bytes.
    async fn doom(&self, id: ContentId) -> Result<bool>;

    /// Dooms the bytes whose lease has ended, and that no item has had. MUST NOT doom bytes that a
    /// write in progress gives to an item.
    async fn doom_expired(&self, now: Timestamp) -> Result<()>;

    /// Returns some doomed names, with their places.
    async fn doomed(&self, limit: u64) -> Result<Vec<(ContentId, Option<String>)>>;

    /// Forgets a doomed name.
    async fn forget(&self, id: ContentId) -> Result<()>;

    /// Adds bytes that items have already. Does nothing if the same bytes are kept.
    async fn adopt(&self, content: KeptContent, now: Timestamp) -> Result<()>;

    /// Returns whether a name is known.
    async fn knows(&self, id: ContentId) -> Result<bool>;

    /// Returns the next kept bytes that an item has or had, by name.
    async fn kept_after(&self, id: ContentId, limit: u64) -> Result<Vec<KeptContent>>;

    /// Returns the kept bytes that were verified longest ago, if before `before`, or damaged ones before
    /// `damaged_before`, and sets the time to `now`. MUST return bytes to one caller only.
    async fn claim_verification(
        &self,
        before: Timestamp,
        damaged_before: Timestamp,
        now: Timestamp,
    ) -> Result<Option<KeptContent>>;

    /// Records the result of a verification.
    async fn record_damage(&self, id: ContentId, damage: Option<ContentDamage>) -> Result<()>;

    async fn totals(&self) -> Result<ContentTotals>;
}
