//! Files that may change while their content is in force.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};

use crate::error::FileErrors;
use crate::files::{Fingerprint, SourceFile, read};

/// The files of a path, and their content as it was last read.
#[derive(Debug)]
pub struct TrackedFiles {
    path: PathBuf,
    kind: &'static str,
    /// The fingerprint of the files as last read, whether they were valid or not.
    read: Mutex<Fingerprint>,
}

impl TrackedFiles {
    /// Reads the files of a path, as [`read`] does.
    #[must_use]
    pub fn open(path: &Path, kind: &'static str) -> (Self, Vec<SourceFile>, FileErrors) {
        let (files, errors) = read(path, kind);
        let read = Mutex::new(Fingerprint::of(&files, &errors));
        (Self { path: path.to_owned(), kind, read }, files, errors)
    }

    /// Returns the fingerprint of the files if they have changed since they were last read. Files
    /// that were refused count as read.
    pub fn changed(&self) -> Option<Fingerprint> {
        let (files, errors) = read(&self.path, self.kind);
        let now = Fingerprint::of(&files, &errors);
        (now != *self.read.lock()).then_some(now)
    }

    /// Reads the files again and gives them to `replace`, which puts them in force. Of two calls the
    /// later one's files are in force.
    ///
    /// # Errors
    /// Those of `replace`.
    pub fn read_again<T, E>(
        &self,
        replace: impl FnOnce(&[SourceFile], FileErrors) -> Result<T, E>,
    ) -> Result<T, E> {
        // Held until the end.
        let mut last = self.read.lock();
        let (files, errors) = read(&self.path, self.kind);
        *last = Fingerprint::of(&files, &errors);
        replace(&files, errors)
    }
}
