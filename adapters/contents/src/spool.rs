//! The bytes of a part of an upload to a bucket, in a temporary file.

use std::fs::File;
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use application::{ContentError, ContentId, ContentResult};
use bytes::Bytes;
use tokio::task::spawn_blocking;

/// The bytes of a read.
pub const PIECE: usize = 256 * 1024;

/// A new file.
pub struct Spool {
    id: ContentId,
    file: Arc<File>,
    size: usize,
}

impl Spool {
    /// A file without a name.
    pub async fn temporary(id: ContentId, folder: Arc<Path>) -> ContentResult<Self> {
        let file = blocking("begin", id, || tempfile::tempfile_in(folder)).await?;
        Ok(Self { id, file: Arc::new(file), size: 0 })
    }

    /// The bytes since the file was begun or taken.
    pub const fn size(&self) -> usize {
        self.size
    }

    pub async fn append(&mut self, piece: Bytes) -> ContentResult<()> {
        self.size += piece.len();
        let file = Arc::clone(&self.file);
        blocking("append", self.id, move || (&*file).write_all(&piece)).await
    }

    /// Returns the bytes, and begins again.
    pub async fn take(&mut self) -> ContentResult<Bytes> {
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
