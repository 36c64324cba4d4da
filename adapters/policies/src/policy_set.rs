//! Policies and cases of files without errors.

use std::path::Path;
use std::sync::Arc;

use application::{Access, Caller, CaseReport, Ownership, PublishedPolicy};
use domain::{Collection, Operation};
use jiff::civil::Date;
use language::FileContent;
use language::error::FileErrors;
use language::files::FileSet;
use language::keys::{ById, read_elements};

use crate::access_table::AccessTable;
use crate::cases::{Case, CaseReader};
use crate::definition;
use crate::file_format::{FILE, LATER_OF_FILE};
use crate::policy::Policy;
use crate::reading::{ADVICE, keys_of};

#[derive(Debug, Default)]
pub struct PolicySet {
    pub(crate) policies: Vec<Arc<Policy>>,
    /// In the order of [`Collection::all`].
    by_collection: Vec<AccessTable>,
    pub(crate) cases: Vec<Case>,
}

impl PolicySet {
    /// Reads a file, or the files of a folder with the extension `.yaml`, `.yml` or `.json`, sorted
    /// by name. Skips hidden files and subfolders.
    pub fn load(path: &Path) -> Result<Self, FileErrors> {
        Self::read(FileSet::read(path, Self::FILES))
    }

    pub(crate) fn read(mut files: FileSet) -> Result<Self, FileErrors> {
        let (mut policies, mut known, mut has_list) = (Vec::new(), ById::default(), false);
        let mut cases = CaseReader::default();
        for (file, tree) in files.trees(&ADVICE) {
            let mut errors = files.errors_of(&file);
            if let Some(keys) = keys_of(&tree, &FILE, LATER_OF_FILE, &mut errors) {
                has_list |= keys.get("policies").is_some();
                let (names, errors) = (("policies", "policy"), &mut errors);
                policies.extend(read_elements(&keys, names, &mut known, errors, definition::read));
                cases.cases(&keys, errors);
                cases.matrix(&keys, errors);
            }
        }
        files.finish(&["policies"], has_list)?;
        let cases = cases.cases;
        let table = |collection| AccessTable::of(collection, &policies);
        Ok(Self { by_collection: Collection::all().map(table).collect(), policies, cases })
    }

    /// Returns the permitted operations on the items of a collection. Calls `today` only if
    /// policies depend on the day.
    pub fn access(
        &self,
        caller: &Caller,
        collection: Collection,
        today: impl FnOnce() -> Date,
    ) -> Access {
        let table = self.by_collection.get(collection.index());
        table.map_or(Access::NONE, |table| table.access(caller, today))
    }

    pub fn published(&self) -> Vec<PublishedPolicy> {
        self.policies.iter().map(|policy| policy.shown.clone()).collect()
    }

    /// Returns the ids of the deciding policies: those that deny the operation, otherwise those
    /// that allow it. For unreadable items, the policies about reading decide.
    pub fn deciding(
        &self,
        today: Date,
        caller: &Caller,
        (collection, operation): (Collection, Operation),
        ownerships: &[Ownership],
    ) -> Vec<Box<str>> {
        let access = self.access(caller, collection, || today);
        let decides = |policy: &Policy, ownership: Ownership| {
            let permitted = access.on(ownership);
            let needs_read = operation.needs_read() && !permitted.contains(Operation::Read);
            let decisive = if needs_read { Operation::Read } else { operation };
            // An operation without permission is denied, or no policy allows it.
            policy.shown.denies != permitted.contains(decisive)
                && policy.speaks_of(collection, decisive, ownership)
        };
        let concerning = self.policies.iter().filter(|policy| policy.concerns(caller, today));
        let deciding = concerning
            .filter(|policy| ownerships.iter().any(|ownership| decides(policy, *ownership)));
        deciding.map(|policy| policy.shown.id.clone()).collect()
    }

    pub fn ids(&self) -> Vec<String> {
        self.policies.iter().map(|policy| policy.shown.id.to_string()).collect()
    }

    pub fn summaries(&self, today: Date) -> Vec<String> {
        self.policies.iter().map(|policy| policy.summary(today)).collect()
    }

    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    pub fn run_cases(&self) -> Vec<CaseReport> {
        let run = |case: &Case| {
            let Case { caller, collection, ownership, today, .. } = case;
            let access = self.access(caller, *collection, || *today);
            case.run(access, |operation| {
                self.deciding(*today, caller, (*collection, operation), &[*ownership])
            })
        };
        self.cases.iter().map(run).collect()
    }
}

impl FileContent for PolicySet {
    const NAME: &'static str = "policies";
    const KIND: &'static str = "policies";
    const FILES: &'static str = "policy files";

    fn log_change(&self) {
        let policies = self.policies.len();
        tracing::info!(policies, "the policies were reloaded and are in force");
    }

    fn warn_if_empty(&self) {
        if self.policies.is_empty() {
            tracing::warn!("`policies: []` is in force: every request for items is refused");
        }
    }
}
