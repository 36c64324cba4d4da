//! The policies that hold now, and how they are replaced by those that are in the files now.

use parking_lot::RwLock;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use application::{Access, Caller, Clock, Ownership, Policies, PublishedPolicy};
use domain::{Collection, Operation};
use jiff::civil::Date;
use language::error::FileErrors;
use language::files::Fingerprint;
use language::{Reload, TrackedFiles};

use crate::file_format::KIND_OF_FILES;
use crate::policy_set::PolicySet;

/// The policies of a path, read again when it is asked for.
///
/// The policies in force are behind a lock that is held for a read of a pointer, or for its
/// replacement: a request is decided by one edition, and policies are never read while the lock is
/// held.
pub struct ReloadablePolicies {
    files: TrackedFiles,
    clock: Arc<dyn Clock>,
    current: RwLock<Arc<PolicySet>>,
}

impl fmt::Debug for ReloadablePolicies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ReloadablePolicies").field(&self.current()).finish()
    }
}

impl ReloadablePolicies {
    /// The policies of a file or folder, as [`PolicySet::load`] reads them. The clock tells the day,
    /// for policies that count on some days only.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, FileErrors> {
        let (files, read, errors) = TrackedFiles::open(path, KIND_OF_FILES);
        let policies = PolicySet::from_files(&read, errors)?;
        Ok(Self { files, clock, current: RwLock::new(policies.into()) })
    }

    /// The policies in force.
    pub fn current(&self) -> Arc<PolicySet> {
        self.current.read().clone()
    }

    fn today(&self) -> Date {
        self.clock.day_of(self.clock.now())
    }
}

impl Reload for ReloadablePolicies {
    const NAME: &'static str = "policies";
    const KIND: &'static str = "policies";

    fn changed(&self) -> Option<Fingerprint> {
        self.files.changed()
    }

    fn reload(&self) -> Result<bool, FileErrors> {
        self.files.read_again(|files, errors| {
            let policies = Arc::new(PolicySet::from_files(files, errors)?);
            let old = std::mem::replace(&mut *self.current.write(), policies.clone());
            Ok(old.edition() != policies.edition())
        })
    }

    fn log_change(&self) {
        let policies = self.current().policies.len();
        tracing::info!(policies, "the policies were read again and are in force");
    }

    fn warn_if_empty(&self) {
        if self.current().policies.is_empty() {
            tracing::warn!("`policies: []` is in force: every request for items is refused");
        }
    }
}

impl Policies for ReloadablePolicies {
    fn access(&self, caller: &Caller, collection: Collection) -> Access {
        self.current().access(caller, collection, || self.today())
    }

    fn deciding(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
        ownerships: &[Ownership],
    ) -> Vec<Box<str>> {
        let of = (collection, operation);
        self.current().deciding(self.today(), caller, of, ownerships)
    }

    fn published(&self) -> Vec<PublishedPolicy> {
        self.current().published()
    }

    fn edition(&self) -> u64 {
        self.current().edition()
    }
}
