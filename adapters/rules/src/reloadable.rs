//! The rules that hold now, and how they are replaced by those that are in the files now.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use application::{RuleBook, Rules, WrittenRule};
use domain::Collection;

use crate::error::RuleFileErrors;
use crate::files::{self, Fingerprint};
use crate::rule_set::RuleSet;

/// The rules of a path, read again when it is asked for.
///
/// The rules in force are behind a lock that is held for a read of a pointer, or for its
/// replacement: without a writer it costs two atomic operations, and rules are never read or
/// compiled while it is held.
#[derive(Debug, Default)]
pub struct ReloadableRules {
    source: Option<Source>,
    current: RwLock<Arc<RuleSet>>,
}

#[derive(Debug)]
struct Source {
    path: PathBuf,
    reserved: Vec<String>,
    /// The fingerprint of the files as last read, whether they were valid or not.
    read: Mutex<Fingerprint>,
}

impl ReloadableRules {
    /// No rules, for good.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The rules of a file or folder, as [`RuleSet::load`] reads them.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn open(path: &Path, reserved: &[&str]) -> Result<Self, RuleFileErrors> {
        let (files, errors) = files::read(path);
        let read = Mutex::new(Fingerprint::of(&files, &errors));
        let rules = RuleSet::from_files(&files, errors, reserved)?;
        let reserved = reserved.iter().map(ToString::to_string).collect();
        Ok(Self {
            source: Some(Source { path: path.to_owned(), reserved, read }),
            current: RwLock::new(rules.into()),
        })
    }

    /// The rules in force.
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the fingerprint of the files if they have changed since they were last read. A
    /// reload that was refused counts as a read.
    pub fn changed(&self) -> Option<Fingerprint> {
        let source = self.source.as_ref()?;
        let (files, errors) = files::read(&source.path);
        let now = Fingerprint::of(&files, &errors);
        (now != *source.read.lock().unwrap_or_else(PoisonError::into_inner)).then_some(now)
    }

    /// Puts the rules of the files in force, all of them, and says whether they are others than
    /// before.
    ///
    /// # Errors
    /// Everything that is wrong with them; the old ones stay in force.
    pub fn reload(&self) -> Result<bool, RuleFileErrors> {
        let Some(source) = &self.source else { return Ok(false) };
        // Held until the end, so that of two reloads the later one's rules are in force.
        let mut read = source.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, errors) = files::read(&source.path);
        *read = Fingerprint::of(&files, &errors);
        let reserved: Vec<_> = source.reserved.iter().map(String::as_str).collect();
        let rules = Arc::new(RuleSet::from_files(&files, errors, &reserved)?);
        let old = std::mem::replace(
            &mut *self.current.write().unwrap_or_else(PoisonError::into_inner),
            rules.clone(),
        );
        Ok(old.edition() != rules.edition())
    }
}

impl RuleBook for ReloadableRules {
    fn rules(&self, collection: Collection) -> Rules {
        self.current.read().unwrap_or_else(PoisonError::into_inner).rules_of(collection)
    }

    fn written(&self, id: &str) -> Option<WrittenRule> {
        self.current().written(id)
    }

    fn edition(&self) -> u64 {
        self.current.read().unwrap_or_else(PoisonError::into_inner).edition()
    }
}
