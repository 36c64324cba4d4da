//! Files with reloadable content.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::error::FileErrors;
use crate::files::FileSet;

pub trait FileContent: Send + Sync + 'static {
    const NAME: &'static str;

    const KIND: &'static str;

    const FILES: &'static str;

    fn log_change(&self);

    fn warn_if_empty(&self) {}
}

type Reading<T> = dyn Fn(FileSet, Option<&T>) -> Result<T, FileErrors> + Send + Sync;

/// Files and their content in force.
///
/// The lock is held only to copy or replace a pointer, never during file access.
pub struct ReloadableFiles<T> {
    source: Option<Source<T>>,
    current: RwLock<(u64, Arc<T>)>,
}

struct Source<T> {
    path: PathBuf,
    read: Box<Reading<T>>,
    /// Fingerprint of the last read files, valid or not.
    last: Mutex<u64>,
}

impl<T> fmt::Debug for ReloadableFiles<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReloadableFiles").finish_non_exhaustive()
    }
}

impl<T: Default> Default for ReloadableFiles<T> {
    fn default() -> Self {
        Self { source: None, current: RwLock::default() }
    }
}

impl<T: FileContent> ReloadableFiles<T> {
    pub fn open(
        path: &Path,
        read: impl Fn(FileSet, Option<&T>) -> Result<T, FileErrors> + Send + Sync + 'static,
    ) -> Result<Self, FileErrors> {
        let files = FileSet::read(path, T::FILES);
        let edition = files.fingerprint();
        let current = RwLock::new((edition, read(files, None)?.into()));
        let (path, read, last) = (path.to_owned(), Box::new(read), Mutex::new(edition));
        Ok(Self { source: Some(Source { path, read, last }), current })
    }

    pub fn current(&self) -> Arc<T> {
        self.current.read().1.clone()
    }

    pub fn edition(&self) -> u64 {
        self.current.read().0
    }

    pub const fn has_files(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the new fingerprint if the files changed since the last read. Refused files count as
    /// read.
    pub fn changed(&self) -> Option<u64> {
        let source = self.source.as_ref()?;
        let now = FileSet::read(&source.path, T::FILES).fingerprint();
        (now != *source.last.lock()).then_some(now)
    }

    /// Reloads all files, and returns whether they changed. After an error the old content stays in
    /// force.
    pub fn reload(&self) -> Result<bool, FileErrors> {
        let Some(source) = &self.source else { return Ok(false) };
        // Held until the end: the later of two calls wins.
        let mut last = source.last.lock();
        let files = FileSet::read(&source.path, T::FILES);
        let edition = files.fingerprint();
        *last = edition;
        let content = (source.read)(files, Some(&self.current()))?.into();
        let (old, _) = std::mem::replace(&mut *self.current.write(), (edition, content));
        Ok(old != edition)
    }
}
