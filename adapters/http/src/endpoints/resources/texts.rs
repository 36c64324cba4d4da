//! The texts of an archive, in memory or in a temporary file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::spawn_blocking;

#[derive(Clone)]
pub enum Texts {
    Memory(Bytes),
    File(Arc<File>),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Memory(Bytes::new())
    }
}

impl Texts {
    /// Reads a small part.
    pub async fn read(&self, part: Range<u64>) -> io::Result<Bytes> {
        let index = |place| usize::try_from(place).map_err(io::Error::other);
        let file = match self {
            Self::Memory(bytes) => return Ok(bytes.slice(index(part.start)?..index(part.end)?)),
            Self::File(file) => Arc::clone(file),
        };
        let mut bytes = vec![0; index(part.end - part.start)?];
        let read = move || file.read_exact_at(&mut bytes, part.start).map(|()| bytes.into());
        spawn_blocking(read).await.map_err(io::Error::other)?
    }
}
