//! File that appears only when it is complete.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::commands::error::{CommandError, Result};

const PARTIAL: &str = ".proposal-service-partial";

const MODE: u32 = 0o666;

/// File under construction, next to its target. Dropping it removes it.
pub struct NewFile {
    path: PathBuf,
    partial: NamedTempFile,
}

impl NewFile {
    pub fn create(path: &Path) -> Result<Self> {
        if path.symlink_metadata().is_ok() {
            return Err(CommandError::Exists(path.to_owned()));
        }
        Self::begin(path).map_err(|cause| CommandError::Target(path.to_owned(), cause))
    }

    fn begin(path: &Path) -> io::Result<Self> {
        let mut prefix = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(PARTIAL).permissions(Permissions::from_mode(MODE));
        loop {
            let partial = builder.tempfile_in(folder(path))?;
            partial.as_file().lock()?;
            // Another process may have removed it as stale before it was locked.
            if partial.as_file().metadata()?.nlink() > 0 {
                remove_stale(folder(path));
                return Ok(Self { path: path.to_owned(), partial });
            }
        }
    }

    pub fn partial(&self) -> &Path {
        self.partial.path()
    }

    pub fn handle(&self) -> Result<File> {
        let handle = self.partial.as_file().try_clone();
        handle.map_err(|cause| CommandError::Target(self.path.clone(), cause))
    }

    /// Syncs the file and renames it. Never replaces a file that appeared meanwhile.
    pub fn finish(self) -> Result<()> {
        let Self { path, partial } = self;
        let finish = || -> io::Result<()> {
            partial.as_file().sync_all()?;
            partial.persist_noclobber(&path)?;
            File::open(folder(&path))?.sync_all()
        };
        finish().map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => CommandError::Exists(path.clone()),
            _ => CommandError::Target(path.clone(), cause),
        })
    }
}

/// Removes partial files of killed processes. A writer holds a lock on its file, and the system
/// releases it when the process ends.
fn remove_stale(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let partial =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().ends_with(PARTIAL.as_bytes()));
    for path in partial.map(|entry| entry.path()) {
        let is_stale = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        if is_stale && let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, path = %path.display(), "cannot remove a stale partial file");
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
