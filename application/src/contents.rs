//! The bytes of contents: uploads and downloads.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use domain::{Content, ContentDigest};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::ports::{
    Clock, ContentError, ContentId, ContentReader, ContentRegister, ContentResult, ContentStore,
    ContentWriter, IdGenerator, KeptContent, Ports, RepositoryError,
};

/// The time after which an upload without progress is abandoned.
const LEASE: SignedDuration = SignedDuration::from_mins(10);

/// The time after which a lease is extended.
const RENEWAL: SignedDuration = SignedDuration::from_mins(1);

#[derive(Clone)]
pub struct ContentService {
    store: Option<Arc<dyn ContentStore>>,
    pub(super) register: Arc<dyn ContentRegister>,
    pub(super) clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

/// Bytes that arrive.
pub struct Upload {
    service: ContentService,
    id: ContentId,
    writer: Box<dyn ContentWriter>,
    extended_at: Timestamp,
    sha256: Sha256,
    crc32: crc32fast::Hasher,
    size: u64,
}

/// A piece that is in the checksums of its upload.
pub struct HashedPiece(Bytes);

/// A part of kept bytes.
pub struct Download {
    reader: Box<dyn ContentReader>,
    /// Of a whole download.
    expected: Option<u32>,
    crc32: crc32fast::Hasher,
    /// The last piece, which is only returned if the checksum is right.
    held: Option<Bytes>,
}

impl ContentService {
    pub fn new(ports: &Ports) -> Self {
        Self {
            store: ports.contents.clone(),
            register: Arc::clone(&ports.content_register),
            clock: Arc::clone(&ports.clock),
            ids: Arc::clone(&ports.ids),
        }
    }

    pub(super) fn store(&self) -> ContentResult<&Arc<dyn ContentStore>> {
        self.store.as_ref().ok_or(ContentError::NoStore)
    }

    /// Begins an upload. It must be finished or abandoned; otherwise its bytes are removed when its
    /// lease ends.
    pub async fn begin(&self, expected: Option<u64>) -> ContentResult<Upload> {
        let store = self.store()?;
        let id = ContentId(self.ids.next_id().uuid());
        let extended_at = self.clock.now();
        self.register.announce(id, end(extended_at)).await?;
        let writer = match store.begin(id, expected).await {
            Ok(writer) => writer,
            Err(error) => {
                self.discard(id, None).await;
                return Err(error);
            }
        };
        let mut upload = Upload {
            service: self.clone(),
            id,
            writer,
            extended_at,
            sha256: Sha256::new(),
            crc32: crc32fast::Hasher::new(),
            size: 0,
        };
        if upload.writer.place().is_some()
            && let Err(error) = upload.extend(extended_at).await
        {
            upload.abandon().await;
            return Err(error);
        }
        Ok(upload)
    }

    /// Finds the bytes of an item's content.
    pub async fn find(&self, content: &Content) -> ContentResult<KeptContent> {
        self.register.find(content.digest).await?.ok_or(ContentError::Missing)
    }

    /// Opens a part of an item's content.
    pub async fn open(&self, kept: &KeptContent, part: Range<u64>) -> ContentResult<Download> {
        if kept.is_damaged {
            return Err(ContentError::Corrupted);
        }
        let is_whole = part == (0..kept.size);
        let reader = self.store()?.open(kept.id, part).await?;
        let expected = is_whole.then_some(kept.crc32);
        Ok(Download { reader, expected, crc32: crc32fast::Hasher::new(), held: None })
    }

    /// Removes the bytes of an upload. The sweep repeats it after a failure.
    async fn discard(&self, id: ContentId, place: Option<&str>) {
        let removed = async {
            // The answer to `keep` may have been lost: kept bytes may have been given to an item since.
            if !self.register.doom(id).await? {
                return Ok(());
            }
            self.store()?.remove(id, place).await?;
            self.register.forget(id).await.map_err(ContentError::from)
        };
        if let Err(error) = removed.await {
            tracing::warn!(%error, id = %id.0, "cannot remove the bytes of an upload yet");
        }
    }
}

impl Upload {
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds a piece to the checksums: 128 KiB take the processor for 0.1 ms.
    pub fn hash(&mut self, piece: Bytes) -> HashedPiece {
        self.sha256.update(&piece);
        self.crc32.update(&piece);
        HashedPiece(piece)
    }

    pub async fn append(&mut self, HashedPiece(piece): HashedPiece) -> ContentResult<()> {
        let now = self.service.clock.now();
        if now.duration_since(self.extended_at) > RENEWAL {
            self.extend(now).await?;
        }
        self.size += piece.len() as u64;
        self.writer.append(piece).await
    }

    async fn extend(&mut self, now: Timestamp) -> ContentResult<()> {
        let place = self.writer.place().map(ToOwned::to_owned);
        self.service.register.extend(self.id, place, end(now)).await?;
        self.extended_at = now;
        Ok(())
    }

    /// Returns the digest of the bytes so far.
    pub fn digest(&self) -> ContentDigest {
        ContentDigest::new(self.sha256.clone().finalize().into())
    }

    /// Makes the bytes durable, and keeps them until the end of a lease. A write can then give them
    /// to an item.
    pub async fn finish(self) -> ContentResult<()> {
        let digest = self.digest();
        let Self { service, id, writer, crc32, size, .. } = self;
        let place = writer.place().map(ToOwned::to_owned);
        let kept = KeptContent { id, digest, size, crc32: crc32.finalize(), is_damaged: false };
        let finished = async {
            writer.finish().await?;
            let now = service.clock.now();
            service.register.keep(kept, now, end(now)).await?;
            Ok(service.register.find(digest).await?)
        };
        match finished.await {
            // The same bytes were there.
            Ok(Some(found)) if found.id != id => service.discard(id, place.as_deref()).await,
            Ok(Some(_)) => {}
            Ok(None) => return Err(ContentError::Unavailable),
            Err(error) => {
                service.discard(id, place.as_deref()).await;
                return Err(error);
            }
        }
        Ok(())
    }

    pub async fn abandon(self) {
        let Self { service, id, writer, .. } = self;
        let place = writer.place().map(ToOwned::to_owned);
        drop(writer);
        service.discard(id, place.as_deref()).await;
    }
}

impl Download {
    /// Returns the next piece; `None` after the last one. Of a whole download, corrupted bytes are an
    /// error before the last piece.
    pub async fn next(&mut self) -> ContentResult<Option<Bytes>> {
        loop {
            let piece = self.reader.next().await?;
            if let Some(piece) = &piece {
                self.crc32.update(piece);
            } else if self
                .expected
                .is_some_and(|expected| self.crc32.clone().finalize() != expected)
            {
                return Err(ContentError::Corrupted);
            }
            let (is_end, held) = (piece.is_none(), std::mem::replace(&mut self.held, piece));
            if held.is_some() || is_end {
                return Ok(held);
            }
        }
    }
}

fn end(now: Timestamp) -> Timestamp {
    now + LEASE
}

impl From<ContentError> for crate::ApplicationError {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Missing | ContentError::Corrupted => Self::ContentLost,
            ContentError::NoStore => Self::NoContentStore,
            ContentError::Full => Self::Store(RepositoryError::Full),
            ContentError::Unavailable => Self::Store(RepositoryError::Unavailable),
            ContentError::Register(error) => error.into(),
        }
    }
}
