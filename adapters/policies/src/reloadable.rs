use std::path::Path;
use std::sync::Arc;

use application::{Access, Caller, Clock, Ownership, Policies, PublishedPolicy};
use domain::{Collection, Operation};
use jiff::civil::Date;
use language::ReloadableFiles;
use language::error::FileErrors;

use crate::policy_set::PolicySet;

/// Policies of a path, reloaded on change and at SIGHUP. One edition decides a whole request.
pub struct ReloadablePolicies {
    pub files: Arc<ReloadableFiles<PolicySet>>,
    clock: Arc<dyn Clock>,
}

impl ReloadablePolicies {
    /// Opens a file or folder, as [`PolicySet::load`] does. The clock supplies the day for policies
    /// that apply on some days only.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, FileErrors> {
        let files = ReloadableFiles::open(path, |files, _| PolicySet::read(files))?.into();
        Ok(Self { files, clock })
    }

    fn today(&self) -> Date {
        self.clock.day_of(self.clock.now())
    }
}

impl Policies for ReloadablePolicies {
    fn access(&self, caller: &Caller, collection: Collection) -> Access {
        self.files.current().access(caller, collection, || self.today())
    }

    fn deciding(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
        ownerships: &[Ownership],
    ) -> Vec<Box<str>> {
        let of = (collection, operation);
        self.files.current().deciding(self.today(), caller, of, ownerships)
    }

    fn published(&self) -> Vec<PublishedPolicy> {
        self.files.current().published()
    }

    fn edition(&self) -> u64 {
        self.files.edition()
    }
}
