//! Policies and cases of files without errors.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use application::{Caller, CaseReport, ConcerningPolicy, Permissions, PublishedPolicy};
use domain::{Collection, MemberPath, Operation};
use jiff::civil::Date;
use language::FileContent;
use language::error::{ErrorCollector, FileErrors};
use language::expression::Variable;
use language::files::FileSet;
use language::keys::{ById, read_elements};
use language::yaml::Node;

use crate::caller_policies::CallerPolicies;
use crate::cases::{Case, CaseReader};
use crate::file_format::{FILE, LATER_OF_FILE};
use crate::item_role::ItemRole;
use crate::member_list::MOST_MEMBERS;
use crate::permission_cache::PermissionCache;
use crate::policy::Policy;
use crate::reading::{ADVICE, keys_of};
use crate::{definition, item_role};

#[derive(Debug, Default)]
pub struct PolicySet {
    pub(crate) roles: Vec<ItemRole>,
    pub(crate) policies: Vec<Arc<Policy>>,
    pub(crate) cases: Vec<Case>,
    cache: PermissionCache,
    /// True if a policy depends on the day.
    is_dated: bool,
}

impl PolicySet {
    /// Reads a file, or the files of a folder with the extension `.yaml`, `.yml` or `.json`, sorted
    /// by name. Skips hidden files and subfolders.
    pub fn load(path: &Path) -> Result<Self, FileErrors> {
        Self::read(FileSet::read(path, Self::FILES))
    }

    pub(crate) fn read(mut files: FileSet) -> Result<Self, FileErrors> {
        let (mut policies, mut known, mut has_list) = (Vec::new(), ById::default(), false);
        let (mut cases, mut roles) = (CaseReader::default(), Vec::<ItemRole>::new());
        let mut listed = ListedMembers::default();
        for (file, tree) in files.trees(&ADVICE) {
            let mut errors = files.errors_of(&file);
            if let Some(keys) = keys_of(&tree, &FILE, LATER_OF_FILE, &mut errors) {
                has_list |= keys.get("policies").is_some();
                item_role::read_all(&keys, &mut roles, &mut errors);
                let (names, errors) = (("policies", "policy"), &mut errors);
                let read = |node: &Node, errors: &mut ErrorCollector<'_>| {
                    let read = definition::read(node, errors)?;
                    read.1.iter().for_each(|policy| listed.add(policy, errors));
                    Some(read)
                };
                policies.extend(read_elements(&keys, names, &mut known, errors, read));
                cases.cases(&keys, errors);
                cases.matrix(&keys, errors);
            }
        }
        files.finish(&["policies"], has_list)?;
        let is_dated = policies.iter().any(|policy: &Arc<Policy>| policy.depends_on_the_day())
            || roles.iter().any(|role| role.condition.uses(Variable::Today));
        let cache = PermissionCache::default();
        Ok(Self { roles, policies, cases: cases.cases, cache, is_dated })
    }

    fn of_caller<'a>(&'a self, caller: &'a Caller, today: Date) -> CallerPolicies<'a> {
        CallerPolicies::new((&self.roles, &self.policies), caller, today)
    }

    /// Returns the permissions of a caller. Calls `today` only if policies depend on the day.
    pub fn permissions(&self, caller: &Caller, today: impl FnOnce() -> Date) -> Permissions {
        let today = if self.is_dated { today() } else { Date::MIN };
        let make = || self.of_caller(caller, today).permissions();
        self.cache.find_or_make(caller, today, make)
    }

    /// Returns the policies about an operation that concern a caller, in file order.
    pub fn concerning(
        &self,
        caller: &Caller,
        today: Date,
        (collection, operation): (Collection, Operation),
    ) -> Vec<ConcerningPolicy> {
        self.of_caller(caller, today).concerning(collection, operation)
    }

    pub fn published(&self) -> Vec<PublishedPolicy> {
        self.policies.iter().map(|policy| policy.shown.clone()).collect()
    }

    /// Returns the roles of tokens that policies name.
    pub fn token_roles(&self) -> impl Iterator<Item = &str> {
        let named = self.policies.iter().flat_map(|policy| policy.roles());
        named.filter(|name| self.roles.iter().all(|role| *role.name != **name))
    }

    pub fn ids(&self) -> Vec<String> {
        self.policies.iter().map(|policy| policy.shown.id.to_string()).collect()
    }

    pub fn summaries(&self, today: Date) -> Vec<String> {
        let summary = |policy: &Arc<Policy>| policy.summary(today, self.class(policy).name());
        self.policies.iter().map(summary).collect()
    }

    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    pub fn run_cases(&self) -> Vec<CaseReport> {
        let run = |case: &Case| case.run(&self.of_caller(&case.caller, case.today));
        self.cases.iter().map(run).collect()
    }
}

/// The members in the lists about each group.
#[derive(Default)]
struct ListedMembers(HashMap<Collection, HashSet<MemberPath>>);

impl ListedMembers {
    fn add(&mut self, policy: &Policy, errors: &mut ErrorCollector<'_>) {
        for collection in &policy.shown.collections {
            let members = self.0.entry(*collection).or_default();
            members.extend(policy.member_lists().flat_map(|list| list.paths.iter().cloned()));
            if members.len() > MOST_MEMBERS {
                let reason = format!(
                    "the policies about `{}` name more than {MOST_MEMBERS} members; name an object that holds several of them",
                    collection.name()
                );
                errors.add(policy.place, reason);
            }
        }
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
