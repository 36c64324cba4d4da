//! A folder of files, one for the bytes of a name: `incoming/NAME` while they arrive, then `XX/NAME`,
//! with the last two digits of the name as `XX`. The first digits are a time, so that all new files
//! would be in one folder. `store-id` has the id that the database names.
//!
//! A file is synchronized before it is renamed, and its new folder after. So a finished file survives a
//! crash of the machine.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use application::{
    ContentError, ContentId, ContentReader, ContentResult, ContentStore, ContentWriter,
};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;
use thiserror::Error;
use tokio::task::spawn_blocking;

/// The bytes of a read or a write.
const PIECE: usize = 256 * 1024;

const INCOMING: &str = "incoming";

const STORE_ID: &str = "store-id";

#[derive(Debug, Error)]
pub enum FolderError {
    #[error(
        "cannot use the folder {path} for contents: {1}; create it, or name another with --contents",
        path = .0.display()
    )]
    Unusable(PathBuf, io::Error),
    #[error(
        "the folder {path} has the contents of another store; name the one that belongs to the database with --contents",
        path = .0.display()
    )]
    OfAnother(PathBuf),
    #[error(
        "the folder {path} does not have the contents of this store: it may be an empty mount point, or another folder; \
         mount or name the one with the contents (--contents)",
        path = .0.display()
    )]
    Empty(PathBuf),
}

/// Clones share the folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: Arc<Path>,
    /// The bytes of free space that an upload leaves on the disk.
    reserve: u64,
}

impl Folder {
    /// Opens the folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be created or written to.
    pub fn open(path: &Path, reserve: u64) -> Result<Self, FolderError> {
        let unusable = |error| FolderError::Unusable(path.to_owned(), error);
        create_folder(path).map_err(unusable)?;
        create_folder(&path.join(INCOMING)).map_err(unusable)?;
        Ok(Self { path: path.into(), reserve })
    }

    /// The id of the folder; `None` for a new one.
    fn id(&self) -> Result<Option<String>, FolderError> {
        match fs::read_to_string(self.path.join(STORE_ID)) {
            Ok(id) => Ok(Some(id.trim().to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::Unusable(self.path.to_path_buf(), error)),
        }
    }

    fn set_id(&self, id: &str) -> Result<(), FolderError> {
        let written = || {
            let mut file = tempfile::NamedTempFile::new_in(&*self.path)?;
            writeln!(file, "{id}")?;
            file.as_file().sync_all()?;
            file.persist_noclobber(self.path.join(STORE_ID))?;
            sync_folder(&self.path)
        };
        written().map_err(|error| FolderError::Unusable(self.path.to_path_buf(), error))
    }

    /// Checks that the folder has the id that the database names, if it names any. A new folder gets
    /// that id or `new_id`, unless the database knows of bytes. Returns the id.
    ///
    /// # Errors
    /// If it is another folder, or a new one without the bytes.
    pub fn claim(
        &self,
        named: Option<&str>,
        has_bytes: bool,
        new_id: &str,
    ) -> Result<String, FolderError> {
        match (self.id()?, named) {
            (Some(own), Some(named)) if own != named => {
                Err(FolderError::OfAnother(self.path.to_path_buf()))
            }
            (Some(own), _) => Ok(own),
            (None, _) if has_bytes => Err(FolderError::Empty(self.path.to_path_buf())),
            (None, named) => {
                let id = named.unwrap_or(new_id);
                self.set_id(id).map(|()| id.to_owned())
            }
        }
    }

    fn incoming(&self, id: ContentId) -> PathBuf {
        self.path.join(INCOMING).join(id.0.to_string())
    }

    fn finished(&self, id: ContentId) -> PathBuf {
        let name = id.0.to_string();
        self.path.join(&name[name.len() - 2..]).join(name)
    }

    fn begin_file(&self, id: ContentId, expected: Option<u64>) -> io::Result<File> {
        let disk = statvfs(&*self.path)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < self.reserve.saturating_add(expected.unwrap_or_default()) {
            return Err(ErrorKind::StorageFull.into());
        }
        let path = self.incoming(id);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        if let Some(expected) = expected.filter(|expected| *expected > 0) {
            match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, expected) {
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(error) => {
                    let _ = fs::remove_file(path);
                    return Err(error.into());
                }
            }
        }
        Ok(file)
    }

    fn finish_file(&self, id: ContentId, file: &File) -> io::Result<()> {
        file.sync_data()?;
        let finished = self.finished(id);
        let folder = finished.parent().unwrap_or(&self.path);
        if !folder.is_dir() {
            create_folder(folder)?;
            sync_folder(&self.path)?;
        }
        fs::rename(self.incoming(id), &finished)?;
        sync_folder(folder)
    }

