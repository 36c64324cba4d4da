//! The `SQLite` file that a URL names, and the lock on it.

use std::fs::{File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use application::ports::{RepositoryError, Result};
use sea_orm::sqlx::sqlite::SqliteConnectOptions;

use crate::error::StoreError;
use crate::metrics::Sample;
use crate::sqlite::marks::{Marks, companion, forget};

pub(crate) fn named_file(url: &str) -> Result<Arc<Path>, StoreError> {
    if url.contains('\n') {
        return Err(StoreError::InvalidUrl("only PostgreSQL supports several URLs".to_owned()));
    }
    let parsed: SqliteConnectOptions = url
        .parse()
        .map_err(|error: sea_orm::sqlx::Error| StoreError::InvalidUrl(error.to_string()))?;
    let (location, parameters) = url.split_once('?').unwrap_or((url, ""));
    if location.ends_with(":memory:")
        || parameters.contains("mode=memory")
        || parsed.get_filename().as_os_str().is_empty()
    {
        return Err(StoreError::InMemory);
    }
    Ok(parsed.get_filename().into())
}

pub(crate) fn existing_file(url: &str) -> Result<Arc<Path>, StoreError> {
    let file = named_file(url)?;
    if file.exists() { Ok(file) } else { Err(StoreError::Missing(file.to_path_buf())) }
}

/// The file a URL names; its folder is there afterwards.
pub(crate) fn file(url: &str) -> Result<Arc<Path>, StoreError> {
    let file = named_file(url)?;
    let is_created = url.split_once('?').is_some_and(|(_, rest)| rest.contains("mode=rwc"));
    if !is_created {
        return if file.exists() { Ok(file) } else { Err(StoreError::NoFile(file.to_path_buf())) };
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|cause| StoreError::Folder(folder.to_owned(), cause))?;
    }
    Ok(file)
}

/// A file that no other process writes to: each process would trust its own cache. The lock is on
/// the file itself, so that it is found under every name. It is taken before SQLite opens the file
/// and released after SQLite has closed it, on one descriptor: closing any descriptor of the file
/// ends SQLite's locks. For the same reason nothing else here opens the file. [`Marks`] show when
/// another file was copied over it.
pub(crate) struct OwnedFile {
    path: Arc<Path>,
    file: File,
    device: u64,
    inode: u64,
    marks: Marks,
}

impl OwnedFile {
    pub fn take(path: &Arc<Path>) -> Result<Self, StoreError> {
        let lock_error = |cause| StoreError::Lock(path.to_path_buf(), cause);
        // The caller has checked that the file exists or may be created.
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.map_err(|error| StoreError::Open(path.to_path_buf(), error.to_string()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(path.to_path_buf())),
            Err(TryLockError::Error(cause)) => return Err(lock_error(cause)),
        }
        let metadata = file.metadata().map_err(lock_error)?;
        // The name of the write-ahead log is derived from the path that opens the file.
        if metadata.nlink() > 1 {
            return Err(StoreError::HardLinks(path.to_path_buf(), metadata.nlink()));
        }
        let (device, inode) = identity(&metadata);
        let marks = Marks::of(path, &file);
        let marks =
            marks.map_err(|error| StoreError::Open(path.to_path_buf(), error.to_string()))?;
        Ok(Self { path: Arc::clone(path), file, device, inode, marks })
    }

    /// Fails if the file was moved, removed or replaced, or another file was copied over it.
    pub fn require_in_place(&self) -> Result<()> {
        let found = std::fs::metadata(&self.path).map(|metadata| identity(&metadata));
        if !found.is_ok_and(|found| found == (self.device, self.inode)) {
            self.marks.lose(&self.path);
        }
        self.require_content()
    }

    pub fn require_content(&self) -> Result<()> {
        if self.marks.are_known(&self.file) {
            return Ok(());
        }
        self.marks.lose(&self.path);
        Err(RepositoryError::Unavailable)
    }

    /// Returns whether the file was found replaced. Then it must not be touched.
    pub fn is_lost(&self) -> bool {
        self.marks.are_lost()
    }

    /// Returns whether another file was copied over the file while an earlier process served it.
    pub const fn was_replaced(&self) -> bool {
        self.marks.were_foreign
    }

    /// Returns the next mark, to be written into the file: the file has other pages afterwards.
    pub fn next_mark(&self) -> std::io::Result<i32> {
        self.marks.next(&self.path)
    }

    pub fn sample(&self) -> Sample {
        let size = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.len());
        let log = companion(&self.path, "-wal");
        let disk = rustix::fs::statvfs(&*self.path).ok();
        Sample {
            sizes: size(&self.path).map(|bytes| ("file".to_owned(), bytes)).into_iter().collect(),
            wal: Some(size(&log).unwrap_or(0)),
            disk: disk.map(|disk| {
                (
                    disk.f_blocks.saturating_mul(disk.f_frsize),
                    disk.f_bavail.saturating_mul(disk.f_frsize),
                )
            }),
            replicas: None,
        }
    }

    /// Lets another process have the file, which must be closed.
    pub fn let_go(&self) {
        if !self.is_lost() {
            forget(&self.path);
        }
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "cannot release the lock on the SQLite file");
        }
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
