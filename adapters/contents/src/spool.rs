//! A file that is written in large pieces, on the threads for blocking work.

use std::fs::File;
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use application::{ContentError, ContentId, ContentResult};
use bytes::{Bytes, BytesMut};
use tokio::task::spawn_blocking;

/// The bytes of a read or a write.
pub const PIECE: usize = 256 * 1024;

/// A new file.
pub struct Spool {
    id: ContentId,
    pub file: Arc<File>,
    /// The bytes that are not written yet.
    piece: BytesMut,
    size: usize,
}

impl Spool {
    pub fn new(id: ContentId, file: File) -> Self {
        Self { id, file: Arc::new(file), piece: BytesMut::new(), size: 0 }
    }

    /// A file without a name.
    pub async fn temporary(id: ContentId, folder: Arc<Path>) -> ContentResult<Self> {
        let file = blocking("begin", id, || tempfile::tempfile_in(folder)).await?;
        Ok(Self::new(id, file))
    }

    /// The bytes since the file was begun or taken.
    pub const fn size(&self) -> usize {
        self.size
    }

    pub async fn append(&mut self, piece: Bytes) -> ContentResult<()> {
        self.size += piece.len();
        if self.piece.is_empty() && piece.len() >= PIECE {
            return self.write(piece).await;
        }
        self.piece.extend_from_slice(&piece);
        if self.piece.len() < PIECE { Ok(()) } else { self.flush().await }
    }

    pub async fn flush(&mut self) -> ContentResult<()> {
        let piece = self.piece.split().freeze();
        self.write(piece).await
    }

    async fn write(&self, piece: Bytes) -> ContentResult<()> {
        let file = Arc::clone(&self.file);
        blocking("append", self.id, move || (&*file).write_all(&piece)).await
    }

    /// Returns the bytes, and begins again.
    pub async fn take(&mut self) -> ContentResult<Bytes> {
        self.flush().await?;
        let (file, size) = (Arc::clone(&self.file), std::mem::take(&mut self.size));
        let taken = move || {
            let mut bytes = vec![0; size];
            file.read_exact_at(&mut bytes, 0)?;
            file.set_len(0)?;
            (&*file).seek(SeekFrom::Start(0))?;
            Ok(Bytes::from(bytes))
        };
        blocking("append", self.id, taken).await
    }
}

/// Runs work of the file system, and logs its error.
pub async fn blocking<T: Send + 'static>(
    step: &'static str,
    id: ContentId,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> ContentResult<T> {
    let done = spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| {
        let meaning = match error.kind() {
            ErrorKind::NotFound => ContentError::Missing,
            ErrorKind::UnexpectedEof => ContentError::Corrupted,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ContentError::Full,
            _ => ContentError::Unavailable,
        };
        tracing::error!(%error, step, id = %id.0, "the content store failed");
        meaning
    })
}
