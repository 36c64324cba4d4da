//! The policies and cases of some files, all sound.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use application::{Access, Caller, CaseReport, Ownership, PublishedPolicy};
use domain::{Collection, Operation};
use jiff::civil::Date;
use language::error::{ErrorCollector, FileError, FileErrors};
use language::files::{self, Fingerprint, SourceFile};
use language::keys::Keys;
use language::yaml::{self, MOST_VALUES, Node};

use crate::access_table::AccessTable;
use crate::cases::{Case, CaseReader};
use crate::definition;
use crate::file_format::{FILE, KIND_OF_FILES, LATER_OF_FILE};
use crate::policy::Policy;
use crate::reading::{ADVICE, keys_of};

const MOST_POLICIES: usize = 1_000;

/// The policies and cases of some files.
#[derive(Default)]
pub struct PolicySet {
    pub(crate) policies: Vec<Arc<Policy>>,
    /// In the order of [`Collection::all`].
    by_collection: Vec<AccessTable>,
    pub(crate) cases: Vec<Case>,
    edition: u64,
}

impl fmt::Debug for PolicySet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.policies.iter().map(|policy| &policy.id)).finish()
    }
}

impl PolicySet {
    /// Reads a file, or those files of a folder whose names end in `.yaml`, `.yml` or `.json`, in
    /// the order of their names. Hidden files and folders within are left out.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn load(path: &Path) -> Result<Self, FileErrors> {
        let (files, errors) = files::read(path, KIND_OF_FILES);
        Self::from_files(&files, errors)
    }

    /// The policies of files that were read, unless there are errors.
    pub(crate) fn from_files(files: &[SourceFile], errors: FileErrors) -> Result<Self, FileErrors> {
        let edition = Fingerprint::of(files, &errors).number();
        let mut reader = Reader { errors, ..Reader::default() };
        let (mut values_left, mut has_list) = (MOST_VALUES, false);
        for file in files {
            let mut errors = ErrorCollector::new(&file.name, &mut reader.errors);
            let Some(text) = file.text(&mut errors) else { continue };
            let tree = yaml::parse(text, &ADVICE, &mut values_left, &mut errors);
            let keys =
                tree.as_ref().and_then(|tree| keys_of(tree, &FILE, LATER_OF_FILE, &mut errors));
            if let Some(keys) = keys {
                has_list |= keys.get("policies").is_some();
                reader.policies(&file.name, &keys);
                let mut errors = ErrorCollector::new(&file.name, &mut reader.errors);
                reader.cases.cases(&file.name, &keys, &mut errors);
                reader.cases.matrix(&file.name, &keys, &mut errors);
            }
        }
        files::require_list(&["policies"], has_list, files, &mut reader.errors);
        if !reader.errors.is_empty() {
            return Err(reader.errors.sorted());
        }
        let Reader { policies, cases: CaseReader { cases, .. }, .. } = reader;
        let table = |collection| AccessTable::of(collection, &policies);
        Ok(Self { by_collection: Collection::all().map(table).collect(), policies, cases, edition })
    }

    /// Returns what a caller may do with the items of a collection. `today` is asked for the day if
    /// policies count on some days only.
    pub fn access(
        &self,
        caller: &Caller,
        collection: Collection,
        today: impl FnOnce() -> Date,
    ) -> Access {
        let table = self.by_collection.get(collection.index());
        table.map_or(Access::NONE, |table| table.access(caller, today))
    }

    /// The policies in the order of the files and of the policies in them.
    #[must_use]
    pub fn published(&self) -> Vec<PublishedPolicy> {
        self.policies.iter().map(|policy| policy.published()).collect()
    }

    /// A number that other content would not have; 0 for no files at all.
    #[must_use]
    pub const fn edition(&self) -> u64 {
        self.edition
    }

    /// The ids of the policies that decide on an operation with items of some ownership: of each
    /// those that deny it, or else those that allow it. On items that cannot be read, those decide that
    /// are about reading.
    #[must_use]
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
            // What is not permitted is denied, or nothing allows it.
            policy.denies != permitted.contains(decisive)
                && policy.speaks_of(collection, decisive, ownership)
        };
        let concerning = self.policies.iter().filter(|policy| policy.concerns(caller, today));
        let deciding = concerning
            .filter(|policy| ownerships.iter().any(|ownership| decides(policy, *ownership)));
        deciding.map(|policy| policy.id.clone()).collect()
    }

    /// The ids of the policies, in the order of the files.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.policies.iter().map(|policy| policy.id.to_string()).collect()
    }

    /// An explanation of each as of a day, in the same order.
    #[must_use]
    pub fn summaries(&self, today: Date) -> Vec<String> {
        self.policies.iter().map(|policy| policy.summary(today)).collect()
    }

    /// Warnings about likely mistakes as of a day, a line each.
    #[must_use]
    pub fn warnings(&self, today: Date) -> Vec<String> {
        self.likely_mistakes(today).iter().map(FileError::to_string).collect()
    }

    /// The number of cases.
    #[must_use]
    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    /// Runs every case.
    #[must_use]
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

#[derive(Default)]
struct Reader {
    errors: FileErrors,
    /// Where the policy of an id is, for people.
    known: HashMap<Box<str>, String>,
    policies: Vec<Arc<Policy>>,
    cases: CaseReader,
}

impl Reader {
    fn policies(&mut self, file: &Arc<str>, keys: &Keys<'_>) {
        for node in keys.elements("policies") {
            if self.known.len() == MOST_POLICIES {
                ErrorCollector::new(file, &mut self.errors)
                    .add(node.place, format!("there are more than {MOST_POLICIES} policies"));
                return;
            }
            self.policy(file, node);
        }
    }

    fn policy(&mut self, file: &Arc<str>, node: &Node) {
        let mut errors = ErrorCollector::new(file, &mut self.errors);
        let Some((id, policy)) = definition::read(node, file, &mut errors) else { return };
        if let Some(at) = self.known.get(&id) {
            let reason = format!("there is a policy `{id}` already, at {at}; choose another id");
            errors.add(node.place, reason);
            return;
        }
        self.policies.extend(policy.map(Arc::new));
        self.known.insert(id, format!("{file}:{}", node.place.line));
    }
}
