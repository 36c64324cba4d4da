use std::path::Path;
use std::sync::Arc;

use application::{Caller, Clock, ConcerningPolicy, Permissions, Policies, PublishedPolicy};
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
    fn permissions(&self, caller: &Caller) -> Permissions {
        self.files.current().permissions(caller, || self.today())
    }

    fn concerning(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> Vec<ConcerningPolicy> {
        self.files.current().concerning(caller, self.today(), (collection, operation))
    }

    fn published(&self) -> Vec<PublishedPolicy> {
        self.files.current().published()
    }

    fn edition(&self) -> u64 {
        self.files.edition()
    }
}