    fn remove_files(&self, id: ContentId) -> io::Result<()> {
        for path in [self.incoming(id), self.finished(id)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Readable by the owner alone.
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

async fn blocking<T: Send + 'static>(
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

#[async_trait]
impl ContentStore for Folder {
    async fn begin(
        &self,
        id: ContentId,
        expected: Option<u64>,
    ) -> ContentResult<Box<dyn ContentWriter>> {
        let folder = self.clone();
        let file = blocking("begin", id, move || folder.begin_file(id, expected)).await?;
        let (folder, piece) = (self.clone(), BytesMut::new());
        Ok(Box::new(FileWriter { folder, id, file: Arc::new(file), piece }))
    }

    async fn open(&self, id: ContentId, part: Range<u64>) -> ContentResult<Box<dyn ContentReader>> {
        let folder = self.clone();
        let file = blocking("open", id, move || File::open(folder.finished(id))).await?;
        Ok(Box::new(FileReader { id, file: Arc::new(file), part }))
    }

    async fn remove(&self, id: ContentId) -> ContentResult<()> {
        let folder = self.clone();
        blocking("remove", id, move || folder.remove_files(id)).await
    }
}

struct FileWriter {
    folder: Folder,
    id: ContentId,
    file: Arc<File>,
    piece: BytesMut,
}

impl FileWriter {
    async fn write(&mut self) -> ContentResult<()> {
        let (file, piece) = (Arc::clone(&self.file), self.piece.split().freeze());
        blocking("append", self.id, move || (&*file).write_all(&piece)).await
    }
}

#[async_trait]
impl ContentWriter for FileWriter {
    async fn append(&mut self, piece: Bytes) -> ContentResult<()> {
        self.piece.extend_from_slice(&piece);
        if self.piece.len() < PIECE { Ok(()) } else { self.write().await }
    }

    async fn finish(mut self: Box<Self>) -> ContentResult<()> {
        self.write().await?;
        let Self { folder, id, file, .. } = *self;
        blocking("finish", id, move || folder.finish_file(id, &file)).await
    }
}

struct FileReader {
    id: ContentId,
    file: Arc<File>,
    /// The rest of the part.
    part: Range<u64>,
}

#[async_trait]
impl ContentReader for FileReader {
    async fn next(&mut self) -> ContentResult<Option<Bytes>> {
        let left = self.part.end.saturating_sub(self.part.start);
        let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        if length == 0 {
            return Ok(None);
        }
        let (file, from) = (Arc::clone(&self.file), self.part.start);
        let read = move || {
            let mut piece = vec![0; length];
            file.read_exact_at(&mut piece, from)?;
            Ok(Bytes::from(piece))
        };
        let piece = blocking("read", self.id, read).await?;
        self.part.start += length as u64;
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use application::{ContentError, ContentId, ContentStore as _};
    use bytes::Bytes;
    use uuid::Uuid;

    use super::{Folder, FolderError};

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(&place.path().join("contents"), 0).unwrap();
        (place, folder)
    }

    async fn read(folder: &Folder, id: ContentId, part: std::ops::Range<u64>) -> Vec<u8> {
        let mut reader = folder.open(id, part).await.unwrap();
        let mut read = Vec::new();
        while let Some(piece) = reader.next().await.unwrap() {
            read.extend_from_slice(&piece);
        }
        read
    }

    #[tokio::test]
    async fn bytes_are_readable_once_they_are_finished_and_until_they_are_removed() {
        let (_place, folder) = folder();
        let id = ContentId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_00ab));
        let bytes: Vec<u8> = (0..700_000_u32).map(|number| (number % 251) as u8).collect();
        let mut writer = folder.begin(id, Some(bytes.len() as u64)).await.unwrap();
        for piece in bytes.chunks(9_000) {
            writer.append(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        assert_eq!(folder.open(id, 0..1).await.err(), Some(ContentError::Missing));
        writer.finish().await.unwrap();
        assert_eq!(read(&folder, id, 0..700_000).await, bytes);
        assert_eq!(read(&folder, id, 262_140..262_150).await, bytes[262_140..262_150]);
        assert!(read(&folder, id, 5..5).await.is_empty());
        let mut beyond = folder.open(id, 699_999..700_001).await.unwrap();
        assert_eq!(beyond.next().await.err(), Some(ContentError::Corrupted));
        folder.remove(id).await.unwrap();
        folder.remove(id).await.unwrap();
        assert_eq!(folder.open(id, 0..1).await.err(), Some(ContentError::Missing));
    }

    #[tokio::test]
    async fn an_upload_leaves_the_reserve_and_nothing_if_it_is_refused() {
        let (place, folder) = folder();
        let full = Folder { reserve: u64::MAX, ..folder.clone() };
        let id = ContentId(Uuid::from_u128(7));
        assert_eq!(full.begin(id, None).await.err(), Some(ContentError::Full));
        assert_eq!(folder.begin(id, Some(1 << 60)).await.err(), Some(ContentError::Full));
        let left = std::fs::read_dir(place.path().join("contents/incoming")).unwrap();
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_folder_is_of_one_store() {
        let (_place, one) = folder();
        assert!(matches!(one.claim(Some("a"), true, "b"), Err(FolderError::Empty(_))));
        assert_eq!(one.claim(None, false, "a").unwrap(), "a");
        for named in [None, Some("a")] {
            assert_eq!(one.claim(named, true, "b").unwrap(), "a");
        }
        assert!(matches!(one.claim(Some("b"), false, "c"), Err(FolderError::OfAnother(_))));
        let (_other_place, other) = folder();
        assert_eq!(other.claim(Some("a"), false, "b").unwrap(), "a");
    }
}
