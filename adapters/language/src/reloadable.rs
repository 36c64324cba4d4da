//! Files that are read again while their content is in force.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::error::FileErrors;
use crate::files::FileSet;

/// The content of files of one kind, such as rules.
pub trait FileContent: Send + Sync + 'static {
    /// Its name in messages: "rules".
    const NAME: &'static str;

    /// The kind of files in metrics and for programs: "rules".
    const KIND: &'static str;

    /// The files in messages: "rule files".
    const FILES: &'static str;

    /// Logs that it is in force, after other content.
    fn log_change(&self);

    /// Logs a warning with the effect on requests if an empty list is in force.
    fn warn_if_empty(&self) {}
}

/// Makes content of files. The content in force is there if the files are read again.
type Reading<T> = dyn Fn(FileSet, Option<&T>) -> Result<T, FileErrors> + Send + Sync;

/// Files, and their content in force.
///
/// The lock of the content is held for a read of a pointer, or for its replacement: files are never
/// read while it is held.
pub struct ReloadableFiles<T> {
    source: Option<Source<T>>,
    /// The content, and the fingerprint of its files; 0 without files.
    current: RwLock<(u64, Arc<T>)>,
}

struct Source<T> {
    path: PathBuf,
    read: Box<Reading<T>>,
    /// The fingerprint of the files as last read, whether they were valid or not.
    last: Mutex<u64>,
}

impl<T> fmt::Debug for ReloadableFiles<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReloadableFiles").finish_non_exhaustive()
    }
}

impl<T: Default> Default for ReloadableFiles<T> {
    /// No files, for good.
    fn default() -> Self {
        Self { source: None, current: RwLock::default() }
    }
}

impl<T: FileContent> ReloadableFiles<T> {
    /// Reads the files of a path, as [`FileSet::read`] does.
    ///
    /// # Errors
    /// Those of `read`: everything that is wrong with the files.
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

    /// The content in force.
    pub fn current(&self) -> Arc<T> {
        self.current.read().1.clone()
    }

    /// A number that other content of the files would not have; 0 without files.
    pub fn edition(&self) -> u64 {
        self.current.read().0
    }

    /// Returns `true` unless there are no files, for good.
    pub const fn has_files(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the fingerprint of the files if they have changed since they were last read. Files
    /// that were refused count as read.
    pub fn changed(&self) -> Option<u64> {
        let source = self.source.as_ref()?;
        let now = FileSet::read(&source.path, T::FILES).fingerprint();
        (now != *source.last.lock()).then_some(now)
    }

    /// Puts the content of the files in force, all of it, and returns whether the files are others
    /// than before. Without files there is nothing to read.
    ///
    /// # Errors
    /// Everything that is wrong with the files; the old content stays in force.
    pub fn reload(&self) -> Result<bool, FileErrors> {
        let Some(source) = &self.source else { return Ok(false) };
        // Held until the end: of two calls the later one's files are in force.
        let mut last = source.last.lock();
        let files = FileSet::read(&source.path, T::FILES);
        let edition = files.fingerprint();
        *last = edition;
        let content = (source.read)(files, Some(&self.current()))?.into();
        let (old, _) = std::mem::replace(&mut *self.current.write(), (edition, content));
        Ok(old != edition)
    }
}
