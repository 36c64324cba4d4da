//! A folder of files, one for the bytes of a name: `incoming/NAME` while they arrive, then `XX/NAME`,
//! with the last two digits of the name as `XX`. The first digits are a time, so that all new files
//! would be in one folder. `store-id` has the id that the database names.
//!
//! A file is synchronized before it is renamed, and its new folder after. So a finished file survives a
//! crash of the machine.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use application::{
    ContentError, ContentId, ContentReader, ContentResult, ContentStore, ContentWriter,
};
use async_trait::async_trait;
use bytes::Bytes;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::layout::{Disk, LocationError, STORE_ID, shard};
use crate::spool::{PIECE, blocking};

const INCOMING: &str = "incoming";

/// In bytes. A long upload is synchronized while it arrives: one at the end would take longer, and delay
/// the transactions on the same disk.
const SYNCED_AT_A_TIME: usize = 32 << 20;

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
    pub fn open(path: &Path, reserve: u64) -> Result<Self, LocationError> {
        create_folder(path)
            .and_then(|()| create_folder(&path.join(INCOMING)))
            .map_err(|error| LocationError::Unusable(path.display().to_string(), error.into()))?;
        Ok(Self { path: path.into(), reserve })
    }

    pub fn id(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(self.path.join(STORE_ID)) {
            Ok(id) => Ok(Some(id.trim().to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn set_id(&self, id: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&*self.path)?;
        writeln!(file, "{id}")?;
        file.as_file().sync_all()?;
        file.persist_noclobber(self.path.join(STORE_ID))?;
        sync_folder(&self.path)
    }

    /// Copies the finished files to another folder, by hard links if it is on the same file system.
    /// Skips files that are there. Returns the number of files.
    pub fn back_up(&self, to: &Path) -> io::Result<u64> {
        if self.id()?.is_none() {
            return Ok(0);
        }
        create_folder(to)?;
        back_up_file(&self.path.join(STORE_ID), &to.join(STORE_ID))?;
        let mut count = 0;
        for shard in (0..=u8::MAX).map(|last_byte| format!("{last_byte:02x}")) {
            let (files, to) = (files(&self.path.join(&shard))?, to.join(&shard));
            if files.is_empty() {
                continue;
            }
            create_folder(&to)?;
            for file in files {
                match back_up_file(&file.path(), &to.join(file.file_name())) {
                    // Bytes that no item has are removed meanwhile.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    done => done.map(|()| count += 1)?,
                }
            }
            sync_folder(&to)?;
        }
        sync_folder(to)?;
        Ok(count)
    }

    pub fn disk(&self) -> io::Result<Disk> {
        let disk = statvfs(&*self.path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(Disk { bytes: bytes(disk.f_blocks), free: bytes(disk.f_bavail) })
    }

    fn incoming(&self, id: ContentId) -> PathBuf {
        self.path.join(INCOMING).join(id.0.to_string())
    }

    fn finished(&self, id: ContentId) -> PathBuf {
        let name = id.0.to_string();
        self.path.join(shard(&name)).join(name)
    }

    fn require_free(&self, bytes: u64) -> io::Result<()> {
        let is_free = self.disk()?.free >= self.reserve.saturating_add(bytes);
        if is_free { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    }

    fn begin_file(&self, id: ContentId, expected: Option<u64>) -> io::Result<File> {
        self.require_free(expected.unwrap_or_default())?;
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

/// The files of a folder; none if it does not exist.
fn files(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        files => files?.collect(),
    }
}

/// Links or copies a file, unless it is there already.
fn back_up_file(from: &Path, to: &Path) -> io::Result<()> {
    let is_there = |error: &io::Error| error.kind() == ErrorKind::AlreadyExists;
    match fs::hard_link(from, to) {
        Ok(()) => return Ok(()),
        Err(error) if is_there(&error) => return Ok(()),
        // Another file system, or one without hard links.
        Err(_) => {}
    }
    let copy = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(to))?;
    io::copy(&mut File::open(from)?, &mut copy.as_file())?;
    copy.as_file().sync_all()?;
    match copy.persist_noclobber(to) {
        Err(error) if !is_there(&error.error) => Err(error.error),
        _ => Ok(()),
    }
}

/// Readable by the owner alone.
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
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
        let (folder, file) = (self.clone(), Arc::new(file));
        Ok(Box::new(FileWriter { folder, id, file, unsynced: 0, sync: None }))
    }

    async fn open(&self, id: ContentId, part: Range<u64>) -> ContentResult<Box<dyn ContentReader>> {
        let (folder, start) = (self.clone(), part.start);
        let open = move || {
            let mut file = File::open(folder.finished(id))?;
            file.seek(SeekFrom::Start(start)).map(|_| file)
        };
        let file = blocking("open", id, open).await?;
        Ok(Box::new(FileReader { id, file: Arc::new(file), part, ahead: None }))
    }

    async fn remove(&self, id: ContentId, _: Option<&str>) -> ContentResult<()> {
        let folder = self.clone();
        blocking("remove", id, move || folder.remove_files(id)).await
    }

    async fn names(&self, last_byte: u8) -> ContentResult<Vec<(ContentId, u64)>> {
        let folder = self.path.join(format!("{last_byte:02x}"));
        let listed = move || {
            let mut names = Vec::new();
            for file in files(&folder)? {
                if let Some(id) = file.file_name().to_str().and_then(|name| name.parse().ok()) {
                    names.push((ContentId(id), file.metadata()?.len()));
                }
            }
            Ok(names)
        };
        blocking("list", ContentId(Uuid::nil()), listed).await
    }
}

struct FileWriter {
    folder: Folder,
    id: ContentId,
    file: Arc<File>,
    unsynced: usize,
    /// The last synchronization before the end.
    sync: Option<JoinHandle<ContentResult<()>>>,
}

impl FileWriter {
    async fn synced(&mut self) -> ContentResult<()> {
        let Some(sync) = self.sync.take() else { return Ok(()) };
        sync.await.unwrap_or(Err(ContentError::Unavailable))
    }
}

#[async_trait]
impl ContentWriter for FileWriter {
    async fn append(&mut self, piece: Bytes) -> ContentResult<()> {
        self.unsynced += piece.len();
        let file = Arc::clone(&self.file);
        blocking("append", self.id, move || (&*file).write_all(&piece)).await?;
        if self.unsynced >= SYNCED_AT_A_TIME {
            self.unsynced = 0;
            self.synced().await?;
            let (file, folder) = (Arc::clone(&self.file), self.folder.clone());
            let sync = move || folder.require_free(0).and_then(|()| file.sync_data());
            self.sync = Some(tokio::spawn(blocking("append", self.id, sync)));
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> ContentResult<()> {
        self.synced().await?;
        let Self { folder, id, file, .. } = *self;
        blocking("finish", id, move || folder.finish_file(id, &file)).await
    }
}

struct FileReader {
    id: ContentId,
    file: Arc<File>,
    /// The part that is not being read yet.
    part: Range<u64>,
    /// The next piece.
    ahead: Option<JoinHandle<ContentResult<Bytes>>>,
}

impl FileReader {
    /// Begins to read the next piece.
    fn read(&mut self) -> Option<JoinHandle<ContentResult<Bytes>>> {
        let length = self.part.end.saturating_sub(self.part.start).min(PIECE as u64);
        self.part.start += length;
        let file = Arc::clone(&self.file);
        let read = move || {
            let mut piece = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
            let read = (&*file).take(length).read_to_end(&mut piece)?;
            if (read as u64) < length {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            Ok(Bytes::from(piece))
        };
        (length > 0).then(|| tokio::spawn(blocking("read", self.id, read)))
    }
}

#[async_trait]
impl ContentReader for FileReader {
    async fn next(&mut self) -> ContentResult<Option<Bytes>> {
        let Some(reading) = self.ahead.take().or_else(|| self.read()) else { return Ok(None) };
        let piece = reading.await.unwrap_or(Err(ContentError::Unavailable))?;
        self.ahead = self.read();
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use application::ContentStore as _;
    use uuid::Uuid;

    use super::{ContentError, ContentId, Folder};

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(&place.path().join("contents"), 0).unwrap();
        (place, folder)
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
}
